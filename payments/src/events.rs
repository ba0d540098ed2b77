//! What is worth a log line or a number, each in one call: never an amount, a reference or a key.

use tenancy::aws::Fault;
use tenancy::telemetry::metric::{Metric, label};
use tenancy::telemetry::table::FAULTS;
use uuid::Uuid;

use crate::claims::Claim;

/// What payments counts besides what all services do.
pub const METRICS: &[Metric] = &[
    Metric::counter(
        "payments_claims_total",
        "requests",
        "Payments asked for: new ones, repeats of one, and keys that were used for another payment.",
    )
    .by(&[label("outcome", &["new", "again", "other"])]),
    Metric::counter(
        "payments_completions_total",
        "requests",
        "Repeats that found a payment without its record, and sent its event once more.",
    ),
    Metric::counter(
        "payments_table_failures_total",
        "calls",
        "Calls to the table that failed, after the SDK's own retries.",
    )
    .by(&[label("operation", &["PutItem", "GetItem"]), label("fault", FAULTS)]),
    Metric::counter(
        "payments_unreadable_claims_total",
        "claims",
        "Claims that lack attributes: something else wrote to them.",
    ),
];

/// A request's claim was made or met one.
pub(crate) fn claimed(claim: Claim) {
    let outcome = match claim {
        Claim::New => "new",
        Claim::Again => "again",
        Claim::Other => "other",
    };
    metrics::counter!("payments_claims_total", "outcome" => outcome).increment(1);
}

/// A repeat found a payment whose event has not become a record (yet), and sends it once more.
pub(crate) fn completing(id: Uuid) {
    metrics::counter!("payments_completions_total").increment(1);
    tracing::info!(payment_id = %id, "a payment that was requested before is not recorded yet; its event is sent again");
}

/// A call to the table failed, after the SDK's own retries.
pub(crate) fn table_call_failed(operation: &'static str, fault: Fault, cause: &str) {
    metrics::counter!("payments_table_failures_total", "operation" => operation, "fault" => fault.as_str())
        .increment(1);
    match fault {
        Fault::Throttled | Fault::Transient | Fault::NoCredentials => {
            tracing::warn!(operation, fault = fault.as_str(), cause, "the table did not answer");
        }
        Fault::Gone | Fault::Denied | Fault::Refused => {
            tracing::error!(
                operation,
                fault = fault.as_str(),
                cause,
                "the table cannot be used; check its parameter, its keys and the role"
            );
        }
    }
}

/// A claim does not have the attributes that this service writes.
pub(crate) fn unreadable_claim(id: Uuid) {
    metrics::counter!("payments_unreadable_claims_total").increment(1);
    tracing::error!(payment_id = %id, "a claim lacks attributes; something else has written to it");
}
