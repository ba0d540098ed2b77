//! How many poll at a time, and when.
//!
//! An idle queue is polled by one. Each receive that comes back full lets one more begin, one that comes back nearly empty
//! sends one to sleep, so their number follows what is there. After an error all but one sleep, and that one probes, with
//! growing pauses, until a receive succeeds. While writes or deletes fail as a whole nobody receives; while the table has no
//! room for some records one goes on, since for other tenants' records it may well have.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::drain::backoff::Backoff;

/// Pauses after failed receives.
const RECEIVE_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(20));

/// Pauses after receives that brought nothing of use: they grow while nothing else comes.
const USELESS_BACKOFF: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_millis(200));

/// What can make receiving pointless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Downstream {
    /// Writes to the table.
    Writes = 0,
    /// Deletes from the queue.
    Deletes = 1,
}

impl Downstream {
    /// As a metric label.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Deletes => "deletes",
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With so many messages of so many that were asked for.
    Brought(usize, usize),
    /// With nothing, and the queue did not wait for anything to come: again at once would be hundreds of calls a second.
    EmptyAtOnce,
    /// With messages of which none could be used. More of them at once would be hundreds of calls a second, and as many lines of
    /// log as messages, where they come back at once.
    Useless,
    /// With an error.
    Failed,
    /// Without a receive.
    Unused,
}

/// Shared by the pollers of one queue.
#[derive(Debug)]
pub(crate) struct Pace {
    state: Mutex<State>,
    changed: Notify,
    at_depth: AtomicBool,
    /// The pause after a receive that was empty at once.
    idle_pause: Duration,
}

#[derive(Debug)]
struct State {
    pollers: usize,
    allowed: usize,
    polling: usize,
    stopped: bool,
    down: [bool; 2],
    /// What is received may have to wait in hand for long.
    crowded: bool,
    not_before: Option<Instant>,
    held_until: Option<Instant>,
    failures: Backoff,
    last_failure: Option<Instant>,
    useless: Backoff,
}

enum Turn {
    Go,
    NotBefore(Instant),
    Wait,
    Stop,
}

impl State {
    fn is_open(&self) -> bool {
        !self.stopped && self.down == [false; 2]
    }

    /// How many may poll at a time.
    fn allowed(&self) -> usize {
        if self.crowded { 1 } else { self.allowed }
    }

    /// Until when all have to wait that are not waiting for something else.
    fn pause(&self, now: Instant) -> Option<Instant> {
        self.not_before.max(self.held_until).filter(|at| *at > now)
    }

    fn recovered(&mut self) {
        self.failures.reset();
        self.last_failure = None;
        self.not_before = None;
    }

    fn turn(&mut self, now: Instant) -> Turn {
        if self.stopped {
            return Turn::Stop;
        }
        if !self.is_open() || self.polling >= self.allowed() {
            return Turn::Wait;
        }
        if let Some(at) = self.pause(now) {
            return Turn::NotBefore(at);
        }
        self.polling += 1;
        Turn::Go
    }
}

impl Pace {
    /// For at most so many pollers.
    pub(crate) fn new(pollers: usize, idle_pause: Duration) -> Self {
        let state = State {
            pollers,
            allowed: 1,
            polling: 0,
            stopped: false,
            down: [false; 2],
            crowded: false,
            not_before: None,
            held_until: None,
            failures: RECEIVE_BACKOFF,
            last_failure: None,
            useless: USELESS_BACKOFF,
        };
        Self { state: Mutex::new(state), changed: Notify::new(), at_depth: AtomicBool::new(false), idle_pause }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn to receive; when it began, or `None` when there will be no more. Each turn is given back with
    /// [`Pace::ended`].
    pub(crate) async fn turn(&self) -> Option<Instant> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let now = Instant::now();
            let turn = self.lock().turn(now);
            match turn {
                Turn::Go => return Some(now),
                Turn::Stop => return None,
                Turn::Wait => changed.await,
                Turn::NotBefore(at) => tokio::select! {
                    () = sleep_until(at) => {}
                    () = changed => {}
                },
            }
        }
    }

    /// Whether a poller that has its turn may still receive.
    pub(crate) fn may_receive(&self) -> bool {
        let state = self.lock();
        state.is_open() && state.pause(Instant::now()).is_none()
    }

    /// Gives back a turn that began at `began`. For a failure that is news, and no echo of one that others had at the
    /// same time: how long until the next try.
    pub(crate) fn ended(&self, began: Instant, how: Ended) -> Option<Duration> {
        let mut state = self.lock();
        let now = Instant::now();
        state.polling = state.polling.saturating_sub(1);
        let mut news = None;
        match how {
            Ended::Unused => {}
            Ended::EmptyAtOnce => {
                state.recovered();
                state.useless.reset();
                state.allowed = (state.allowed - 1).max(1);
                state.not_before = Some(now + self.idle_pause);
                self.at_depth.store(false, Ordering::Relaxed);
            }
            Ended::Useless => {
                state.recovered();
                state.allowed = (state.allowed - 1).max(1);
                state.not_before = Some(now + state.useless.half_jitter());
                self.at_depth.store(false, Ordering::Relaxed);
            }
            Ended::Brought(messages, asked) => {
                state.recovered();
                state.useless.reset();
                // SQS does not always fill a receive that it could fill.
                self.at_depth.store(messages * 2 >= asked, Ordering::Relaxed);
                if messages >= asked {
                    state.allowed = (state.allowed + 1).min(state.pollers);
                } else if messages * 2 < asked {
                    state.allowed = (state.allowed - 1).max(1);
                }
            }
            Ended::Failed => {
                self.at_depth.store(false, Ordering::Relaxed);
                state.allowed = 1;
                if state.last_failure.is_none_or(|last| began >= last) {
                    let pause = state.failures.half_jitter();
                    state.last_failure = Some(now);
                    state.not_before = Some(now + pause);
                    news = Some(pause);
                }
            }
        }
        // The one who ends goes on by itself; another one is woken when there is room for two.
        if state.polling + 1 < state.allowed() {
            self.changed.notify_one();
        }
        news
    }

    /// Says whether writes or deletes fail as a whole at the moment.
    pub(crate) fn set_down(&self, what: Downstream, down: bool) {
        let mut state = self.lock();
        let before = std::mem::replace(&mut state.down[what as usize], down);
        if before && !down {
            self.changed.notify_waiters();
        }
    }

    /// Says whether the table has no room for some of what is in hand. Then one poller goes on, within what may be in hand.
    pub(crate) fn set_crowded(&self, crowded: bool) {
        let mut state = self.lock();
        let before = std::mem::replace(&mut state.crowded, crowded);
        if before && !crowded {
            self.changed.notify_waiters();
        }
    }

    /// Whether writes or deletes fail as a whole at the moment.
    pub(crate) fn is_down(&self, what: Downstream) -> bool {
        self.lock().down[what as usize]
    }

    /// Nobody receives before `until`, whatever comes of the receives that are open now.
    pub(crate) fn hold_until(&self, until: Instant) {
        let mut state = self.lock();
        state.allowed = 1;
        state.held_until = state.held_until.max(Some(until));
    }

    /// No receive starts any more.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_waiters();
    }

    /// Whether the last receive came back well filled, so that more is about to come.
    pub(crate) fn at_depth(&self) -> bool {
        self.at_depth.load(Ordering::Relaxed)
    }

    /// How many poll now, waiting for room included.
    pub(crate) fn polling(&self) -> usize {
        self.lock().polling
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
