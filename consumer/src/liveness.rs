//! Whether draining is alive: a poll has ended not too long ago, whatever came of it.
//!
//! While nobody polls, because writes fail and receives are held back, ended tries to write count instead: an outage of the
//! table is no reason to start the process anew.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The longest time without a sign of life: longer than the longest pause after a failed poll and a silent one together, twice.
pub(crate) const TOO_LONG: Duration = Duration::from_secs(90);

/// Read by the liveness probe. It does no I/O.
#[derive(Debug)]
pub(crate) struct Liveness {
    too_long: Duration,
    created: Instant,
    /// Milliseconds since `created`, plus one; 0 before the first poll.
    last_sign: AtomicU64,
    polling: AtomicUsize,
    stopped: AtomicBool,
}

impl Liveness {
    /// Nothing has been polled; without a sign of life for longer than `too_long` after the first, it will not count as alive.
    pub(crate) fn new(too_long: Duration) -> Self {
        Self {
            too_long,
            created: Instant::now(),
            last_sign: AtomicU64::new(0),
            polling: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    fn sign(&self) {
        let since = u64::try_from(self.created.elapsed().as_millis()).unwrap_or(u64::MAX - 1);
        self.last_sign.fetch_max(since + 1, Ordering::Relaxed);
    }

    /// A poll starts, or the lookup of the queue before it. The first one starts the watch: until then the parameters are not known. It has ended, with messages,
    /// without, or with an error, when the guard is dropped.
    pub(crate) fn poll(&self) -> Poll<'_> {
        self.polling.fetch_add(1, Ordering::Relaxed);
        if self.last_sign.load(Ordering::Relaxed) == 0 {
            self.sign();
        }
        Poll(self)
    }

    /// A write or delete was answered, or failed.
    pub(crate) fn try_ended(&self) {
        if self.polling.load(Ordering::Relaxed) == 0 && self.last_sign.load(Ordering::Relaxed) != 0 {
            self.sign();
        }
    }

    /// Draining stops; there is nothing to watch any more.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// What the probe asks.
    pub(crate) fn is_alive(&self) -> bool {
        let last = self.last_sign.load(Ordering::Relaxed);
        if last == 0 || self.stopped.load(Ordering::Relaxed) {
            return true;
        }
        let last = self.created + Duration::from_millis(last - 1);
        last.elapsed() <= self.too_long
    }
}

/// A poll that is open.
#[derive(Debug)]
pub(crate) struct Poll<'a>(&'a Liveness);

impl Drop for Poll<'_> {
    fn drop(&mut self) {
        self.0.polling.fetch_sub(1, Ordering::Relaxed);
        self.0.sign();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep;

    #[tokio::test(start_paused = true)]
    async fn before_the_first_poll_it_is_alive_however_long_that_takes() {
        let liveness = Liveness::new(TOO_LONG);
        sleep(Duration::from_secs(1_000)).await;
        liveness.try_ended();
        assert!(liveness.is_alive());
    }

    #[tokio::test(start_paused = true)]
    async fn a_poll_that_does_not_end_is_noticed_and_one_that_ends_is_enough() {
        let liveness = Liveness::new(TOO_LONG);
        sleep(Duration::from_secs(50)).await;
        let poll = liveness.poll();
        sleep(Duration::from_secs(90)).await;
        assert!(liveness.is_alive());
        sleep(Duration::from_secs(1)).await;
        assert!(!liveness.is_alive());
        liveness.try_ended();
        assert!(!liveness.is_alive(), "writes do not speak for a poll that is stuck");
        drop(poll);
        assert!(liveness.is_alive());
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_queue_is_alive() {
        let liveness = Liveness::new(TOO_LONG);
        for _ in 0..30 {
            let poll = liveness.poll();
            sleep(Duration::from_secs(20)).await;
            drop(poll);
            assert!(liveness.is_alive());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn while_receives_are_held_back_tries_to_write_count() {
        let liveness = Liveness::new(TOO_LONG);
        drop(liveness.poll());
        for _ in 0..60 {
            sleep(Duration::from_secs(10)).await;
            liveness.try_ended();
        }
        assert!(liveness.is_alive());
        sleep(Duration::from_secs(91)).await;
        assert!(!liveness.is_alive());
        liveness.stop();
        assert!(liveness.is_alive());
    }
}
