//! Pauses between tries: exponential, with jitter.

use std::time::Duration;

/// A growing pause. Each asking makes the next one longer, up to a most; [`Backoff::reset`] starts over.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    first: Duration,
    most: Duration,
    tries: u32,
}

impl Backoff {
    /// Pauses from `first`, doubling, up to `most`.
    pub(crate) const fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, tries: 0 }
    }

    fn ceiling(&mut self) -> Duration {
        let ceiling = self.first.saturating_mul(1 << self.tries.min(20)).min(self.most);
        self.tries = self.tries.saturating_add(1);
        ceiling
    }

    /// Anything from nothing to the ceiling: for many that compete for the same table, so that they spread out.
    pub(crate) fn full_jitter(&mut self) -> Duration {
        self.ceiling().mul_f64(fastrand::f64())
    }

    /// From half the ceiling to the ceiling: for one that probes on behalf of many and must never hammer.
    pub(crate) fn half_jitter(&mut self) -> Duration {
        self.ceiling().mul_f64(0.5 + fastrand::f64() / 2.0)
    }

    /// As if nothing had failed.
    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_most() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(20));
        for ceiling in [1, 2, 4, 8, 16, 20, 20] {
            let pause = backoff.half_jitter();
            assert!(
                pause >= Duration::from_millis(ceiling * 500) && pause <= Duration::from_secs(ceiling),
                "{pause:?}"
            );
        }
        backoff.reset();
        assert!(backoff.full_jitter() <= Duration::from_secs(1));
    }

    #[test]
    fn many_tries_do_not_overflow() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(20));
        for _ in 0..100 {
            assert!(backoff.full_jitter() <= Duration::from_secs(20));
        }
        backoff.tries = u32::MAX;
        assert!(backoff.half_jitter() >= Duration::from_secs(10));
    }
}
