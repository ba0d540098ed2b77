//! What came of a load.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The longest latency that is told apart, in microseconds.
const LONGEST: u64 = 120_000_000;

/// Answers by latency.
#[derive(Debug, Clone)]
pub(crate) struct Latencies(Option<Histogram<u64>>);

impl Latencies {
    pub(crate) fn new() -> Self {
        // Three digits, from a microsecond to two minutes: the bounds are fixed and legal.
        Self(Histogram::new_with_bounds(1, LONGEST, 3).ok())
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        self.record_micros(u64::try_from(latency.as_micros()).unwrap_or(LONGEST));
    }

    pub(crate) fn record_micros(&mut self, micros: u64) {
        if let Some(histogram) = &mut self.0 {
            histogram.saturating_record(micros.max(1));
        }
    }

    /// The latency in milliseconds that `share` of the answers did not exceed.
    pub(crate) fn at(&self, share: f64) -> f64 {
        self.0.as_ref().map_or(0.0, |histogram| histogram.value_at_quantile(share) as f64 / 1_000.0)
    }

    pub(crate) fn quantiles(&self) -> Quantiles {
        let max = self.0.as_ref().map_or(0.0, |histogram| histogram.max() as f64 / 1_000.0);
        Quantiles { p50: self.at(0.5), p99: self.at(0.99), p999: self.at(0.999), max }
    }
}

/// Latencies in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quantiles {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

/// What came of a load.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// From the first request to the last answer.
    pub(crate) took: Duration,
    /// Answers by status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Requests without an answer: the connection ended, or patience did.
    pub(crate) lost: u64,
    /// Of all answers, whatever their status.
    pub(crate) latencies: Latencies,
    /// The ids in the answers, and when each request was due, in microseconds since 1970.
    pub(crate) ids: Vec<(String, u64)>,
}

impl Outcome {
    /// Answers with status 200.
    pub(crate) fn ok(&self) -> u64 {
        self.statuses.get(&200).copied().unwrap_or_default()
    }

    /// Answers with another status, and requests without any.
    pub(crate) fn failed(&self) -> u64 {
        self.statuses.values().sum::<u64>() - self.ok() + self.lost
    }

    /// Answers with status 200 a second.
    pub(crate) fn per_second(&self) -> f64 {
        self.ok() as f64 / self.took.as_secs_f64().max(1e-6)
    }

    /// What the command prints.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "per_second": self.per_second().round(),
            "seconds": self.took.as_secs_f64(),
            "statuses": self.statuses,
            "failed": self.failed(),
            "milliseconds": self.latencies.quantiles(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_latencies_that_were_recorded() {
        let mut latencies = Latencies::new();
        for micros in 1..=1_000 {
            latencies.record(Duration::from_micros(micros * 1_000));
        }
        let near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 0.002;
        let Quantiles { p50, p99, p999, max } = latencies.quantiles();
        assert!(near(p50, 500.0) && near(p99, 990.0) && near(p999, 999.0) && near(max, 1000.0), "{p50} {p99} {p999}");
    }

    #[test]
    fn a_latency_beyond_the_scale_counts_as_the_longest() {
        let mut latencies = Latencies::new();
        latencies.record(Duration::from_secs(3_600));
        assert!((latencies.at(0.5) / 120_000.0 - 1.0).abs() < 0.002);
    }

    #[test]
    fn the_rate_counts_what_was_answered_with_200() {
        let statuses = BTreeMap::from([(200, 500), (503, 20)]);
        let outcome = Outcome {
            took: Duration::from_millis(250),
            statuses,
            lost: 3,
            latencies: Latencies::new(),
            ids: Vec::new(),
        };
        assert_eq!((outcome.per_second(), outcome.failed()), (2_000.0, 23));
    }
}
