mod collector_down;
mod one_trace;
mod payments;
mod sampling;

use tests::collector::Collector;
use tests::scripted::{Aws, QueueSpec, TableSpec};
use tests::service::{Kind, Launch};

pub(crate) const QUEUE: &str = "consumer-acme";
pub(crate) const TABLE: &str = "consumer-acme";

/// A caller's span whose trace is taken.
pub(crate) const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
pub(crate) const CALLER: &str = "00f067aa0ba902b7";
pub(crate) const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// An AWS with the tenant `acme`.
pub(crate) fn acme() -> Aws {
    let aws = Aws::start();
    let queue = aws.create_queue(QueueSpec::named(QUEUE));
    let table = aws.create_table(TableSpec::named(TABLE));
    aws.set_parameter("/acme/consumer_sqs", &queue);
    aws.set_parameter("/acme/consumer_ddb", &table);
    aws
}

/// A service of `acme` that exports to the collector every 50 ms.
pub(crate) fn traced(kind: Kind, aws: &Aws, collector: &Collector) -> Launch {
    Launch::new(kind, aws, "acme")
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
        .set("OTEL_BSP_SCHEDULE_DELAY", "50")
        .set("SHUTDOWN_TIMEOUT", "6s")
}
