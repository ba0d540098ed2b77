//! The metrics of what the services share. Each service has a table of its own for the rest.

use crate::aws::count::{OPERATIONS, RESULTS};
use crate::directory::PARAMETERS;

use super::metric::{Metric, label};

/// What a request may be turned away for before its handler has it.
pub(crate) const SHED: &[&str] = &["requests", "connections", "memory", "queue"];

/// Why a call to AWS failed, as [`crate::aws::Fault`] has it.
pub const FAULTS: &[&str] = &["throttled", "transient", "gone", "denied", "no_credentials", "refused"];

/// What every service has.
pub const COMMON: &[Metric] = &[
    Metric::gauge("tenant_plane_build_info", "none", "Always 1; the labels say which build this is.")
        .by(&[label("service", &[]), label("version", &[])]),
    Metric::counter(
        "http_requests_total",
        "requests",
        "Requests of tenants that were answered. `route` is the pattern, `other` where there is no route; `problem` is the kind \
         of error, `none` for a success, `limited` for a tenant over its limit.",
    )
    .by(&[label("service", &[]), label("route", &[]), label("method", &[]), label("status", &[]), label("problem", &[])]),
    Metric::histogram("http_request_duration_seconds", "seconds", "From a request's head to its answer's.").by(&[
        label("service", &[]),
        label("route", &[]),
        label("method", &[]),
    ]),
    Metric::counter(
        "http_shed_total",
        "requests",
        "Requests and connections turned away unread, because MAX_REQUESTS, MAX_CONNECTIONS or MAX_BUFFERED_BYTES was reached, or \
         the part of them that a pool leaves to one `queue`.",
    )
    .by(&[label("because", SHED)]),
    Metric::counter(
        "aws_calls_total",
        "calls",
        "Calls to AWS by what came of them; `unanswered` were given up by their caller. `condition_failed` is an answer, not a \
         failure.",
    )
    .by(&[label("operation", OPERATIONS), label("result", RESULTS)]),
    Metric::histogram(
        "aws_call_duration_seconds",
        "seconds",
        "How long calls to AWS took with the SDK's retries, failed ones too. A ReceiveMessage waits up to 20 s by itself.",
    )
    .by(&[label("operation", OPERATIONS)]),
    Metric::counter("aws_credential_renewals_total", "renewals", "Renewals of the credentials, at the start and before they end.")
        .by(&[label("result", &["ok", "failed"])]),
    Metric::counter(
        "directory_lookups_total",
        "lookups",
        "Look-ups of queues and tables: known already, not known, and readings again of what is due.",
    )
    .by(&[label("parameter", PARAMETERS), label("result", &["hit", "miss", "refresh"])]),
    Metric::counter(
        "auth_tokens_total",
        "requests",
        "Requests by what came of their bearer token, where AUTH_ISSUER is set; `ok` is a valid one for the right tenant, `undecided` got 503 as the issuer's keys could not be had.",
    )
    .by(&[label("result", crate::auth::RESULTS)]),
    Metric::counter(
        "limited_requests_total",
        "requests",
        "Requests that got 429, by the limit that their tenant was over (LIMIT_REQUESTS, LIMIT_BYTES).",
    )
    .by(&[label("limit", &["requests", "bytes"])]),
    Metric::counter("limited_tenant_requests_total", "requests", "The same by tenant, where there are limits.")
        .by(&[label("tenant_id", &[])]),
    Metric::counter(
        "auth_key_fetches_total",
        "fetches",
        "Readings of the issuer's keys; `empty` is an issuer that publishes none, so that every token is refused.",
    )
    .by(&[label("result", crate::auth::FETCHES)]),
    Metric::counter("directory_calls_total", "calls", "Calls to SSM for parameters, of up to ten names each."),
    Metric::counter("directory_failed_calls_total", "calls", "Of these, the ones that failed."),
    Metric::counter(
        "trace_exports_total",
        "calls",
        "Batches of spans sent to the collector: taken, refused by it, or not answered. Always 0 without a collector.",
    )
    .by(&[label("result", &["ok", "refused", "failed"])]),
];

/// What producer and payments have: sending to SQS.
pub const PUBLISHER: &[Metric] = &[
    Metric::histogram("publisher_batch_entries", "messages", "Messages in a call of SendMessageBatch."),
    Metric::counter("publisher_tenant_messages_total", "messages", "Messages that SQS has taken, by tenant.")
        .by(&[label("tenant_id", &[])]),
    Metric::counter("publisher_retries_total", "messages", "Messages sent again, because their call or entry failed."),
    Metric::counter(
        "publisher_shed_total",
        "messages",
        "Messages turned away because the lane of their queue was full.",
    ),
    Metric::gauge("publisher_lanes", "queues", "Queues that this process has sent to."),
    Metric::gauge("publisher_lane_messages", "messages", "Messages that wait or are being sent, in all lanes."),
    Metric::gauge(
        "publisher_deepest_lane_messages",
        "messages",
        "The same, in the fullest lane; it has room for 1024.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::Fault;

    #[test]
    fn every_fault_is_a_value_of_the_label() {
        let all =
            [Fault::Throttled, Fault::Transient, Fault::Gone, Fault::Denied, Fault::NoCredentials, Fault::Refused];
        assert_eq!(all.map(Fault::as_str), FAULTS);
        for fault in FAULTS {
            assert!(RESULTS.contains(fault), "{fault}");
        }
    }
}
