//! Who waits for a call, whose turn it is, and when there may be one: the budget for ids not yet known, and pauses after failures.
//!
//! Which id is a customer's and which is made up shows only when it is read. What tells them apart before is that a customer's
//! client asks again: whoever was turned away more often comes first, among equals chance decides. So an id that asks again
//! `R / 20` times is read, whatever ids are made up at a rate of `R` a second: twenty names a second are read, and to stay
//! ahead of it each of them would have to have asked as often.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::turned_away::TurnedAway;
use super::{Fetched, Urgency};
use crate::directory::LookupError;

/// Names in one `GetParameters` call, by its documentation.
const NAMES_PER_CALL: usize = 10;

/// Calls a second for ids not yet known: an account has 40 a second for everything and everyone in it.
const NEW_CALLS_PER_SECOND: f64 = 2.0;

/// Such calls that may come at once after a quiet time.
const NEW_CALLS_BURST: f64 = 4.0;

/// Lookups of ids not yet known that wait for a call: what a second's budget serves. More are told to come back.
const NEW_WAITING: usize = 20;

/// The same where every call reads one name.
const NEW_WAITING_SINGLY: usize = 2;

/// After a failed call: how long every lookup fails at once, doubling from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// How long after a failed call SSM counts as down, unless one succeeds.
const DOWN_FOR: Duration = Duration::from_secs(10);

/// A call that takes longer says that SSM is down, until it ends well.
const SLOW: Duration = Duration::from_secs(1);

/// How long names are read one by one before `GetParameters` is tried again: a role may be given its right meanwhile.
const SINGLY_FOR: Duration = Duration::from_secs(15 * 60);

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) name: String,
    pub(super) tell: oneshot::Sender<Fetched>,
    /// It was in a call that was denied, which may be its own doing: it is read by itself.
    pub(super) alone: bool,
    urgency: Urgency,
    turned_away: u32,
}

impl Waiting {
    pub(super) fn is_known(&self) -> bool {
        self.urgency == Urgency::Known
    }

    pub(super) fn fail(self) {
        let _ = self.tell.send(Err(LookupError::Unavailable));
    }
}

#[derive(Debug)]
pub(super) struct Line {
    known: VecDeque<Waiting>,
    new: Vec<Waiting>,
    turned_away: TurnedAway,
    working: bool,
    tokens: f64,
    tokens_at: Instant,
    singly_until: Option<Instant>,
    said_singly: Option<Instant>,
    failures: u32,
    failed_at: Option<Instant>,
    paused_until: Option<Instant>,
    calling_since: Option<Instant>,
}

/// What there is to do.
pub(super) enum Next {
    /// A call for these, or one for each of them.
    Call {
        batch: Vec<Waiting>,
        singly: bool,
    },
    Wait(Duration),
    Nothing,
}

impl Line {
    pub(super) fn new() -> Self {
        Self {
            known: VecDeque::new(),
            new: Vec::new(),
            turned_away: TurnedAway::default(),
            working: false,
            tokens: NEW_CALLS_BURST,
            tokens_at: Instant::now(),
            singly_until: None,
            said_singly: None,
            failures: 0,
            failed_at: None,
            paused_until: None,
            calling_since: None,
        }
    }

    /// Takes a place in the line. A full one may turn away somebody else, or whoever comes.
    pub(super) fn join(&mut self, name: String, urgency: Urgency) -> Result<oneshot::Receiver<Fetched>, LookupError> {
        if self.paused_until.is_some_and(|until| until > Instant::now()) {
            return Err(LookupError::Unavailable);
        }
        let (tell, told) = oneshot::channel();
        let mut waiting = Waiting { name, tell, alone: false, urgency, turned_away: 0 };
        if urgency == Urgency::Known {
            self.known.push_back(waiting);
            return Ok(told);
        }
        waiting.turned_away = self.turned_away.times(&waiting.name);
        let most = if self.reads_singly() { NEW_WAITING_SINGLY } else { NEW_WAITING };
        if self.new.len() >= most {
            match self.weaker_than(&waiting) {
                Some(place) => {
                    let weaker = self.new.remove(place);
                    self.turned_away.once_more(&weaker.name);
                    let _ = weaker.tell.send(Err(LookupError::Busy));
                }
                None => {
                    self.turned_away.once_more(&waiting.name);
                    return Err(LookupError::Busy);
                }
            }
        }
        self.new.push(waiting);
        Ok(told)
    }

