//! When a batch goes out.
//!
//! A full one goes at once. A partial one goes when no call is in flight, or the last one started about a round trip ago, so
//! that one stuck call does not hold up what came after it. Alone, an entry goes out at once: no timer makes it wait.
//! Only while more is known to be about to arrive does a partial batch wait for it, and then only for the hold.

use std::time::Duration;

use tokio::time::Instant;

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// A batch goes out.
    Now,
    /// A batch goes out then, unless a call returns or more arrives before.
    At(Instant),
    /// There is nothing to send.
    Nothing,
}

/// What a kind of call has done lately, and what follows for the next one.
#[derive(Debug)]
pub(crate) struct Gather {
    hold: Duration,
    in_flight: usize,
    last_launch: Option<Instant>,
    round_trip: Duration,
    closing: bool,
}

impl Gather {
    /// Partial batches wait for at most `hold` for what is about to arrive.
    pub(crate) const fn new(hold: Duration) -> Self {
        Self { hold, in_flight: 0, last_launch: None, round_trip: Duration::from_millis(5), closing: false }
    }

    /// What to do when the entries that wait make a full batch or not, the oldest of them since `oldest`.
    pub(crate) fn due(&self, oldest: Option<Instant>, full: bool, more_to_come: bool, now: Instant) -> Due {
        let Some(oldest) = oldest else { return Due::Nothing };
        if full || self.closing {
            return Due::Now;
        }
        let mut at = now;
        if let Some(last) = self.last_launch.filter(|_| self.in_flight > 0) {
            at = at.max(last + self.round_trip);
        }
        if more_to_come {
            at = at.max(oldest + self.hold);
        }
        if at <= now { Due::Now } else { Due::At(at) }
    }

    /// A call starts.
    pub(crate) fn launched(&mut self, now: Instant) {
        self.in_flight += 1;
        self.last_launch = Some(now);
    }

    /// A call is over, its tries included.
    pub(crate) fn landed(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// One try was answered after `took`.
    pub(crate) fn answered(&mut self, took: Duration) {
        self.round_trip = (self.round_trip * 7 + took) / 8;
    }

    /// From now on everything goes at once.
    pub(crate) fn close(&mut self) {
        self.closing = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_millis(5);

    fn with_round_trip(millis: u64) -> Gather {
        let mut gather = Gather::new(HOLD);
        (0..200).for_each(|_| gather.answered(Duration::from_millis(millis)));
        gather
    }

    fn millis(duration: Duration) -> u128 {
        (duration + Duration::from_micros(500)).as_millis()
    }

    #[test]
    fn alone_an_entry_goes_at_once() {
        let now = Instant::now();
        assert_eq!(Gather::new(HOLD).due(Some(now), false, false, now), Due::Now);
        assert_eq!(Gather::new(HOLD).due(None, false, false, now), Due::Nothing);
    }

    #[test]
    fn while_a_call_is_in_flight_entries_gather_for_about_a_round_trip() {
        let start = Instant::now();
        let mut gather = with_round_trip(20);
        gather.launched(start);
        let now = start + Duration::from_millis(3);
        let Due::At(at) = gather.due(Some(now), false, false, now) else { panic!("it waits") };
        assert_eq!(millis(at.duration_since(start)), 20);
        assert_eq!(gather.due(Some(now), false, false, at), Due::Now, "a stuck call does not hold up the others");
        gather.landed();
        assert_eq!(gather.due(Some(now), false, false, now), Due::Now);
    }

    #[test]
    fn a_full_batch_goes_whatever_is_in_flight() {
        let now = Instant::now();
        let mut gather = with_round_trip(20);
        (0..50).for_each(|_| gather.launched(now));
        assert_eq!(gather.due(Some(now), true, true, now), Due::Now);
    }

    #[test]
    fn a_partial_batch_waits_for_what_is_about_to_arrive_but_not_long() {
        let now = Instant::now();
        let gather = Gather::new(HOLD);
        assert_eq!(gather.due(Some(now), false, true, now), Due::At(now + HOLD));
        assert_eq!(gather.due(Some(now), false, true, now + HOLD), Due::Now);
    }

    #[test]
    fn when_closing_nothing_waits() {
        let now = Instant::now();
        let mut gather = with_round_trip(20);
        gather.launched(now);
        gather.close();
        assert_eq!(gather.due(Some(now), false, true, now), Due::Now);
    }
}
