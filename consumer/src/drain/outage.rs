//! Telling an outage from a failed call, and keeping receives back while it lasts.
//!
//! One call that fails is tried again and nothing else happens. Several in a row without a success between them, or one whose
//! fault does not pass by itself, mean that what is received now could not be finished: receiving pauses until a try
//! succeeds, so that the receive counts of good messages do not rise. It pauses only while somebody is trying.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenancy::aws::Fault;

use crate::drain::pace::{Downstream, Pace};
use crate::drain::seam::Failure;
use crate::events;

/// So many failed tries in a row are an outage.
const AN_OUTAGE: u32 = 3;

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
    trying: usize,
    down: bool,
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
        state.failures = 0;
        self.outage.settle(&mut state);
    }

    /// A try did nothing, and another one follows.
    pub(crate) fn failed(&mut self, failure: &Failure) {
        let mut state = self.outage.lock();
        if !self.counted {
            self.counted = true;
            state.trying += 1;
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
    use std::time::Duration;

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
        trial.failed(&failure(Fault::Throttled));
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
    fn receiving_goes_on_when_nobody_tries_any_more() {
        let (pace, outage) = outage();
        let mut trial = outage.trial();
        trial.failed(&failure(Fault::Denied));
        assert!(!pace.may_receive());
        drop(trial);
        assert!(pace.may_receive());
    }
}
