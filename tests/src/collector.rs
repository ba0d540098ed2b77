//! An OpenTelemetry collector as tests need one: takes spans as OTLP over HTTP, keeps them, and misbehaves on request.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// How long a span may take to arrive.
const PATIENCE: Duration = Duration::from_secs(60);

/// What it does with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Takes it.
    Take,
    /// Answers with this status.
    Refuse(u16),
    /// Never answers.
    Stall,
}

/// A span as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    /// `service.name` of the process.
    pub service: String,
    /// Every attribute of the process.
    pub resource: BTreeMap<String, String>,
    /// Its name.
    pub name: String,
    /// `SERVER`, `CLIENT`, `PRODUCER` or `CONSUMER`.
    pub kind: &'static str,
    /// Its trace, in hexadecimal.
    pub trace: String,
    /// Its id, in hexadecimal.
    pub id: String,
    /// The span above it; empty for none.
    pub parent: String,
    /// Trace and id of the spans that it is linked to.
    pub links: Vec<(String, String)>,
    /// Its attributes, as text.
    pub attributes: BTreeMap<String, String>,
    /// Whether its status is an error.
    pub failed: bool,
    /// When it began and ended, in nanoseconds since 1970.
    pub time: (u64, u64),
}

impl Seen {
    /// An attribute's text; the empty string if there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

/// A running collector. It ends with the test's runtime.
pub struct Collector {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    spans: Mutex<Vec<Seen>>,
    manner: Mutex<Manner>,
    connections: AtomicUsize,
    batches: AtomicUsize,
    more: Notify,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Collector {
    /// Starts one on a free port of loopback.
    pub async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("its address");
        let state = Arc::new(State {
            spans: Mutex::default(),
            manner: Mutex::new(manner),
            connections: AtomicUsize::new(0),
            batches: AtomicUsize::new(0),
            more: Notify::new(),
        });
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    let service = hyper::service::service_fn(move |request| answer(Arc::clone(&state), request));
                    let server = hyper::server::conn::http1::Builder::new();
                    let _ = server.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Self { address, state }
    }

    /// What goes into `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Connections so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Batches that arrived so far, taken or not.
    #[must_use]
    pub fn batches(&self) -> usize {
        self.state.batches.load(Ordering::SeqCst)
    }

    /// What it has taken so far, in the order of its arrival.
    #[must_use]
    pub fn spans(&self) -> Vec<Seen> {
        lock(&self.state.spans).clone()
    }

    /// Waits until something has arrived that is right. Panics after 60 s with all that was seen.
    pub async fn until(&self, what: &str, right: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut more = std::pin::pin!(self.state.more.notified());
            more.as_mut().enable();
            if right(self) {
                return;
            }
            if tokio::time::timeout_at(deadline.into(), more).await.is_err() {
                panic!("{what} did not arrive within {PATIENCE:?}: {:#?}", self.spans());
            }
        }
    }

    /// Waits for a span of this name; the first.
    pub async fn span(&self, name: &str) -> Seen {
        self.until(name, |own| own.spans().iter().any(|span| span.name == name)).await;
        self.spans().into_iter().find(|span| span.name == name).expect("seen just now")
    }
}

async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let expected = request.method() == hyper::Method::POST
        && request.uri().path() == "/v1/traces"
        && request.headers().get("content-type").is_some_and(|kind| kind == "application/x-protobuf");
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    state.batches.fetch_add(1, Ordering::SeqCst);
    state.more.notify_waiters();
    let manner = *lock(&state.manner);
    let status = match manner {
        Manner::Stall => std::future::pending().await,
        Manner::Refuse(status) => status,
        Manner::Take if expected => match ExportTraceServiceRequest::decode(body) {
            Ok(batch) => {
                lock(&state.spans).extend(read(batch));
                state.more.notify_waiters();
                200
            }
            Err(_) => 400,
        },
        Manner::Take => 404,
    };
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    Ok(response)
}

fn read(batch: ExportTraceServiceRequest) -> Vec<Seen> {
    let mut all = Vec::new();
    for of_process in batch.resource_spans {
        let resource = texts(of_process.resource.unwrap_or_default().attributes);
        for span in of_process.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            all.push(Seen {
                service: resource.get("service.name").cloned().unwrap_or_default(),
                resource: resource.clone(),
                name: span.name,
                kind: ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]
                    .get(usize::try_from(span.kind).unwrap_or_default())
                    .copied()
                    .unwrap_or_default(),
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                links: span.links.iter().map(|link| (hex(&link.trace_id), hex(&link.span_id))).collect(),
                attributes: texts(span.attributes),
                failed: span.status.is_some_and(|status| status.code == 2),
                time: (span.start_time_unix_nano, span.end_time_unix_nano),
            });
        }
    }
    all
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |value: Option<AnyValue>| match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    attributes.into_iter().map(|attribute| (attribute.key, text(attribute.value))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
