//! Deleting messages whose records are in the table.
//!
//! Nobody waits for a delete, so partial batches wait a little for more while more is being written; nearly all are full
//! tens. What is not deleted is delivered and written again, onto the same record.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use tenancy::aws::Fault;
use tenancy::trace::{Call, Tracer};

use crate::drain::alarm::Alarm;
use crate::drain::backoff::Backoff;
use crate::drain::desk::Receipt;
use crate::drain::gather::{Due, Gather};
use crate::drain::limits::Limits;
use crate::drain::outage::Outage;
use crate::drain::pace::{Downstream, Pace};
use crate::drain::seam::{Aws, Failure};
use crate::events;
use crate::liveness::Liveness;

/// The most entries of a `DeleteMessageBatch`.
const BATCH: usize = 10;

/// While records are in hand a partial batch waits for more deletes, at most so long.
const HOLD: Duration = Duration::from_millis(50);

/// So often entries that failed on SQS's side are sent again.
const ENTRY_RETRIES: u32 = 3;

/// The pause before entries are sent again.
const ENTRY_PAUSE: Duration = Duration::from_millis(200);

/// So often a call that fails as a whole is tried: about half a minute with its pauses.
const CALL_TRIES: u32 = 12;

/// What SQS can have against a batch of handles. Any other code says nothing of them.
const OF_HANDLES: &[&str] = &[
    "ReceiptHandleIsInvalid",
    "InvalidIdFormat",
    "InvalidParameterValue",
    "InvalidParameterValueException",
    "MissingParameter",
    "ValidationException",
];

/// So many handles refused on their own, with none accepted, speak against the call.
const DOUBTFUL: usize = 2;

/// Pauses between tries.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));

/// Deletes the messages that it is given.
#[derive(Debug)]
pub(crate) struct Deleter<A> {
    aws: Arc<A>,
    limits: Limits,
    state: Mutex<State>,
    alarm: Alarm,
    outage: Outage,
    liveness: Arc<Liveness>,
    tasks: TaskTracker,
    abandon: CancellationToken,
    more_to_come: Arc<AtomicBool>,
    tracer: Tracer,
}

#[derive(Debug)]
struct State {
    waiting: VecDeque<(Receipt, Instant)>,
    gather: Gather,
}

