//! What the consumer counts besides what all services do.

use tenancy::telemetry::metric::{Metric, label};
use tenancy::telemetry::table::FAULTS;

use crate::depth::STATES;

/// Why a message cannot be stored.
const REASONS: &[&str] = &[
    "no_tenant",
    "malformed_tenant",
    "foreign_tenant",
    "no_id",
    "no_body",
    "too_large",
    "refused",
    "broken",
    "no_receipt_handle",
];

/// Why a write, or a part of one, is tried again.
const WRITE_RETRIES: &[&str] =
    &["unprocessed", "throttled", "transient", "gone", "denied", "no_credentials", "refused"];

/// Why a delete, or a part of one, is tried again or given up.
const DELETES: &[&str] = &["entries", "throttled", "transient", "gone", "denied", "no_credentials", "refused"];

/// The metrics of draining and of reading records.
pub const METRICS: &[Metric] = &[
    Metric::counter("consumer_messages_received_total", "messages", "Messages received, each time one is."),
    Metric::histogram(
        "consumer_receive_entries",
        "messages",
        "Messages that a receive brought; a long poll may bring none.",
    ),
    Metric::counter("consumer_receive_errors_total", "calls", "Receives that failed.").by(&[label("kind", FAULTS)]),
    Metric::counter("consumer_records_stored_total", "records", "Records confirmed by the table: the drain rate."),
    Metric::counter("consumer_tenant_records_stored_total", "records", "The same by tenant.").by(&[label("tenant_id", &[])]),
    Metric::histogram(
        "consumer_record_latency_seconds",
        "seconds",
        "From when SQS took a message until its record was in the table.",
    ),
    Metric::histogram("consumer_write_entries", "records", "Records in a write, when it begins."),
    Metric::counter("consumer_write_retries_total", "writes", "Writes that were tried again, wholly or in part.")
        .by(&[label("kind", WRITE_RETRIES)]),
    Metric::counter("consumer_records_unprocessed_total", "records", "Records that the table left over from a batch."),
    Metric::histogram("consumer_delete_entries", "messages", "Messages in a delete."),
    Metric::counter(
        "consumer_messages_deleted_total",
        "messages",
        "Messages deleted after their record was confirmed.",
    ),
    Metric::counter("consumer_delete_retries_total", "deletes", "Deletes that were tried again, wholly or in part.")
        .by(&[label("kind", DELETES)]),
    Metric::counter(
        "consumer_delete_errors_total",
        "messages",
        "Messages that are stored and could not be deleted: they come again.",
    )
    .by(&[label("kind", DELETES)]),
    Metric::counter(
        "consumer_messages_poison_total",
        "messages",
        "Messages that cannot be stored, each time one is received; they are left to the redrive policy.",
    )
    .by(&[label("reason", REASONS)]),
    Metric::counter(
        "consumer_messages_extended_total",
        "messages",
        "Messages that stayed hidden for longer, since they were in hand.",
    ),
    Metric::counter("consumer_visibility_errors_total", "messages", "Messages whose visibility could not be changed."),
    Metric::counter(
        "consumer_messages_handed_back_total",
        "messages",
        "Messages handed back at the stop, not written.",
    ),
    Metric::gauge(
        "consumer_queue_messages",
        "messages",
        "Messages in the queue as SQS counts them, about, every QUEUE_DEPTH_INTERVAL; NaN or absent while that is not known.",
    )
    .by(&[label("state", STATES)]),
    Metric::gauge(
        "consumer_dead_letters",
        "messages",
        "Messages in the dead-letter queue that the queue's redrive policy names; NaN or absent while that is not known.",
    ),
    Metric::gauge(
        "consumer_messages_in_flight",
        "messages",
        "Messages received and not deleted, and room that open receives keep.",
    ),
    Metric::gauge("consumer_pollers_awake", "pollers", "Receives that are open or about to be."),
    Metric::gauge(
        "consumer_oldest_message_age_seconds",
        "seconds",
        "While messages are in hand: the age of the oldest that the last receive brought. 0 with none in hand.",
    ),
    Metric::gauge(
        "consumer_receiving_paused",
        "none",
        "1 while nothing is received because writes or deletes fail as a whole, else 0.",
    )
    .by(&[label("because", &["writes", "deletes"])]),
    Metric::counter("consumer_read_errors_total", "requests", "Reads of records for clients that failed.")
        .by(&[label("kind", FAULTS)]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drain::poison::Reason;
    use tenancy::message::received::Rejection;

    #[test]
    fn every_reason_is_a_value_of_the_label() {
        let rejections = [
            Rejection::NoTenant,
            Rejection::MalformedTenant,
            Rejection::ForeignTenant,
            Rejection::NoId,
            Rejection::NoBody,
        ];
        let rest = [Reason::TooLarge, Reason::Refused, Reason::Broken];
        let reasons = rejections.map(Reason::Rejected).into_iter().chain(rest);
        let all: Vec<_> = reasons.map(Reason::as_str).chain(["no_receipt_handle"]).collect();
        assert_eq!(all, REASONS);
    }
}
