//! Getting spans to the collector: in a thread of its own, in batches, bounded in memory and time. Whoever makes spans never
//! waits for it; what the collector does not take in time is dropped.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorSettings, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler as Every, SdkTracerProvider};
use tokio::runtime::Handle;

use crate::config::{ConfigError, Traces};

use super::{Sampler, Tracer};

/// How long the collector may take over a batch. `OTEL_EXPORTER_OTLP_TIMEOUT` bounds a batch with its repetitions.
const ANSWER: Duration = Duration::from_secs(5);

/// How long flushing at the stop takes at most.
const FLUSH: Duration = Duration::from_secs(3);

/// A collector that does not take spans is a line in the log this often.
const SAY_EVERY: Duration = Duration::from_secs(60);

/// What [`install`] made. As with metrics, a process has one.
static PROVIDER: OnceLock<(SdkTracerProvider, Sampler)> = OnceLock::new();

/// The process's tracer; off where nothing was installed.
pub(super) fn tracer() -> Tracer {
    let tracer = PROVIDER.get().map(|(provider, sampler)| (provider.tracer("tenant-plane"), *sampler));
    Tracer::from_parts(tracer)
}

/// Starts exporting if the settings name a collector; needs a runtime. Called once, by `main`.
///
/// # Errors
/// A variable of OpenTelemetry's that cannot be used.
pub fn install(name: &str, version: &str, environment: &str, settings: &Traces) -> Result<(), ConfigError> {
    let Some(collector) = &settings.otel_exporter_otlp_endpoint else { return Ok(()) };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Client::new(Handle::current()))
        .with_endpoint(collector.traces())
        .build()
        .map_err(|error| ConfigError::new("OTEL_EXPORTER_OTLP_ENDPOINT", format!("no spans can be sent: {error}")))?;
    let provider = SdkTracerProvider::builder()
        // Which traces are taken is decided before a span is made.
        .with_sampler(Every::AlwaysOn)
        .with_batch_exporter(exporter)
        .with_resource(resource(name, version, environment))
        .build();
    let _ = PROVIDER.set((provider, Sampler::new(settings)));
    Ok(())
}

/// What `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say of the process, and what they leave out.
fn resource(name: &str, version: &str, environment: &str) -> Resource {
    let given = Resource::builder().build();
    let missing =
        |key: &'static str| given.get(&Key::new(key)).is_none_or(|value| value.as_str().starts_with("unknown_service"));
    let own = [("service.name", name), ("service.version", version), ("deployment.environment.name", environment)];
    let own = own.into_iter().filter(|(key, _)| missing(key));
    Resource::builder().with_attributes(own.map(|(key, value)| KeyValue::new(key, value.to_owned()))).build()
}

/// Sends what is left, within `left`; then nothing is exported any more.
pub async fn flush(left: Duration) {
    let Some((provider, _)) = PROVIDER.get() else { return };
    let limit = left.min(FLUSH);
    let flushed = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(limit));
    if !matches!(tokio::time::timeout(limit, flushed).await, Ok(Ok(Ok(())))) {
        tracing::warn!("the last spans did not reach the collector");
    }
}

/// The services' own HTTP client, so that there is one TLS stack. Exports come from a thread without a runtime.
struct Client {
    http: SharedHttpConnector,
    runtime: Handle,
    said: Mutex<Option<Instant>>,
}

impl Client {
    fn new(runtime: Handle) -> Self {
        let settings = HttpConnectorSettings::builder().connect_timeout(Duration::from_secs(2)).build();
        let http = Connector::builder()
            .connector_settings(settings)
            .sleep_impl(TokioSleep::new())
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build();
        Self { http: SharedHttpConnector::new(http), runtime, said: Mutex::default() }
    }

    fn failed(&self, why: &str) {
        let mut said = self.said.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if said.is_none_or(|at| at.elapsed() >= SAY_EVERY) {
            *said = Some(Instant::now());
            tracing::warn!(error = why, "the collector does not take spans; requests go on without");
        }
    }

    async fn post(http: SharedHttpConnector, request: HttpRequest) -> Result<Response<Bytes>, HttpError> {
        let answer = async {
            let answer = http.call(request).await?;
            let status = answer.status().as_u16();
            let body = ByteStream::new(answer.into_body()).collect().await?.into_bytes();
            Ok::<_, HttpError>(Response::builder().status(status).body(body)?)
        };
        tokio::time::timeout(ANSWER, answer)
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {ANSWER:?}").into()))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

impl HttpClient for Client {
    fn send_bytes<'own, 'done>(
        &'own self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'done>>
    where
        'own: 'done,
        Self: 'done,
    {
        Box::pin(async move {
            let request = HttpRequest::try_from(request.map(SdkBody::from))?;
            let answer = self.runtime.spawn(Self::post(self.http.clone(), request));
            let answer = answer.await.map_err(HttpError::from).and_then(|answer| answer);
            let (result, why) = match &answer {
                Ok(answer) if answer.status().is_success() => ("ok", None),
                Ok(answer) => ("refused", Some(answer.status().as_str().to_owned())),
                Err(error) => ("failed", Some(error.to_string())),
            };
            // Counted before it is said: who reads the line finds it in the metrics.
            metrics::counter!("trace_exports_total", "result" => result).increment(1);
            if let Some(why) = why {
                self.failed(&why);
            }
            answer
        })
    }
}
