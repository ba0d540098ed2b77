//! Messages that cannot be stored.
//!
//! Each is isolated: its neighbours go on, it is logged once per receive and hidden for longer each time, so that the queue's
//! redrive policy carries it to the dead-letter queue without its coming round every few seconds until then.

use std::sync::Arc;
use std::time::Duration;

use tenancy::message::received::Rejection;
use thiserror::Error;
use tokio_util::task::TaskTracker;

use crate::drain::desk::Receipt;
use crate::drain::seam::{Aws, Failure};
use crate::drain::visibility;
use crate::events;

/// How long a message stays hidden after its first receive; it doubles with each further one.
const FIRST: Duration = Duration::from_secs(5);

/// The longest that it stays hidden.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// How long the call that hides it may take.
const CALL_LIMIT: Duration = Duration::from_secs(4);

/// Why a message cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Reason {
    /// It is not a message for this table.
    #[error("{0}")]
    Rejected(#[from] Rejection),
    /// It would be larger than an item of the table may be.
    #[error("it is larger than an item may be")]
    TooLarge,
    /// DynamoDB refuses the item.
    #[error("the table refuses the record")]
    Refused,
    /// Writing it panicked.
    #[error("writing it ran into a bug")]
    Broken,
}

impl Reason {
    /// As a metric label.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Rejected(rejection) => rejection.as_str(),
            Self::TooLarge => "too_large",
            Self::Refused => "refused",
            Self::Broken => "broken",
        }
    }
}

/// A message that cannot be stored.
#[derive(Debug)]
pub(crate) struct Poisoned {
    pub(crate) receipt: Receipt,
    pub(crate) reason: Reason,
    /// What the table said to it, if it was asked.
    pub(crate) cause: Option<Failure>,
}

/// How long a message stays hidden that was received so often.
fn hidden_for(receives: u32) -> Duration {
    FIRST.saturating_mul(1 << receives.saturating_sub(1).min(20)).min(LONGEST)
}

/// Logs, counts and hides `messages`, in the background.
pub(crate) fn isolate<A: Aws>(aws: &Arc<A>, tasks: &TaskTracker, messages: Vec<Poisoned>) {
    if messages.is_empty() {
        return;
    }
    let mut changes = Vec::with_capacity(messages.len());
    for mut message in messages {
        let hidden = hidden_for(message.receipt.receives);
        events::poison(&message.receipt, message.reason, message.cause.as_ref(), hidden);
        message.receipt.end_span(Some(message.reason.as_str()));
        changes.push((message.receipt, hidden));
    }
    let aws = aws.clone();
    tasks.spawn(async move {
        visibility::change(
            &*aws,
            changes.iter().map(|(receipt, hidden)| (receipt.queue.clone(), receipt.handle.clone(), *hidden)),
            CALL_LIMIT,
        )
        .await;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_cannot_be_stored_is_hidden_for_longer_each_time() {
        for (receives, seconds) in
            [(1, 5), (2, 10), (3, 20), (5, 80), (8, 640), (9, 900), (10, 900), (1_000, 900), (u32::MAX, 900)]
        {
            assert_eq!(hidden_for(receives), Duration::from_secs(seconds), "{receives}");
        }
        assert_eq!(hidden_for(0), Duration::from_secs(5));
    }
}
