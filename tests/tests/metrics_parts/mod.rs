mod document;
mod scrape;
mod values;

use tenancy::telemetry::metric::Metric;
use tenancy::telemetry::{process, table};
use tests::scripted::{Aws, QueueSpec, TableSpec};
use tests::service::Kind;

pub(crate) const QUEUE: &str = "consumer-acme";
pub(crate) const DEAD: &str = "consumer-acme-dlq";
pub(crate) const TABLE: &str = "consumer-acme";

/// The tables of a service.
pub(crate) fn tables(of: Kind) -> Vec<&'static [Metric]> {
    let own: &[&[Metric]] = match of {
        Kind::Producer => &[table::PUBLISHER],
        Kind::Consumer => &[consumer::METRICS],
        Kind::Payments => &[table::PUBLISHER, payments::METRICS],
    };
    [&[table::COMMON, process::METRICS], own].concat()
}

/// An AWS with the tenant `acme`.
pub(crate) fn acme() -> Aws {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named(DEAD));
    let queue = aws.create_queue(QueueSpec::named(QUEUE).redrive(DEAD, 10));
    let table = aws.create_table(TableSpec::named(TABLE));
    aws.set_parameter("/acme/consumer_sqs", &queue);
    aws.set_parameter("/acme/consumer_ddb", &table);
    aws
}
