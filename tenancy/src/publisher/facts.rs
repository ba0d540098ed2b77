//! What the publisher counts, beside its calls, which are counted with all others. Handles are made once: a send looks nothing up.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use crate::telemetry::tenants::ByTenant;
use crate::telemetry::{metric, table};

#[derive(Debug)]
pub(super) struct Facts {
    /// Messages in a call.
    pub(super) entries: Histogram,
    /// Messages that SQS has, by tenant.
    pub(super) sent: ByTenant,
    /// Messages sent again.
    pub(super) retries: Counter,
    /// Messages turned away because their lane was full.
    pub(super) shed: Counter,
    lanes: Gauge,
    messages: Gauge,
    deepest: Gauge,
}

impl Facts {
    pub(super) fn new(metrics_tenants: usize) -> Self {
        metric::describe(table::PUBLISHER);
        Self {
            entries: histogram!("publisher_batch_entries"),
            sent: ByTenant::new("publisher_tenant_messages_total", metrics_tenants),
            retries: counter!("publisher_retries_total"),
            shed: counter!("publisher_shed_total"),
            lanes: gauge!("publisher_lanes"),
            messages: gauge!("publisher_lane_messages"),
            deepest: gauge!("publisher_deepest_lane_messages"),
        }
    }

    /// How many lanes there are, and the messages in all of them and in the fullest.
    pub(super) fn depth(&self, lanes: usize, messages: usize, deepest: usize) {
        self.lanes.set(lanes as f64);
        self.messages.set(messages as f64);
        self.deepest.set(deepest as f64);
    }
}
