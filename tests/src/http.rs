//! An HTTP client for tests: one request, one answer, nothing retried.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{HeaderMap, Method, Request, StatusCode, Version};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// No answer takes longer in a test that passes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client that keeps connections open and may be cloned.
#[derive(Clone)]
pub struct Http(Client<HttpConnector, Full<Bytes>>);

/// An answer, whole.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// The protocol it came by.
    pub version: Version,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as it came.
    pub body: Bytes,
    /// From the first byte sent to the last received.
    pub took: Duration,
}

impl Answer {
    /// The body as JSON; `null` if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header's text; the empty string if there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

impl Default for Http {
    fn default() -> Self {
        Self::new()
    }
}

impl Http {
    /// A client without connections.
    #[must_use]
    pub fn new() -> Self {
        Self::with(false)
    }

    /// A client that speaks HTTP/2 from the first byte, without asking and without TLS.
    #[must_use]
    pub fn http2() -> Self {
        Self::with(true)
    }

    fn with(http2: bool) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self(Client::builder(TokioExecutor::new()).http2_only(http2).build(connector))
    }

    /// Sends a request; the error says why there is no answer.
    ///
    /// # Errors
    /// The connection is refused or ends early, or there is no answer within 60 s.
    pub async fn try_send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, String> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, value.as_bytes());
        }
        let request = request.body(Full::new(body.into())).map_err(|error| error.to_string())?;
        let start = Instant::now();
        let exchange = async {
            let answer = self.0.request(request).await.map_err(|error| format!("{error:?}"))?;
            let (parts, body) = answer.into_parts();
            let body = body.collect().await.map_err(|error| format!("{error:?}"))?.to_bytes();
            let (status, version, headers) = (parts.status, parts.version, parts.headers);
            Ok(Answer { status, version, headers, body, took: start.elapsed() })
        };
        tokio::time::timeout(PATIENCE, exchange).await.unwrap_or_else(|_| Err(format!("no answer within {PATIENCE:?}")))
    }

    /// Sends a request that has to be answered.
    pub async fn send(&self, method: Method, url: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
        let what = format!("{method} {url}");
        self.try_send(method, url, headers, body).await.unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    /// GET.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(Method::GET, url, headers, Bytes::new()).await
    }

    /// POST of a body of JSON.
    pub async fn post(&self, url: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
        let headers = [&[("content-type", "application/json")], headers].concat();
        self.send(Method::POST, url, &headers, body).await
    }
}
