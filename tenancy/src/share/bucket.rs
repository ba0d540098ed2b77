//! A token bucket in one number: the time at which it will be full again.
//!
//! Tokens come back as time passes, so what is missing from a full bucket is a span of time, and taking some moves its end.
//! One atomic number, no lock, nothing to refill. A bucket may go into debt: what is taken at once may be more than it holds,
//! as long as it holds something; then nothing is given until the debt is paid. So a request larger than the burst passes, and
//! the rate holds all the same.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const NANOS: u128 = 1_000_000_000;

/// How fast tokens come back, and how much time's worth of them a bucket holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    per_second: NonZeroU64,
    /// In nanoseconds.
    burst: u64,
}

/// A moment, in nanoseconds since the process began to count.
pub(super) type Moment = u64;

impl Rate {
    pub(super) fn new(per_second: NonZeroU64, burst: Duration) -> Self {
        Self { per_second, burst: u64::try_from(burst.as_nanos()).unwrap_or(u64::MAX) }
    }

    /// How many tokens a full bucket holds.
    pub(super) fn most(self) -> u64 {
        self.tokens(self.burst)
    }

    /// In how long this many tokens come back, in nanoseconds.
    fn time(self, tokens: u64) -> u64 {
        let time = (u128::from(tokens) * NANOS).div_ceil(u128::from(self.per_second.get()));
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// How long until there is a token in a bucket that is full again at `full_at`, if there is none.
    fn wait(self, full_at: Moment, now: Moment) -> Option<Duration> {
        let limit = now.saturating_add(self.burst);
        let one_more = self.full_after(full_at, 1, now);
        (one_more > limit).then(|| Duration::from_nanos(one_more - limit))
    }

    /// When such a bucket is full again once so many tokens are taken from it.
    fn full_after(self, full_at: Moment, tokens: u64, now: Moment) -> Moment {
        full_at.max(now).saturating_add(self.time(tokens))
    }

    /// How many whole tokens come back in a time.
    fn tokens(self, time: u64) -> u64 {
        u64::try_from(u128::from(time) * u128::from(self.per_second.get()) / NANOS).unwrap_or(u64::MAX)
    }
}

/// A bucket; full at the start.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    full_at: AtomicU64,
}

impl Bucket {
    /// Takes some tokens, if there is at least one; else says how long until there is.
    pub(super) fn take(&self, rate: Rate, tokens: u64, now: Moment) -> Result<(), Duration> {
        let mut before = self.full_at.load(Ordering::Relaxed);
        loop {
            if let Some(wait) = rate.wait(before, now) {
                return Err(wait);
            }
            let after = rate.full_after(before, tokens, now);
            match self.full_at.compare_exchange_weak(before, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(other) => before = other,
            }
        }
    }

    /// How long until there is a token, if there is none.
    pub(super) fn wait(&self, rate: Rate, now: Moment) -> Option<Duration> {
        rate.wait(self.full_at.load(Ordering::Relaxed), now)
    }

    /// Takes tokens whether there are any or not: what is missing is owed.
    pub(super) fn owe(&self, rate: Rate, tokens: u64, now: Moment) {
        let after = |before: Moment| rate.full_after(before, tokens, now);
        let _ = self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| Some(after(before)));
    }

    /// Puts tokens back that were taken for nothing.
    pub(super) fn give_back(&self, rate: Rate, tokens: u64) {
        let after = |before: u64| before.saturating_sub(rate.time(tokens));
        let _ = self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| Some(after(before)));
    }

    /// Tokens that are left, and the time until it is full.
    pub(super) fn state(&self, rate: Rate, now: Moment) -> (u64, Duration) {
        let missing = self.full_at.load(Ordering::Relaxed).saturating_sub(now);
        (rate.tokens(rate.burst.saturating_sub(missing)), Duration::from_nanos(missing))
    }

    /// Whether it is as a new one would be.
    pub(super) fn is_full(&self, now: Moment) -> bool {
        self.full_at.load(Ordering::Relaxed) <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    fn rate(per_second: u64, burst: u64) -> Rate {
        Rate::new(NonZeroU64::new(per_second).unwrap(), Duration::from_secs(burst))
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let (bucket, rate) = (Bucket::default(), rate(10, 2));
        let passed = |now: u64| (0..1_000).filter(|_| bucket.take(rate, 1, now).is_ok()).count();
        assert_eq!([passed(SECOND), passed(SECOND), passed(2 * SECOND), passed(100 * SECOND)], [20, 0, 10, 20]);
        assert_eq!(bucket.take(rate, 1, 100 * SECOND), Err(Duration::from_millis(100)));
    }

    #[test]
    fn what_is_more_than_the_burst_passes_once_and_is_paid_back() {
        let (bucket, rate) = (Bucket::default(), rate(100, 2));
        assert_eq!(bucket.state(rate, 0), (200, Duration::ZERO));
        assert_eq!(bucket.take(rate, 1_000, 0), Ok(()));
        assert_eq!(bucket.state(rate, 0), (0, Duration::from_secs(10)));
        assert_eq!(bucket.take(rate, 1, 0), Err(Duration::from_millis(8_010)));
        assert_eq!(bucket.take(rate, 1, 8 * SECOND), Err(Duration::from_millis(10)));
        assert_eq!(bucket.take(rate, 1, 8 * SECOND + SECOND / 100), Ok(()));
    }

    #[test]
    fn what_is_owed_is_waited_for_and_what_is_given_back_is_not() {
        let (bucket, rate) = (Bucket::default(), rate(10, 1));
        assert_eq!(bucket.wait(rate, 0), None);
        bucket.owe(rate, 30, 0);
        assert_eq!(bucket.wait(rate, 0), Some(Duration::from_millis(2_100)));
        bucket.give_back(rate, 21);
        assert_eq!((bucket.wait(rate, 0), bucket.state(rate, 0).0), (None, 1));
        bucket.give_back(rate, 100);
        assert_eq!(bucket.state(rate, 0), (10, Duration::ZERO), "never more than it holds");
    }

    proptest! {
        #[test]
        fn over_any_time_no_more_passes_than_burst_rate_and_one_debt(
            per_second in 1u64..10_000,
            burst in 1u64..5,
            steps in proptest::collection::vec((0u64..SECOND, 1u64..500), 1..200),
        ) {
            let (bucket, rate) = (Bucket::default(), rate(per_second, burst));
            let (mut now, mut passed, mut largest) = (0, 0, 0);
            for (pause, tokens) in steps {
                now += pause;
                if bucket.take(rate, tokens, now).is_ok() {
                    passed += tokens;
                    largest = largest.max(tokens);
                }
                let allowed = rate.most() + rate.tokens(now) + 1 + largest;
                prop_assert!(passed <= allowed, "{passed} of {allowed} after {now} ns");
            }
        }

        #[test]
        fn who_comes_back_when_told_is_let_in(per_second in 1u64..1_000_000, tokens in 1u64..100_000) {
            let (bucket, rate) = (Bucket::default(), rate(per_second, 1));
            prop_assert_eq!(bucket.take(rate, tokens, 7), Ok(()));
            if let Err(wait) = bucket.take(rate, 1, 7) {
                let told = 7 + u64::try_from(wait.as_nanos()).unwrap();
                prop_assert!(bucket.take(rate, 1, told - 1).is_err());
                prop_assert_eq!(bucket.take(rate, 1, told), Ok(()));
            }
        }
    }
}
