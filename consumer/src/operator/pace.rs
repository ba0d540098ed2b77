//! The rate that a person allows: so many a second on average, and nothing saved up.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::operator::pause;

/// The fastest: what a queue or a table takes from one process without anybody noticing is far below.
const FASTEST: f64 = 10_000.0;

/// How many a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate(f64);

/// A text that is no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a rate is a whole number from 1 to 10000 with /s or /m, such as 10/s or 30/m; a bare number is per second")]
pub(crate) struct RateError;

impl Rate {
    /// As a number, at least 1/60.
    pub(crate) fn per_second(self) -> f64 {
        self.0
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, seconds) = match text.split_once('/') {
            None | Some((_, "s")) => (text.trim_end_matches("/s"), 1.0),
            Some((number, "m")) => (number, 60.0),
            Some(_) => return Err(RateError),
        };
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.parse().ok().filter(|number| digits && (1.0..=FASTEST).contains(number));
        number.map(|number: f64| Self(number / seconds)).ok_or(RateError)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1.0 { write!(f, "{}/m", (self.0 * 60.0).round()) } else { write!(f, "{}/s", self.0.round()) }
    }
}

/// Keeps to a rate: what was done has to be paid for by waiting before more is done.
#[derive(Debug)]
pub(crate) struct Pacer {
    rate: Rate,
    due: Instant,
}

impl Pacer {
    /// The first may be done at once.
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, due: Instant::now() }
    }

    /// Waits until more may be done. Whether a signal came meanwhile, or had come.
    pub(crate) async fn wait(&self, stopping: &CancellationToken) -> bool {
        pause(self.due.saturating_duration_since(Instant::now()), stopping).await
    }

    /// So much was done.
    pub(crate) fn did(&mut self, units: f64) {
        let time = Duration::from_secs_f64(units.max(0.0) / self.rate.per_second());
        self.due = self.due.max(Instant::now()) + time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_per_second_or_minute() {
        for (text, per_second) in
            [("10/s", 10.0), ("10", 10.0), ("30/m", 0.5), ("10000", 10_000.0), ("1/m", 1.0 / 60.0)]
        {
            assert_eq!(text.parse(), Ok(Rate(per_second)), "{text}");
        }
        for bad in ["", "0", "-1", "1.5", "10/h", "/s", "10/", "10001", "1e3", "inf", "NaN", " 5", "10/s/s", "+5"] {
            assert_eq!(bad.parse::<Rate>(), Err(RateError), "{bad:?}");
        }
        assert_eq!((Rate(10.0).to_string(), Rate(0.5).to_string()), ("10/s".to_owned(), "30/m".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_done_is_paid_for_before_more_is_done() {
        let stopping = CancellationToken::new();
        let start = Instant::now();
        let mut pacer = Pacer::new(Rate(10.0));
        for _ in 0..5 {
            assert!(!pacer.wait(&stopping).await);
            pacer.did(4.0);
        }
        assert_eq!((start.elapsed().as_secs_f64() * 10.0).round(), 16.0, "20 at 10/s, the last four unpaid");
        // A pause of another kind saves nothing up.
        tokio::time::sleep(Duration::from_secs(60)).await;
        let start = Instant::now();
        pacer.did(10.0);
        assert!(!pacer.wait(&stopping).await);
        assert_eq!(start.elapsed().as_secs(), 1);
        stopping.cancel();
        assert!(pacer.wait(&stopping).await);
    }
}
