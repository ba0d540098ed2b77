//! What the publisher counts. Handles are made once: a send looks nothing up.

use metrics::{Counter, Histogram, counter, histogram};

use crate::aws::Fault;

#[derive(Debug)]
pub(super) struct Facts {
    /// Messages in a call.
    pub(super) entries: Histogram,
    /// Calls that were answered.
    pub(super) calls_ok: Counter,
    /// Messages sent again.
    pub(super) retries: Counter,
    /// Messages turned away because their lane was full.
    pub(super) shed: Counter,
}

impl Facts {
    pub(super) fn new() -> Self {
        Self {
            entries: histogram!("publisher_batch_entries"),
            calls_ok: counter!("publisher_calls_total", "result" => "ok"),
            retries: counter!("publisher_retries_total"),
            shed: counter!("publisher_shed_total"),
        }
    }

    pub(super) fn call_failed(&self, fault: Fault) {
        counter!("publisher_calls_total", "result" => fault.as_str()).increment(1);
    }
}
