//! Counts every call that goes through the SDK, by operation and by what came of it.
//!
//! It hangs in each client as an interceptor, so that no caller can forget it. Handles are made once; a call looks one up by
//! its place in a short list and no map.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeSerializationInterceptorContextRef, FinalizerInterceptorContextRef,
};
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};
use metrics::{Counter, Histogram, counter, histogram};

use super::Fault;
use super::errors::{of_answer, of_connector};

/// The operations that services make; whatever else is called counts as the last.
pub(crate) const OPERATIONS: &[&str] = &[
    "SendMessageBatch",
    "ReceiveMessage",
    "DeleteMessageBatch",
    "ChangeMessageVisibilityBatch",
    "GetQueueAttributes",
    "BatchWriteItem",
    "PutItem",
    "GetItem",
    "Query",
    "GetParameters",
    "GetParameter",
    "other",
];

/// What may come of a call: an answer, a kind of failure, or that nobody waited for it any longer.
pub(crate) const RESULTS: &[&str] =
    &["ok", "throttled", "transient", "gone", "denied", "no_credentials", "refused", "condition_failed", UNANSWERED];

/// The caller's own time was up before AWS answered.
const UNANSWERED: &str = "unanswered";

/// The interceptor. Clients of one process share it.
#[derive(Debug, Clone)]
pub(super) struct CountCalls(Arc<[Operation]>);

#[derive(Debug)]
struct Operation {
    name: &'static str,
    ok: Counter,
    duration: Histogram,
}

impl CountCalls {
    pub(super) fn new() -> Self {
        let operation = |name: &&'static str| Operation {
            name,
            ok: counter!("aws_calls_total", "operation" => *name, "result" => "ok"),
            duration: histogram!("aws_call_duration_seconds", "operation" => *name),
        };
        Self(OPERATIONS.iter().map(operation).collect())
    }
}

/// A call under way. One that is dropped before it has landed was given up.
#[derive(Debug)]
struct Flight {
    operations: Arc<[Operation]>,
    place: usize,
    began: Instant,
    landed: AtomicBool,
}

impl Storable for Flight {
    type Storer = StoreReplace<Self>;
}

impl Flight {
    fn land(&self, result: &'static str) {
        if self.landed.swap(true, Ordering::Relaxed) {
            return;
        }
        let operation = &self.operations[self.place];
        operation.duration.record(self.began.elapsed().as_secs_f64());
        match result {
            "ok" => operation.ok.increment(1),
            _ => counter!("aws_calls_total", "operation" => operation.name, "result" => result).increment(1),
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.land(UNANSWERED);
    }
}

#[dyn_dispatch_hint]
impl Intercept for CountCalls {
    fn name(&self) -> &'static str {
        "CountCalls"
    }

    fn read_before_serialization(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let named = cfg.load::<Metadata>().map(Metadata::name);
        let place = named.and_then(|name| OPERATIONS.iter().position(|known| *known == name));
        cfg.interceptor_state().store_put(Flight {
            operations: self.0.clone(),
            place: place.unwrap_or(OPERATIONS.len() - 1),
            began: Instant::now(),
            landed: AtomicBool::new(false),
        });
        Ok(())
    }

    fn read_after_execution(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(flight) = cfg.load::<Flight>() {
            flight.land(result_of(context));
        }
        Ok(())
    }
}

/// What came of a call. The error's type is the operation's own, so its code is read from the answer once more.
fn result_of(context: &FinalizerInterceptorContextRef<'_>) -> &'static str {
    let error = match context.output_or_error() {
        Some(Ok(_)) => return "ok",
        Some(Err(error)) => error,
        None => return Fault::Transient.as_str(),
    };
    if let Some(connector) = error.as_connector_error() {
        return of_connector(connector).as_str();
    }
    // The SDK has no name for what fails between writing the request and sending it: there was nothing to sign it with.
    let named = error.is_operation_error()
        || error.is_interceptor_error()
        || error.is_timeout_error()
        || error.is_response_error();
    if !named && context.request().is_some() && context.response().is_none() {
        return Fault::NoCredentials.as_str();
    }
    let Some(answer) = context.response().filter(|_| error.is_operation_error()) else {
        return Fault::Transient.as_str();
    };
    // SQS may say it in a header, as its older protocol did.
    let said = answer.headers().get("x-amzn-query-error").and_then(|code| code.split(';').next()).map(str::to_owned);
    let written = || answer.body().bytes().and_then(|body| serde_json::from_slice::<Refusal>(body).ok()?.code);
    let code = said.or_else(written);
    if code.as_deref().is_some_and(|code| code.ends_with("ConditionalCheckFailedException")) {
        return "condition_failed";
    }
    of_answer(answer.status().as_u16(), code.as_deref()).as_str()
}

/// An error as the JSON protocols write it.
#[derive(serde::Deserialize)]
struct Refusal {
    #[serde(rename = "__type")]
    code: Option<String>,
}
