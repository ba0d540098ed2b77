//! Traces: one from the client's request to the record, by OpenTelemetry's conventions for HTTP, messaging and databases.
//!
//! ```text
//! POST /producer            SERVER    below the caller's traceparent, or the start of a trace
//! └ create QUEUE            PRODUCER  one a message; its context travels as the attribute `traceparent`
//!   ├ send QUEUE            CLIENT    one a call, links to the `create` spans of its messages
//!   ├ receive QUEUE         CLIENT    one a receive, links to the same
//!   └ process QUEUE         CONSUMER  one a message, from its receive until its record is stored
//!     ├ BatchWriteItem TABLE CLIENT   one a write, links to the `process` spans of its records
//!     └ settle QUEUE        CLIENT    one a delete, links to the same
//!
//! POST /payments            SERVER    as above, and beside `create`:
//! ├ PutItem TABLE           CLIENT    the claim
//! └ GetItem TABLE           CLIENT    what a repeat, or GET /payments/ID, looks up
//! ```
//!
//! A call for several messages stands below the first sampled one of them and is linked to all, so the trace of a single
//! event is whole, and that of one among many leads to the call by its link.
//!
//! Without `OTEL_EXPORTER_OTLP_ENDPOINT` there is no exporter, no thread and no span: a [`Tracer`] is an `Option` that is
//! `None`. With it, a request whose trace is not taken costs reading its `traceparent` and a comparison. The context that a
//! caller sends travels on either way.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use opentelemetry::trace::{Link, Span as _, SpanBuilder, SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::trace::{SdkTracer, Span as SdkSpan};

use crate::server::headers::{TENANT_ID, TRACEPARENT};

mod export;
mod parent;
mod sampler;

pub use export::{flush, install};
pub use parent::Parent;
use sampler::Sampler;

/// Starts spans, or none where no collector is configured. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tracer(Option<Arc<(SdkTracer, Sampler)>>);

/// A span of a trace that is taken. It ends when it is dropped.
#[derive(Debug)]
pub struct Span(Box<SdkSpan>);

/// A call to AWS for several messages or records.
#[derive(Debug)]
pub struct Call<'a> {
    /// What is called, such as `send` or `BatchWriteItem`.
    pub operation: &'static str,
    /// The queue or table.
    pub target: &'a str,
    /// Messages or records in the call.
    pub count: usize,
    /// When it began, if not now.
    pub began: Option<SystemTime>,
}

impl Tracer {
    /// The process's tracer.
    #[must_use]
    pub fn of_process() -> Self {
        export::tracer()
    }

    fn from_parts(parts: Option<(SdkTracer, Sampler)>) -> Self {
        Self(parts.map(Arc::new))
    }

    /// Whether spans are made at all.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A request's span, if its trace is taken. The headers then name it as the parent of whatever the request leads to. A
    /// request that names neither a caller's span nor a tenant begins no trace: load balancers look every few seconds.
    pub(crate) fn serve(&self, headers: &mut HeaderMap, method: &Method, route: Option<&str>) -> Option<Span> {
        let (tracer, sampler) = self.0.as_deref()?;
        let named = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok()).and_then(Parent::read);
        let taken = match named {
            Some(parent) => sampler.joins(parent),
            None => (headers.contains_key(TENANT_ID) || headers.contains_key(AUTHORIZATION)) && sampler.begins(),
        };
        if !taken {
            return None;
        }
        let method = match *method {
            Method::GET => "GET",
            Method::POST => "POST",
            _ => "_OTHER",
        };
        // A path that is no route of ours is a client's text: it does not become a name.
        let name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
        let mut attributes = vec![KeyValue::new("http.request.method", method), KeyValue::new("url.scheme", "http")];
        attributes.extend(route.map(|route| KeyValue::new("http.route", route.to_owned())));
        let span = start(tracer, name, SpanKind::Server, named, Vec::new(), attributes, None);
        headers.insert(TRACEPARENT, span.header()?);
        Some(span)
    }

    /// The span of a message that is made for a queue, below `traceparent`.
    #[must_use]
    pub fn create(
        &self,
        traceparent: Option<&str>,
        queue: &str,
        tenant: &str,
        message_id: &dyn ToString,
    ) -> Option<Span> {
        let (tracer, sampler) = self.0.as_deref()?;
        let parent = Parent::read(traceparent?).filter(|parent| sampler.joins(*parent))?;
        let mut attributes = messaging("create", "create", queue);
        attributes.push(KeyValue::new("tenant_plane.tenant_id", tenant.to_owned()));
        attributes.push(KeyValue::new("tenant_plane.message_id", message_id.to_string()));
        Some(start(tracer, format!("create {queue}"), SpanKind::Producer, Some(parent), Vec::new(), attributes, None))
    }

    /// The span of a message that was received, below the `traceparent` that it brought.
    #[must_use]
    pub fn process(&self, traceparent: Option<&str>, queue: &str, sqs_id: &str) -> Option<Span> {
        let (tracer, sampler) = self.0.as_deref()?;
        let parent = Parent::read(traceparent?).filter(|parent| sampler.joins(*parent))?;
        let mut attributes = messaging("process", "process", queue);
        attributes.push(KeyValue::new("messaging.message.id", sqs_id.to_owned()));
        Some(start(tracer, format!("process {queue}"), SpanKind::Consumer, Some(parent), Vec::new(), attributes, None))
    }

    /// The span of a call to SQS for the messages of `links`; none if there are none. The operation is `send`, `receive` or
    /// `settle`.
    #[must_use]
    pub fn messaging_call(&self, call: Call<'_>, links: Vec<Parent>) -> Option<Span> {
        let (tracer, _) = self.0.as_deref()?;
        let first = *links.first()?;
        let mut attributes = messaging(call.operation, call.operation, call.target);
        attributes.push(KeyValue::new("messaging.batch.message_count", count(call.count)));
        let name = format!("{} {}", call.operation, call.target);
        Some(start(tracer, name, SpanKind::Client, Some(first), links, attributes, call.began))
    }

    /// The span of a call to DynamoDB for the records of `links`; none if there are none.
    #[must_use]
    pub fn table_call(&self, call: Call<'_>, links: Vec<Parent>) -> Option<Span> {
        let (tracer, _) = self.0.as_deref()?;
        let first = *links.first()?;
        Some(table_call(tracer, call, first, links))
    }

    /// The span of a call to DynamoDB that a request makes for itself, below `traceparent`.
    #[must_use]
    pub fn table_call_below(&self, call: Call<'_>, traceparent: Option<&str>) -> Option<Span> {
        let (tracer, sampler) = self.0.as_deref()?;
        let parent = Parent::read(traceparent?).filter(|parent| sampler.joins(*parent))?;
        Some(table_call(tracer, call, parent, Vec::new()))
    }
}