    /// Who makes room for whoever comes, if anyone: one of those that were turned away the least, and among equals the one that
    /// comes takes its chance with them.
    fn weaker_than(&self, comes: &Waiting) -> Option<usize> {
        let least = self.new.iter().map(|waiting| waiting.turned_away).min()?;
        let mut weakest: Vec<Option<usize>> = (0..self.new.len())
            .filter(|place| self.new.get(*place).is_some_and(|waiting| waiting.turned_away == least))
            .map(Some)
            .collect();
        if comes.turned_away < least {
            return None;
        }
        if comes.turned_away == least {
            weakest.push(None);
        }
        weakest.get(fastrand::usize(..weakest.len())).copied().flatten()
    }

    /// Puts those at the front that a denied call had in it and that count against the budget: each of them is another call.
    pub(super) fn put_back(&mut self, batch: Vec<Waiting>) {
        self.new.splice(0..0, batch.into_iter().map(|waiting| Waiting { alone: true, ..waiting }));
    }

    /// Whether somebody has to begin to call.
    pub(super) fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.working, true)
    }

    /// What to do next; nothing means that whoever asks is done with it.
    pub(super) fn next(&mut self) -> Next {
        let now = Instant::now();
        self.tokens = (self.tokens + (now - self.tokens_at).as_secs_f64() * NEW_CALLS_PER_SECOND).min(NEW_CALLS_BURST);
        self.tokens_at = now;
        let mut singly = self.reads_singly();
        let most = NAMES_PER_CALL.min(self.known.len());
        let mut batch: Vec<Waiting> = self.known.drain(..most).collect();
        if batch.is_empty() && !self.new.is_empty() && self.tokens < 1.0 {
            // What is missing may be less than a clock can tell: a pause of nothing at all would only spin.
            let missing = Duration::from_secs_f64((1.0 - self.tokens) / NEW_CALLS_PER_SECOND);
            return Next::Wait(missing.max(Duration::from_millis(1)));
        }
        self.new.sort_by_key(|waiting| Reverse((waiting.alone, waiting.turned_away)));
        let alone = self.new.first().is_some_and(|waiting| waiting.alone);
        let room = match (singly, alone) {
            (true, _) => 1,
            (false, true) => usize::from(batch.is_empty()),
            (false, false) => NAMES_PER_CALL - batch.len(),
        };
        if room > 0 && !self.new.is_empty() && self.tokens >= 1.0 {
            self.tokens -= 1.0;
            singly |= alone;
            for waiting in self.new.drain(..room.min(self.new.len())) {
                self.turned_away.forget(&waiting.name);
                batch.push(waiting);
            }
        }
        if batch.is_empty() {
            self.working = false;
            return Next::Nothing;
        }
        Next::Call { batch, singly }
    }

    /// A call goes out.
    pub(super) fn calls(&mut self) {
        self.calling_since = Some(Instant::now());
    }

    /// SSM answered.
    pub(super) fn answered(&mut self) {
        (self.failures, self.failed_at, self.paused_until, self.calling_since) = (0, None, None, None);
    }

    /// SSM did not answer, or nothing of use.
    pub(super) fn failed(&mut self) {
        let now = Instant::now();
        let pause = PAUSES.0.saturating_mul(1 << self.failures.min(10)).min(PAUSES.1);
        self.failures = self.failures.saturating_add(1);
        self.failed_at = Some(now);
        self.paused_until = Some(now + pause.mul_f64(0.5 + fastrand::f64() / 2.0));
        self.calling_since = None;
    }

    /// Whether the last that was seen of SSM is a failure of seconds ago, or a call that takes long.
    pub(super) fn is_down(&self) -> bool {
        self.failed_at.is_some_and(|at| at.elapsed() < DOWN_FOR)
            || self.calling_since.is_some_and(|since| since.elapsed() > SLOW)
    }

    fn reads_singly(&self) -> bool {
        self.singly_until.is_some_and(|until| until > Instant::now())
    }

    /// A name that was denied together with others was read by itself. True if there is something to be said about it.
    pub(super) fn read_singly_from_now(&mut self) -> bool {
        if self.reads_singly() {
            return false;
        }
        let now = Instant::now();
        self.singly_until = Some(now + SINGLY_FOR);
        let said = self.said_singly.is_some_and(|at| at + SINGLY_FOR > now);
        if !said {
            self.said_singly = Some(now);
        }
        !said
    }

    /// A call was denied, which is quick.
    pub(super) fn denied(&mut self) {
        self.calling_since = None;
    }

    /// A name was denied although it was read by itself: it may be the role that changed, so names are read together again.
    pub(super) fn denied_singly(&mut self) {
        (self.calling_since, self.singly_until) = (None, None);
    }
}
