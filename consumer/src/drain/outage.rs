//! Telling an outage from a failed call, and keeping receives back while it lasts.
//!
//! One call that fails is tried again and nothing else happens. Several in a row without a success between them, or one whose
//! fault does not pass by itself, mean that what is received now could not be finished: receiving pauses until a try
//! succeeds, so that the receive counts of good messages do not rise. It pauses only while somebody is trying.
//!
//! A table that says that it has no room is not down: it answers, and it counts by partition, so that a tenant who writes too much
//! has no room while others have. Then receiving goes on with one poller, as far as more may be in hand.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenancy::aws::Fault;
use tokio::time::Instant;

use crate::drain::pace::{Downstream, Pace};
use crate::drain::seam::Failure;
use crate::events;

/// So many failed tries in a row are an outage.
const AN_OUTAGE: u32 = 3;

/// That the table has no room for some is logged at most so often.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// Whether a kind of call works.
#[derive(Debug)]
pub(crate) struct Outage {
    what: Downstream,
    pace: Arc<Pace>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// Of the tries in a row that failed, those for want of room.
    without_room: u32,
    trying: usize,
    down: bool,
    crowded: bool,
    said: Option<Instant>,
}

impl Outage {
    pub(crate) fn new(what: Downstream, pace: Arc<Pace>) -> Self {
        Self { what, pace, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For one who makes calls until one succeeds.
    pub(crate) fn trial(&self) -> Trial<'_> {
        Trial { outage: self, counted: false }
    }

    fn settle(&self, state: &mut State) {
        let down = state.failures >= AN_OUTAGE && state.trying > 0;
        if down != state.down {
            state.down = down;
            self.pace.set_down(self.what, down);
            events::outage(self.what, down);
        }
        let crowded = state.without_room >= AN_OUTAGE && state.trying > 0;
        if crowded != state.crowded {
            state.crowded = crowded;
            self.pace.set_crowded(crowded);
            // Others' records go through in between, so it comes and goes.
            let now = Instant::now();
            if crowded && state.said.is_none_or(|said| now >= said + SAID_EVERY) {
                state.said = Some(now);
                events::crowded();
            }
        }
    }
}

/// Someone's tries. Dropped, they have ended.
#[derive(Debug)]
pub(crate) struct Trial<'a> {
    outage: &'a Outage,
    counted: bool,
}

impl Trial<'_> {
    /// A try did something.
    pub(crate) fn succeeded(&mut self) {
        let mut state = self.outage.lock();
        (state.failures, state.without_room) = (0, 0);
        self.outage.settle(&mut state);
    }

    /// A try did nothing, and another one follows.
    pub(crate) fn failed(&mut self, failure: &Failure) {
        let mut state = self.outage.lock();
        if !self.counted {
            self.counted = true;
            state.trying += 1;
        }
        if failure.fault == Fault::Throttled && self.outage.what == Downstream::Writes {
            // An answer, if not the one that was hoped for.
            (state.failures, state.without_room) = (0, state.without_room.saturating_add(1));
            self.outage.settle(&mut state);
            return;
        }
        let lasting = matches!(failure.fault, Fault::Gone | Fault::Denied | Fault::NoCredentials);
        state.failures = if lasting { AN_OUTAGE.max(state.failures) } else { state.failures.saturating_add(1) };
        self.outage.settle(&mut state);
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        if self.counted {
            let mut state = self.outage.lock();
            state.trying = state.trying.saturating_sub(1);
            self.outage.settle(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(fault: Fault) -> Failure {
        Failure { fault, code: None, text: "test".to_owned(), timed_out: false }
    }

    fn outage() -> (Arc<Pace>, Outage) {
        let pace = Arc::new(Pace::new(4, Duration::ZERO));
        (pace.clone(), Outage::new(Downstream::Writes, pace))
    }

    #[test]
    fn a_failed_call_or_two_are_no_outage() {
        let (pace, outage) = outage();
        let mut trial = outage.trial();
        trial.failed(&failure(Fault::Transient));
        trial.failed(&failure(Fault::Transient));
        assert!(pace.may_receive());
        trial.succeeded();
        trial.failed(&failure(Fault::Transient));
        assert!(pace.may_receive());
    }

    #[test]
    fn three_in_a_row_are_an_outage_until_one_succeeds() {
        let (pace, outage) = outage();
        let (mut one, mut other) = (outage.trial(), outage.trial());
        one.failed(&failure(Fault::Transient));
        other.failed(&failure(Fault::Transient));
        one.failed(&failure(Fault::Transient));
        assert!(!pace.may_receive());
        other.succeeded();
        assert!(pace.may_receive());
    }

    #[test]
    fn a_fault_that_does_not_pass_by_itself_is_an_outage_at_once() {
        for fault in [Fault::Gone, Fault::Denied, Fault::NoCredentials] {
            let (pace, outage) = outage();
            let mut trial = outage.trial();
            trial.failed(&failure(fault));
            assert!(!pace.may_receive(), "{fault:?}");
        }
    }

    #[test]
    fn a_table_without_room_for_some_is_not_down_but_deletes_that_are_throttled_are() {
        let (pace, outage) = outage();
        let mut trial = outage.trial();
        (0..10).for_each(|_| trial.failed(&failure(Fault::Throttled)));
        assert!(pace.may_receive());
        let deletes = Outage::new(Downstream::Deletes, pace.clone());
        let mut trial = deletes.trial();
        (0..10).for_each(|_| trial.failed(&failure(Fault::Throttled)));
        assert!(!pace.may_receive());
    }

    #[test]
    fn receiving_goes_on_when_nobody_tries_any_more() {
        let (pace, outage) = outage();
        let mut trial = outage.trial();
        trial.failed(&failure(Fault::Denied));
        assert!(!pace.may_receive());
        drop(trial);
        assert!(pace.may_receive());
    }
}