fn table_call(tracer: &SdkTracer, call: Call<'_>, parent: Parent, links: Vec<Parent>) -> Span {
    let mut attributes = vec![
        KeyValue::new("db.system.name", "aws.dynamodb"),
        KeyValue::new("db.operation.name", call.operation),
        KeyValue::new("db.collection.name", call.target.to_owned()),
    ];
    // By convention a batch of one is none.
    if call.count > 1 {
        attributes.push(KeyValue::new("db.operation.batch.size", count(call.count)));
    }
    let name = format!("{} {}", call.operation, call.target);
    start(tracer, name, SpanKind::Client, Some(parent), links, attributes, call.began)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn messaging(kind: &'static str, operation: &'static str, queue: &str) -> Vec<KeyValue> {
    vec![
        KeyValue::new("messaging.system", "aws_sqs"),
        KeyValue::new("messaging.operation.type", kind),
        KeyValue::new("messaging.operation.name", operation),
        KeyValue::new("messaging.destination.name", queue.to_owned()),
    ]
}

fn start(
    tracer: &SdkTracer,
    name: impl Into<Cow<'static, str>>,
    kind: SpanKind,
    parent: Option<Parent>,
    links: Vec<Parent>,
    attributes: Vec<KeyValue>,
    began: Option<SystemTime>,
) -> Span {
    let mut builder = SpanBuilder::from_name(name).with_kind(kind).with_attributes(attributes);
    builder.start_time = began;
    if !links.is_empty() {
        builder = builder.with_links(links.iter().map(|parent| Link::with_context(parent.context(true))).collect());
    }
    let context = match parent {
        Some(parent) => Context::new().with_remote_span_context(parent.context(true)),
        None => Context::new(),
    };
    Span(Box::new(tracer.build_with_context(builder, &context)))
}

impl Span {
    /// What others are below of, or linked to.
    #[must_use]
    pub fn parent(&self) -> Parent {
        self.0.span_context().into()
    }

    /// The span as a `traceparent`.
    #[must_use]
    pub fn traceparent(&self) -> Box<str> {
        self.parent().write().into()
    }

    fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.parent().write()).ok()
    }

    /// Says more about it.
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.0.set_attribute(KeyValue::new(name, value));
    }

    /// It did not end well; `kind` is a word of a fixed set.
    pub fn fail(&mut self, kind: &'static str) {
        self.set("error.type", kind);
        self.0.set_status(Status::error(""));
    }

    /// It is over, though it is kept for what is linked to it.
    pub fn end(&mut self) {
        self.0.end();
    }

    /// The request has been answered: the answer names the span, so that whoever asked can find the trace.
    pub(crate) fn answer(mut self, status: StatusCode, headers: &mut HeaderMap) {
        self.set("http.response.status_code", i64::from(status.as_u16()));
        if status.is_server_error() {
            self.fail(if status == StatusCode::SERVICE_UNAVAILABLE { "503" } else { "500" });
        }
        if let Some(value) = self.header() {
            headers.insert("traceresponse", value);
        }
    }
}
