//! Getting what is in hand into the table.
//!
//! Pollers lay records on the desk; whoever changes something there, a poller that brings records or a write that ends,
//! launches what is due. There is no task in between that could be late. How many writes are in flight follows from what
//! there is to write; the bound is what may be in hand at all.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use tenancy::telemetry::tenants::ByTenant;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::drain::alarm::Alarm;
use crate::drain::attempt::{Attempts, Outcome};
use crate::drain::backoff::Backoff;
use crate::drain::deleter::Deleter;
use crate::drain::desk::{Desk, Receipt};
use crate::drain::gather::{Due, Gather};
use crate::drain::limits::Limits;
use crate::drain::outage::{Outage, Trial};
use crate::drain::pace::{Downstream, Pace};
use crate::drain::poison::{Poisoned, Reason, isolate};
use crate::drain::seam::{Aws, Failure};
use crate::events;
use crate::liveness::Liveness;
use crate::record::Record;

/// The most items of a `BatchWriteItem`.
pub(crate) const BATCH: usize = 25;

/// The most bytes of bodies of one write. DynamoDB takes 16 MB; a quarter of it keeps memory and retries small.
pub(crate) const BATCH_BYTES: usize = 4 * 1_048_576;

/// While the queue is deep a partial batch waits for the next receive, at most so long.
pub(crate) const HOLD: Duration = Duration::from_millis(5);

/// Pauses between tries.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));

/// A write that had no answer in time may take longer at its next try, up to this: a table that is slow is not a table that
/// is gone. Visibility is extended meanwhile.
const LONGEST_CALL: Duration = Duration::from_secs(20);

/// Pauses of receiving while the table refuses everything.
const REFUSALS: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// Writes what it is given and passes on the messages that are stored.
#[derive(Debug)]
pub(crate) struct Writer<A> {
    aws: Arc<A>,
    attempts: Attempts<A>,
    limits: Limits,
    state: Mutex<State>,
    alarm: Alarm,
    outage: Outage,
    pace: Arc<Pace>,
    liveness: Arc<Liveness>,
    deleter: Arc<Deleter<A>>,
    by_tenant: ByTenant,
    poison_tasks: TaskTracker,
    tasks: TaskTracker,
    /// Nothing new is tried any more.
    abandon: CancellationToken,
    /// Something is in hand, so that more deletes will follow.
    busy: Arc<AtomicBool>,
}

#[derive(Debug)]
struct State {
    desk: Desk,
    gather: Gather,
    refusals: Backoff,
}