impl<A: Aws> Deleter<A> {
    pub(crate) fn new(
        aws: Arc<A>,
        limits: Limits,
        pace: Arc<Pace>,
        liveness: Arc<Liveness>,
        more_to_come: Arc<AtomicBool>,
    ) -> Arc<Self> {
        Arc::new(Self {
            aws,
            limits,
            state: Mutex::new(State { waiting: VecDeque::new(), gather: Gather::new(HOLD) }),
            alarm: Alarm::default(),
            outage: Outage::new(Downstream::Deletes, pace),
            liveness,
            tasks: TaskTracker::new(),
            abandon: CancellationToken::new(),
            more_to_come,
            tracer: Tracer::of_process(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in messages whose records are confirmed.
    pub(crate) fn accept(self: &Arc<Self>, receipts: Vec<Receipt>) {
        let now = Instant::now();
        let mut state = self.lock();
        state.waiting.extend(receipts.into_iter().map(|mut receipt| {
            receipt.ticket.without_body();
            (receipt, now)
        }));
        self.launch(state);
    }

    /// Starts the deletes that are due.
    fn launch(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if self.abandon.is_cancelled() {
            return;
        }
        let now = Instant::now();
        let more_to_come = self.more_to_come.load(Ordering::Relaxed);
        loop {
            let oldest = state.waiting.front().map(|(_, since)| *since);
            match state.gather.due(oldest, state.waiting.len() >= BATCH, more_to_come, now) {
                Due::Nothing => return,
                Due::At(at) => return self.alarm.set(at),
                Due::Now => {
                    let batch = take(&mut state.waiting);
                    state.gather.launched(now);
                    let deleter = self.clone();
                    self.tasks.spawn(async move { deleter.delete(batch).await });
                }
            }
        }
    }

    /// Launches partial batches when their time has come. Ends with the task it runs in.
    pub(crate) async fn keep_time(self: Arc<Self>) {
        loop {
            self.alarm.rings().await;
            self.launch(self.lock());
        }
    }

    async fn delete(self: Arc<Self>, batch: Vec<Receipt>) {
        // After a panic its messages come back when their time is over; the count of calls has to be right all the same.
        tokio::select! {
            _ = AssertUnwindSafe(self.delete_parts(batch)).catch_unwind() => {}
            () = self.abandon.cancelled() => {}
        }
        let mut state = self.lock();
        state.gather.landed();
        self.launch(state);
    }

    /// The batch, and its halves when it is refused as a whole: one bad handle must not keep the others. When two are
    /// refused on their own and nothing could be deleted, it is not the handles.
    async fn delete_parts(&self, batch: Vec<Receipt>) {
        let mut parts = vec![batch];
        let (mut deleted, mut refused) = (false, 0);
        while let Some(mut part) = parts.pop() {
            let Err(failure) = self.delete_part(&mut part).await else {
                deleted = true;
                continue;
            };
            if failure.fault == Fault::Refused && part.len() > 1 {
                let half = part.split_off(part.len() / 2);
                parts.push(half);
                parts.push(part);
                continue;
            }
            refused += usize::from(failure.fault == Fault::Refused);
            if !deleted && refused == DOUBTFUL {
                part.extend(parts.drain(..).flatten());
            }
            if failure.fault == Fault::Gone
                && let Some(first) = part.first()
            {
                self.aws.queue_is_gone(&first.queue);
            }
            events::delete_failed(failure.fault.as_str(), &failure.text, part.len());
        }
    }

    /// Deletes `part`, trying again as far as that may help. What could be deleted, or was given up, is taken out of it when
    /// some entries failed; an error concerns all that is left in it.
    async fn delete_part(&self, part: &mut Vec<Receipt>) -> Result<(), Failure> {
        let mut trial = self.outage.trial();
        let (mut backoff, mut tries, mut resent) = (BACKOFF, 0, 0);
        while let Some(first) = part.first() {
            events::delete_started(part.len());
            let handles = part.iter().map(|receipt| receipt.handle.clone()).collect();
            let started = Instant::now();
            let limit = self.limits.call;
            let span = self.tracer.is_on().then(|| {
                let call = Call { operation: "settle", target: first.queue.name(), count: part.len(), began: None };
                self.tracer.messaging_call(call, part.iter().filter_map(Receipt::parent).collect())
            });
            let answer = timeout(limit, self.aws.delete(first.queue.clone(), handles)).await;
            self.liveness.try_ended();
            let answer = answer.unwrap_or_else(|_| Err(Failure::timeout(limit)));
            let answer = answer.map_err(|failure| failure.unless_refused_for(OF_HANDLES));
            if let (Some(Some(mut span)), Err(failure)) = (span, &answer) {
                span.fail(failure.fault.as_str());
            }
            match answer {
                Ok(failed) => {
                    trial.succeeded();
                    self.lock().gather.answered(started.elapsed());
                    failed.iter().filter(|entry| entry.sender_fault).for_each(events::delete_refused);
                    let asked = part.len();
                    let mut position = 0;
                    part.retain(|_| {
                        let again = failed.iter().any(|entry| entry.position == position && !entry.sender_fault);
                        position += 1;
                        again
                    });
                    events::deleted(asked - failed.len().min(asked));
                    let Some(entry) = failed.iter().find(|entry| !entry.sender_fault) else { return Ok(()) };
                    if resent == ENTRY_RETRIES {
                        events::delete_failed("entries", &entry.code, part.len());
                        return Ok(());
                    }
                    resent += 1;
                    let pause = ENTRY_PAUSE.mul_f64(0.5 + fastrand::f64());
                    events::delete_retried("entries", &entry.code, part.len(), pause);
                    sleep(pause).await;
                }
                Err(failure) if matches!(failure.fault, Fault::Refused | Fault::Gone) => return Err(failure),
                Err(failure) => {
                    tries += 1;
                    if tries == CALL_TRIES {
                        return Err(failure);
                    }
                    trial.failed(&failure);
                    let pause = backoff.full_jitter();
                    events::delete_retried(failure.fault.as_str(), &failure.text, part.len(), pause);
                    sleep(pause).await;
                }
            }
        }
        Ok(())
    }

    /// Deletes what it was given, until `until`.
    pub(crate) async fn flush(self: &Arc<Self>, until: Instant) {
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
    }
}

/// The next batch: up to ten of one queue.
fn take(waiting: &mut VecDeque<(Receipt, Instant)>) -> Vec<Receipt> {
    let mut batch: Vec<Receipt> = Vec::with_capacity(BATCH.min(waiting.len()));
    while batch.len() < BATCH
        && let Some((next, _)) = waiting.front()
        && batch.first().is_none_or(|first| first.queue == next.queue)
        && let Some((receipt, _)) = waiting.pop_front()
    {
        batch.push(receipt);
    }
    batch
}
