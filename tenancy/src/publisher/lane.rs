//! A lane: what waits for one queue, and the rule that says when it leaves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

use crate::arn::QueueArn;
use crate::message::outgoing::Outgoing;
use crate::server::Portion;
use crate::tenant::Environment;
use crate::trace::Span;

use super::{Limits, SendError};

/// Entries in one `SendMessageBatch`, by its documentation.
pub(super) const MOST_ENTRIES: usize = 10;

/// Messages in one lane, waiting or in flight. At 20 ms a call and ten a call this many are 50,000 a second.
const MOST_MESSAGES: usize = 1_024;

/// Calls in flight for one queue.
const MOST_CALLS: usize = 64;

/// What a round trip is taken for: this until one was measured, and never outside the bounds.
const ROUND_TRIP: (Duration, Duration, Duration) =
    (Duration::from_millis(1), Duration::from_millis(20), Duration::from_millis(250));

/// Pauses of a lane in trouble: they double from the first to the last, with full jitter.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// A lane in trouble logs this often.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// Bytes a permit stands for, since a semaphore counts in 32 bits.
const BYTES_PER_PERMIT: usize = 256;

/// A message on its way.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) message: Outgoing,
    pub(super) size: usize,
    pub(super) registered_at: Environment,
    /// Others share the queue, and SQS is to be fair between them: it is told whose message it is, so that one tenant's thousands
    /// do not hold up another's one.
    pub(super) pooled: bool,
    pub(super) deadline: Instant,
    pub(super) tell: oneshot::Sender<Result<(), SendError>>,
    pub(super) room: Room,
    /// Its span, if its trace is taken: from here until SQS has it.
    pub(super) span: Option<Span>,
    /// It goes in a call of its own, since a call with others was refused.
    pub(super) alone: bool,
    /// It was sent to a queue that is gone before.
    pub(super) moved: bool,
    /// So often SQS answered a call and did not take this message.
    pub(super) failures: u32,
}

impl Pending {
    pub(super) fn finish(self, outcome: Result<(), SendError>) {
        drop(self.room);
        if let (Some(mut span), Err(error)) = (self.span, outcome) {
            span.fail(error.as_str());
        }
        let _ = self.tell.send(outcome);
    }
}

/// The place that a message takes in its lane, given back when dropped.
#[derive(Debug)]
pub(super) struct Room {
    _place: OwnedSemaphorePermit,
    _bytes: OwnedSemaphorePermit,
    _bulk: Option<OwnedSemaphorePermit>,
}

/// A call in flight, until dropped: however it ends, the lane goes on without it.
#[derive(Debug)]
pub(super) struct Flight(Arc<Lane>);

impl Flight {
    /// That of a batch from [`Lane::next_batch`].
    pub(super) fn of(lane: &Arc<Lane>) -> Self {
        Self(lane.clone())
    }

    pub(super) fn lane(&self) -> &Arc<Lane> {
        &self.0
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.lock().calls -= 1;
    }
}

#[derive(Debug)]
pub(super) struct Lane {
    pub(super) queue: Arc<QueueArn>,
    pub(super) url: String,
    /// See [`Limits::portions`].
    pub(super) portion: Option<Portion>,
    most_bytes_a_call: usize,
    places: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    /// What those who wait for room may hold together: half of the lane, so that single requests still get in.
    bulk: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    waiting: VecDeque<Pending>,
    waiting_bytes: usize,
    /// How many of the waiting have to go alone.
    alone: usize,
    calls: usize,
    last_launch: Instant,
    round_trip: Duration,
    failures: u32,
    paused_until: Option<Instant>,
    /// Someone has taken on to look at the lane again.
    alarm: bool,
    logged_at: Option<Instant>,
}