impl<A: Aws> Writer<A> {
    pub(crate) fn new(
        aws: Arc<A>,
        limits: Limits,
        pace: Arc<Pace>,
        liveness: Arc<Liveness>,
        deleter: Arc<Deleter<A>>,
        poison_tasks: TaskTracker,
        busy: Arc<AtomicBool>,
    ) -> Arc<Self> {
        Arc::new(Self {
            attempts: Attempts::new(aws.clone()),
            aws,
            limits,
            state: Mutex::new(State { desk: Desk::default(), gather: Gather::new(HOLD), refusals: REFUSALS }),
            alarm: Alarm::default(),
            outage: Outage::new(Downstream::Writes, pace.clone()),
            pace,
            liveness,
            deleter,
            by_tenant: events::stored_by_tenant(limits.metrics_tenants),
            poison_tasks,
            tasks: TaskTracker::new(),
            abandon: CancellationToken::new(),
            busy,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what a receive brought.
    pub(crate) fn accept(self: &Arc<Self>, records: Vec<(Record, Receipt)>) {
        if records.is_empty() {
            return;
        }
        let mut state = self.lock();
        let now = Instant::now();
        for (record, receipt) in records {
            state.desk.add(record, receipt, now);
        }
        self.launch(state);
    }

    /// Starts the writes that are due.
    fn launch(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if self.abandon.is_cancelled() {
            return;
        }
        let now = Instant::now();
        let at_depth = self.pace.at_depth();
        loop {
            let full = state.desk.is_full(BATCH, BATCH_BYTES);
            match state.gather.due(state.desk.oldest(), full, at_depth, now) {
                Due::Nothing => break,
                Due::At(at) => {
                    self.alarm.set(at);
                    break;
                }
                Due::Now => {
                    let batch = state.desk.take(BATCH, BATCH_BYTES);
                    if batch.is_empty() {
                        break;
                    }
                    state.gather.launched(now);
                    let (writer, number) = (self.clone(), state.desk.last_write());
                    self.tasks.spawn(async move { writer.carry(batch, number).await });
                }
            }
        }
        self.busy.store(state.desk.len() > 0, Ordering::Relaxed);
    }

    /// Launches partial batches when their time has come. Ends with the task it runs in.
    pub(crate) async fn keep_time(self: Arc<Self>) {
        loop {
            self.alarm.rings().await;
            self.launch(self.lock());
        }
    }

    /// One write, from launch to outcome. A panic in it must not keep its messages: nobody else would see them before the
    /// process ends.
    async fn carry(self: Arc<Self>, batch: Vec<Arc<Record>>, number: u64) {
        let broke_down = AssertUnwindSafe(self.write(batch)).catch_unwind().await.is_err();
        let mut state = self.lock();
        state.gather.landed();
        if broke_down {
            let now = Instant::now();
            let left = state.desk.abandon(number, now);
            self.launch(state);
            let left = left.into_iter().map(|receipt| Poisoned { receipt, reason: Reason::Broken, cause: None });
            isolate(&self.aws, &self.poison_tasks, left.collect());
        } else {
            self.launch(state);
        }
    }

    /// Writes a batch, with as many tries as it takes.
    async fn write(self: &Arc<Self>, mut batch: Vec<Arc<Record>>) {
        events::write_started(batch.len());
        let mut trial = self.outage.trial();
        let mut backoff = BACKOFF;
        let mut limit = self.limits.call;
        loop {
            let outcome = tokio::select! {
                outcome = self.attempts.write(std::mem::take(&mut batch), limit) => outcome,
                () = self.abandon.cancelled() => break,
            };
            self.liveness.try_ended();
            if outcome.failure.as_ref().is_some_and(|failure| failure.timed_out) {
                limit = (limit * 2).min(LONGEST_CALL);
            }
            batch = self.settle(outcome, &mut trial, &mut backoff).await;
            if batch.is_empty() {
                break;
            }
        }
    }

    /// Passes on what is decided; after a pause, what is to be tried again.
    async fn settle(
        self: &Arc<Self>,
        outcome: Outcome,
        trial: &mut Trial<'_>,
        backoff: &mut Backoff,
    ) -> Vec<Arc<Record>> {
        let Outcome { stored, again, refused, failure, answered } = outcome;
        if !stored.is_empty() {
            trial.succeeded();
            backoff.reset();
        }
        self.finish(&stored, refused, answered);
        if again.is_empty() {
            return again;
        }
        let pause = backoff.full_jitter();
        match failure {
            Some(failure) => {
                if stored.is_empty() {
                    trial.failed(&failure);
                }
                events::write_retried(&failure, again.len(), pause);
            }
            None => {
                if stored.is_empty() {
                    trial.failed(&Failure::no_capacity());
                }
                events::unprocessed(again.len());
            }
        }
        tokio::select! {
            () = sleep(pause) => again,
            () = self.abandon.cancelled() => Vec::new(),
        }
    }

    /// Takes decided records off the desk: stored ones are deleted from the queue, refused ones isolated.
    fn finish(
        self: &Arc<Self>,
        stored: &[Arc<Record>],
        refused: Vec<(Arc<Record>, Failure)>,
        answered: Option<Duration>,
    ) {
        let now = Instant::now();
        let mut done = Vec::with_capacity(stored.len());
        let mut poisoned = Vec::new();
        {
            let mut state = self.lock();
            if let Some(took) = answered {
                state.gather.answered(took);
            }
            for record in stored {
                done.append(&mut state.desk.finish(record, now));
            }
            let alone = refused.len() <= 1;
            for (record, cause) in refused {
                let receipts = state.desk.finish(&record, now).into_iter();
                let cause = |receipt| Poisoned { receipt, reason: Reason::Refused, cause: Some(cause.clone()) };
                poisoned.extend(receipts.map(cause));
            }
            if !stored.is_empty() {
                state.refusals.reset();
            } else if !alone {
                // Not one bad record among good ones: the table takes none. The fewer receives that costs, the better.
                self.pace.hold_until(now + state.refusals.half_jitter());
            }
            // What waited for a write of its key can go now.
            self.launch(state);
        }
        if !done.is_empty() {
            events::stored(&done, stored, &self.by_tenant);
            done.iter_mut().for_each(|receipt| receipt.end_span(None));
            self.deleter.accept(done);
        }
        isolate(&self.aws, &self.poison_tasks, poisoned);
    }

    /// The messages in hand that others would see before `before`; they count as hidden until `until` from now on.
    pub(crate) fn extend(&self, before: Instant, until: Instant) -> Vec<(Arc<tenancy::arn::QueueArn>, String)> {
        self.lock().desk.extend(before, until)
    }

    /// Writes what is in hand; nothing is accepted any more. After `until` what is not written is given up: its receipts.
    pub(crate) async fn flush(self: &Arc<Self>, until: Instant) -> Vec<Receipt> {
        {
            let mut state = self.lock();
            state.gather.close();
            self.launch(state);
        }
        self.tasks.close();
        if tokio::time::timeout_at(until, self.tasks.wait()).await.is_err() {
            self.abandon.cancel();
            self.tasks.wait().await;
        }
        self.busy.store(false, Ordering::Relaxed);
        self.lock().desk.clear()
    }
}
