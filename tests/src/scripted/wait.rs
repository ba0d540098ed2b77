//! Waiting for a condition: woken by each change and by messages that become visible again; looked at now and then besides,
//! for conditions that see more than this AWS (a process, a page of metrics).

use std::time::{Duration, Instant};

use super::op::Op;
use super::shared::lock;
use super::{Aws, Outcome};

/// How long [`Aws::wait_until`] waits: far above what a test on a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a condition is looked at without a change.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl Aws {
    /// Waits until `condition` holds. Panics after 60 s, naming `what` was waited for and what had happened.
    pub async fn wait_until(&self, what: &str, condition: impl FnMut(&Self) -> bool) {
        if !self.holds_within(PATIENCE, condition).await {
            panic!("waited {PATIENCE:?} for {what}\n{}", self.story());
        }
    }

    /// Whether `condition` comes to hold within `patience`; it returns as soon as it does.
    pub async fn holds_within(&self, patience: Duration, mut condition: impl FnMut(&Self) -> bool) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            let mut change = std::pin::pin!(self.shared.change.notified());
            change.as_mut().enable();
            if condition(self) {
                return true;
            }
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            let again = deadline.min(now + LOOK_AGAIN);
            let due = lock(&self.shared.sqs).next_due_after(now).map_or(again, |due| due.min(again));
            tokio::select! {
                () = change => {}
                () = tokio::time::sleep_until(due.into()) => {}
            }
        }
    }

    /// What has happened so far, for the message of a test that fails.
    #[must_use]
    pub fn story(&self) -> String {
        let mut story = String::from("calls so far:");
        for &op in Op::ALL {
            let count = self.count(op);
            if count > 0 {
                story.push_str(&format!(" {}={count}", op.name()));
            }
        }
        let log = lock(&self.shared.log);
        for call in log.calls.iter().rev().take(12).rev() {
            let body = String::from_utf8_lossy(&call.body[..call.body.len().min(240)]).into_owned();
            let took = call.ended.map(|ended| ended.duration_since(call.arrived));
            let how = match call.outcome {
                Outcome::Open => "open".to_owned(),
                other => format!("{other:?} after {:?}", took.unwrap_or_default()),
            };
            story.push_str(&format!("\n  {}#{} {}: {how}: {body}", call.op.name(), call.number, call.target));
        }
        story
    }
}
