//! Draining the queue into the table.
//!
//! ```text
//! pollers ──▶ writer ──▶ deleter          receive, write and delete overlap; nothing is deleted before
//!    │           └──▶ poison              its record is confirmed
//!    └──▶ poison
//! ```
//!
//! | file | idea |
//! |---|---|
//! | [`poller`], [`pace`], [`budget`] | receiving; how many at a time, and when; what may be in flight |
//! | [`writer`], [`desk`], [`attempt`] | writing; what is in hand, one write a key; one try, with bad records isolated |
//! | [`deleter`] | deleting what is written |
//! | [`gather`], [`alarm`] | when a batch goes out, full or not |
//! | [`poison`], [`visibility`] | what cannot be stored; how long messages are hidden |
//! | [`outage`], [`backoff`] | keeping receives back while the rest fails; pauses |
//! | [`limits`] | the bounds, made to fit each other |
//! | [`gauges`] | what can be read of it at any time |
//! | [`seam`], [`calls`] | the calls to AWS, and the SDK behind them |

pub(crate) mod alarm;
pub(crate) mod attempt;
pub(crate) mod backoff;
pub(crate) mod budget;
pub(crate) mod calls;
pub(crate) mod deleter;
pub(crate) mod desk;
pub(crate) mod gather;
pub(crate) mod gauges;
pub(crate) mod limits;
pub(crate) mod outage;
pub(crate) mod pace;
pub(crate) mod poison;
pub(crate) mod poller;
pub(crate) mod seam;
pub(crate) mod visibility;
pub(crate) mod writer;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use tenancy::tenant::Environment;
use tenancy::trace::Tracer;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::drain::budget::Budget;
use crate::drain::deleter::Deleter;
use crate::drain::gauges::Gauges;
use crate::drain::limits::Limits;
use crate::drain::pace::Pace;
use crate::drain::poller::Poller;
use crate::drain::seam::Aws;
use crate::drain::writer::Writer;
use crate::events;
use crate::liveness::Liveness;
use crate::record::Stamps;

/// All parts of draining, wired up.
#[derive(Debug)]
pub(crate) struct Drainer<A> {
    aws: Arc<A>,
    limits: Limits,
    pace: Arc<Pace>,
    liveness: Arc<Liveness>,
    writer: Arc<Writer<A>>,
    deleter: Arc<Deleter<A>>,
    poller: Arc<Poller<A>>,
    poison_tasks: TaskTracker,
    stopping: CancellationToken,
}

impl<A: Aws> Drainer<A> {
    /// A drainer of the queue that `aws` names, for `environment`. Nothing happens before [`Drainer::run`].
    pub(crate) fn new(
        aws: A,
        environment: Environment,
        limits: Limits,
        stamps: Stamps,
        liveness: Arc<Liveness>,
    ) -> Self {
        let aws = Arc::new(aws);
        let pace = Arc::new(Pace::new(limits.pollers, limits.idle_pause));
        let budget = Budget::new(limits.messages, limits.bytes);
        let busy = Arc::new(AtomicBool::new(false));
        let poison_tasks = TaskTracker::new();
        let deleter = Deleter::new(aws.clone(), limits, pace.clone(), liveness.clone(), busy.clone());
        let gauges = Arc::new(Gauges::new(budget.clone(), pace.clone(), busy.clone()));
        let writer = Writer::new(
            aws.clone(),
            limits,
            pace.clone(),
            liveness.clone(),
            deleter.clone(),
            poison_tasks.clone(),
            busy,
        );
        let stopping = CancellationToken::new();
        let poller = Arc::new(Poller {
            aws: aws.clone(),
            environment,
            limits,
            stamps,
            pace: pace.clone(),
            budget,
            liveness: liveness.clone(),
            writer: writer.clone(),
            poison_tasks: poison_tasks.clone(),
            stopping: stopping.clone(),
            gauges,
            tracer: Tracer::of_process(),
            receives: AtomicU64::new(0),
        });
        Self { aws, limits, pace, liveness, writer, deleter, poller, poison_tasks, stopping }
    }

    /// What can be read of it at any time.
    pub(crate) fn gauges(&self) -> Arc<Gauges> {
        self.poller.gauges.clone()
    }

    /// Drains until `stop` resolves, to the time at which all has to have ended. Then no receive starts, open polls end, what
    /// they brought is written and deleted, and the rest is handed back.
    pub(crate) async fn run(self, stop: impl Future<Output = Instant>) {
        let mut helpers = JoinSet::new();
        helpers.spawn(self.writer.clone().keep_time());
        helpers.spawn(self.deleter.clone().keep_time());
        helpers.spawn(keep_hidden(self.aws.clone(), self.writer.clone(), self.limits));
        let mut pollers = JoinSet::new();
        for _ in 0..self.limits.pollers {
            pollers.spawn(self.poller.clone().run());
        }
        let deadline = tokio::select! {
            deadline = stop => deadline,
            // They end by panics alone. Without them messages would be kept or come twice: better to start anew.
            Some(_) = helpers.join_next() => return,
        };
        let stopped = Instant::now();
        self.pace.stop();
        self.stopping.cancel();
        self.liveness.stop();
        let reserve = self.limits.handing_back;
        // A poll that does not end by itself leads nowhere; it is given up in time for what the others brought.
        let all_ended = async { while pollers.join_next().await.is_some() {} };
        if timeout_at(deadline - reserve * 2, all_ended).await.is_err() {
            pollers.shutdown().await;
        }
        let until = deadline - reserve;
        let mut left = self.writer.flush(until).await;
        left.iter_mut().for_each(|receipt| receipt.end_span(Some("handed_back")));
        self.poison_tasks.close();
        let handed_back = left.len();
        tokio::join!(
            self.deleter.flush(deadline - reserve / 4),
            async {
                let changes =
                    left.iter().map(|receipt| (receipt.queue.clone(), receipt.handle.clone(), Duration::ZERO));
                // Two tries, and room for the end: a stop whose last calls hang is in time as well.
                visibility::change(&*self.aws, changes, self.limits.call.min(reserve / 4)).await;
            },
            async {
                let _ = timeout_at(deadline - reserve / 4, self.poison_tasks.wait()).await;
            },
        );
        helpers.shutdown().await;
        events::drained(handed_back, stopped.elapsed());
    }
}

/// Extends the visibility of what is in hand, before it runs out.
async fn keep_hidden<A: Aws>(aws: Arc<A>, writer: Arc<Writer<A>>, limits: Limits) {
    let visibility = limits.ask.visibility;
    loop {
        sleep(limits.look).await;
        let now = Instant::now();
        let due = writer.extend(now + visibility / 2, now + visibility);
        if due.is_empty() {
            continue;
        }
        let changes = due.into_iter().map(|(queue, handle)| (queue, handle, visibility));
        events::extended(visibility::change(&*aws, changes, limits.call).await);
    }
}

#[cfg(test)]
#[path = "drain/tests/mod.rs"]
mod tests;