impl Lane {
    pub(super) fn new(queue: Arc<QueueArn>, url: String, limits: Limits) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            alone: 0,
            calls: 0,
            last_launch: Instant::now(),
            round_trip: ROUND_TRIP.1,
            failures: 0,
            paused_until: None,
            alarm: false,
            logged_at: None,
        };
        let bytes = limits.lane_bytes.max(limits.message_bytes).div_ceil(BYTES_PER_PERMIT);
        Self {
            queue,
            url,
            portion: limits.portions.map(Portion::new),
            most_bytes_a_call: limits.message_bytes,
            places: Arc::new(Semaphore::new(MOST_MESSAGES)),
            bytes: Arc::new(Semaphore::new(bytes)),
            bulk: Arc::new(Semaphore::new(MOST_MESSAGES / 2)),
            state: Mutex::new(state),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for a message of this size, if there is some.
    pub(super) fn room_now(&self, size: usize) -> Option<Room> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        let bytes = self.bytes.clone().try_acquire_many_owned(permits(size)).ok()?;
        Some(Room { _place: place, _bytes: bytes, _bulk: None })
    }

    /// Room for a message of this size, when there is some.
    pub(super) async fn room_in_time(&self, size: usize) -> Room {
        // These semaphores are never closed, so to acquire does not fail; a lane without one would only be unbounded.
        let never = std::future::pending();
        let Ok(bulk) = self.bulk.clone().acquire_owned().await else { return never.await };
        let Ok(place) = self.places.clone().acquire_owned().await else { return never.await };
        let Ok(bytes) = self.bytes.clone().acquire_many_owned(permits(size)).await else { return never.await };
        Room { _place: place, _bytes: bytes, _bulk: Some(bulk) }
    }

    pub(super) fn push(&self, pending: Pending) {
        let mut state = self.lock();
        state.waiting_bytes += pending.size;
        state.alone += usize::from(pending.alone);
        state.waiting.push_back(pending);
    }

    /// The messages of the next call, if one may leave at `now`; it then counts as in flight, and needs a [`Flight`].
    pub(super) fn next_batch(&self, now: Instant) -> Option<Vec<Pending>> {
        let mut state = self.lock();
        if state.is_paused(now) || state.waiting.is_empty() || state.calls >= MOST_CALLS {
            return None;
        }
        let full =
            state.waiting.len() >= MOST_ENTRIES || state.waiting_bytes >= self.most_bytes_a_call || state.alone > 0;
        let due = state.calls == 0 || now.duration_since(state.last_launch) >= state.round_trip;
        if !full && !due {
            return None;
        }
        let batch = state.take(self.most_bytes_a_call, now);
        if batch.is_empty() {
            return None;
        }
        state.calls += 1;
        state.last_launch = now;
        Some(batch)
    }

    /// Messages that wait or are in flight.
    pub(super) fn messages(&self) -> usize {
        MOST_MESSAGES - self.places.available_permits().min(MOST_MESSAGES)
    }

    /// A call was answered, and what of it has to be sent again is no trouble of the lane.
    pub(super) fn answered(&self, took: Duration) {
        let mut state = self.lock();
        state.failures = 0;
        state.round_trip = (state.round_trip.mul_f64(7.0 / 8.0) + took / 8).clamp(ROUND_TRIP.0, ROUND_TRIP.2);
    }

    /// A call ended and these have to be sent again. The first failure in a row is tried again at once, since it may be one
    /// broken connection; then, and when SQS asks for it, the lane pauses.
    pub(super) fn troubled(&self, again: Vec<Pending>, slow_down: bool) {
        let mut state = self.lock();
        state.failures = state.failures.saturating_add(1);
        if slow_down || state.failures > 1 {
            let until = Instant::now() + pause_after(state.failures);
            state.paused_until = Some(state.paused_until.map_or(until, |earlier| earlier.max(until)));
        }
        state.put_back(again);
    }

    /// Puts messages back to the front.
    pub(super) fn put_back(&self, batch: Vec<Pending>) {
        self.lock().put_back(batch);
    }

    /// When the lane has to be looked at again although nothing happens: at the end of its pause, or when what gathered behind a
    /// call has waited a round trip. Nothing if nobody waits or somebody took it on before; who gets a moment takes it on.
    ///
    /// A timer that is the next one to ring wakes a thread to say so, which costs more than the rest of a send here: so there
    /// is one a lane, not one a call, and none while every message leaves at once.
    pub(super) fn set_alarm(&self) -> Option<Instant> {
        let mut state = self.lock();
        if state.alarm || state.waiting.is_empty() {
            return None;
        }
        // Where as many calls are in flight as may be, the next one leaves when one of them ends.
        let due = state.paused_until.or_else(|| {
            let behind_a_call = (1..MOST_CALLS).contains(&state.calls);
            behind_a_call.then(|| state.last_launch + state.round_trip)
        })?;
        state.alarm = true;
        Some(due)
    }

    /// The moment is there. A pause that was prolonged meanwhile goes on.
    pub(super) fn alarm_rang(&self) {
        self.lock().alarm = false;
    }

    /// Whether a line about this lane's trouble is due.
    pub(super) fn may_log(&self) -> bool {
        let mut state = self.lock();
        let now = Instant::now();
        let due = state.logged_at.is_none_or(|at| now.duration_since(at) >= LOG_EVERY);
        if due {
            state.logged_at = Some(now);
        }
        due
    }
}

impl State {
    fn is_paused(&mut self, now: Instant) -> bool {
        let paused = self.paused_until.is_some_and(|until| until > now);
        if !paused {
            self.paused_until = None;
        }
        paused
    }

    /// From the front: up to ten messages, together at most `most_bytes`, without those that nobody waits for any more.
    fn take(&mut self, most_bytes: usize, now: Instant) -> Vec<Pending> {
        let mut batch: Vec<Pending> = Vec::with_capacity(self.waiting.len().min(MOST_ENTRIES));
        let mut bytes = 0;
        while batch.len() < MOST_ENTRIES {
            let Some(next) = self.waiting.front() else { break };
            let given_up = next.tell.is_closed() || next.deadline <= now;
            let fits = batch.is_empty() || (bytes + next.size <= most_bytes && !next.alone);
            if !given_up && !fits {
                break;
            }
            let Some(next) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= next.size;
            self.alone -= usize::from(next.alone);
            if given_up {
                next.finish(Err(SendError::Deadline));
                continue;
            }
            bytes += next.size;
            let alone = next.alone;
            batch.push(next);
            if alone {
                break;
            }
        }
        batch
    }

    fn put_back(&mut self, batch: Vec<Pending>) {
        for pending in batch.into_iter().rev() {
            self.waiting_bytes += pending.size;
            self.alone += usize::from(pending.alone);
            self.waiting.push_front(pending);
        }
    }
}

/// How long to wait after so many failures in a row.
pub(super) fn pause_after(failures: u32) -> Duration {
    PAUSES.0.saturating_mul(1 << failures.min(10)).min(PAUSES.1).mul_f64(fastrand::f64())
}

fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_PER_PERMIT)).unwrap_or(u32::MAX)
}
