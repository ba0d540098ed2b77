//! The bounds of draining, made to fit each other.

use std::time::Duration;

use tenancy::aws::RECEIVE_WAIT;

use crate::drain::seam::Ask;

/// The most messages of a receive.
const RECEIVE_MOST: usize = 10;

/// How much longer than its wait a receive may take before the connection counts as dead.
const RECEIVE_MARGIN: Duration = Duration::from_secs(5);

/// How long a call that answers at once may take. After that the connection counts as dead.
const CALL_LIMIT: Duration = Duration::from_secs(4);

/// The most time that is kept for handing back at the end of a stop.
const HANDING_BACK: Duration = Duration::from_secs(2);

/// The pause between polls when the queue does not wait, because it is not asked to or does not do as it is asked.
const IDLE_PAUSE: Duration = Duration::from_millis(500);

/// What the settings come to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// At most so many receives at a time.
    pub(crate) pollers: usize,
    /// At most so many messages that are received and not deleted.
    pub(crate) messages: usize,
    /// At most so many bytes of them that are not written.
    pub(crate) bytes: usize,
    /// What each receive asks for.
    pub(crate) ask: Ask,
    /// How long a receive may take.
    pub(crate) receive: Duration,
    /// The pause after a receive that was empty at once.
    pub(crate) idle_pause: Duration,
    /// How long another call may take, at its first try.
    pub(crate) call: Duration,
    /// How often messages in hand are looked through for those that become visible soon.
    pub(crate) look: Duration,
    /// What is kept of the time to stop for handing back.
    pub(crate) handing_back: Duration,
    /// Tenants that have a series of their own where records are counted by tenant.
    pub(crate) metrics_tenants: usize,
}

impl Limits {
    /// From the settings: pollers, messages and bytes in flight, visibility timeout, time to stop. No tenant has metrics of
    /// its own.
    pub(crate) fn new(pollers: usize, messages: usize, bytes: usize, visibility: Duration, shutdown: Duration) -> Self {
        let handing_back = HANDING_BACK.min(shutdown / 5);
        // A stop lets the open poll end, writes and deletes what it brought, and hands back the rest.
        let finishing = Duration::from_secs(1).min(shutdown / 5);
        let wait = RECEIVE_WAIT.min(shutdown.saturating_sub(handing_back * 2 + finishing));
        let wait = Duration::from_secs(wait.as_secs());
        Self {
            pollers,
            messages,
            bytes,
            ask: Ask { most: RECEIVE_MOST.min(messages), wait, visibility },
            receive: wait + RECEIVE_MARGIN,
            idle_pause: IDLE_PAUSE.min(shutdown / 4),
            call: CALL_LIMIT.min(visibility / 2),
            look: (visibility / 8).min(Duration::from_secs(5)),
            handing_back,
            metrics_tenants: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(visibility: u64, shutdown_millis: u64) -> Limits {
        Limits::new(8, 1_000, 1_000_000, Duration::from_secs(visibility), Duration::from_millis(shutdown_millis))
    }

    #[test]
    fn by_default_a_poll_waits_20_seconds_and_may_take_25() {
        let limits = limits(30, 30_000);
        assert_eq!((limits.ask.wait, limits.receive), (Duration::from_secs(20), Duration::from_secs(25)));
        assert_eq!((limits.ask.most, limits.ask.visibility), (10, Duration::from_secs(30)));
        assert_eq!(limits.call, Duration::from_secs(4));
    }

    #[test]
    fn the_open_poll_fits_into_a_short_time_to_stop() {
        for (shutdown, wait) in [(60_000, 20), (20_000, 15), (10_000, 5), (5_000, 2), (3_000, 1), (1_000, 0), (100, 0)]
        {
            let limits = limits(30, shutdown);
            assert_eq!(limits.ask.wait, Duration::from_secs(wait), "{shutdown}");
        }
    }

    #[test]
    fn calls_fit_into_a_short_visibility_timeout() {
        let limits = limits(1, 30_000);
        assert_eq!((limits.call, limits.look), (Duration::from_millis(500), Duration::from_millis(125)));
    }

    #[test]
    fn a_receive_asks_for_no_more_than_may_be_in_flight() {
        assert_eq!(Limits::new(1, 3, 1, Duration::from_secs(1), Duration::from_secs(30)).ask.most, 3);
    }
}
