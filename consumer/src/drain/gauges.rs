//! What draining shows to whoever scrapes: read when asked, so that receives keep no gauges.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use metrics::{Gauge, gauge};

use crate::drain::budget::Budget;
use crate::drain::pace::{Downstream, Pace};

/// No message, or none that says when it was sent.
const NONE: i64 = i64::MAX;

/// The gauges and where their values are.
#[derive(Debug)]
pub(crate) struct Gauges {
    /// When SQS took the oldest message of the last receive, in milliseconds since 1970.
    oldest_sent_at: AtomicI64,
    /// Something is in hand.
    busy: Arc<AtomicBool>,
    budget: Arc<Budget>,
    pace: Arc<Pace>,
    in_flight: Gauge,
    awake: Gauge,
    oldest: Gauge,
    paused: [(Downstream, Gauge); 2],
}

impl Gauges {
    pub(crate) fn new(budget: Arc<Budget>, pace: Arc<Pace>, busy: Arc<AtomicBool>) -> Self {
        let paused = |what: Downstream| (what, gauge!("consumer_receiving_paused", "because" => what.as_str()));
        Self {
            oldest_sent_at: AtomicI64::new(NONE),
            busy,
            budget,
            pace,
            in_flight: gauge!("consumer_messages_in_flight"),
            awake: gauge!("consumer_pollers_awake"),
            oldest: gauge!("consumer_oldest_message_age_seconds"),
            paused: [paused(Downstream::Writes), paused(Downstream::Deletes)],
        }
    }

    /// A receive brought messages, the oldest of them from then.
    pub(crate) fn received(&self, oldest_sent_at: Option<i64>) {
        self.oldest_sent_at.store(oldest_sent_at.unwrap_or(NONE), Ordering::Relaxed);
    }

    /// Sets the gauges.
    pub(crate) fn sample(&self) {
        self.in_flight.set(self.budget.messages() as f64);
        self.awake.set(self.pace.polling() as f64);
        // While the table is down nothing is received, and what is in hand goes on ageing.
        let oldest = self.oldest_sent_at.load(Ordering::Relaxed);
        let in_hand = self.busy.load(Ordering::Relaxed) && oldest != NONE;
        self.oldest.set(if in_hand { age(oldest, now()) } else { 0.0 });
        for (what, gauge) in &self.paused {
            gauge.set(if self.pace.is_down(*what) { 1.0 } else { 0.0 });
        }
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Seconds from a time in milliseconds since 1970 until `now`; clocks differ, so never less than 0.
pub(crate) fn age(sent_at: i64, now: f64) -> f64 {
    (now - sent_at as f64 / 1_000.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_from_the_future_has_no_age() {
        assert_eq!(age(1_796_052_000_500, 1_796_052_002.0), 1.5);
        assert_eq!(age(1_796_052_003_000, 1_796_052_002.0), 0.0);
    }
}
