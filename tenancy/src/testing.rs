//! An AWS that tests script at the HTTP client's seam: a function from operation and body to status and body.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use aws_types::region::Region;
use serde_json::Value;

/// What a call is answered with, after how long.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) after: Duration,
}

impl Answer {
    pub(crate) fn new(status: u16, body: Value) -> Self {
        Self { status, body, after: Duration::from_millis(5) }
    }
}

/// What answers an operation with a body.
type Script = dyn Fn(&str, Value) -> Answer + Send + Sync;

#[derive(Clone)]
pub(crate) struct Scripted(Arc<Script>);

impl Scripted {
    /// `answer` is given the operation's name and the request's body.
    pub(crate) fn new(answer: impl Fn(&str, Value) -> Answer + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

    /// For any service's client.
    pub(crate) fn config(&self) -> SdkConfig {
        let timeouts = TimeoutConfig::builder().operation_attempt_timeout(Duration::from_secs(4)).build();
        SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new("key", "secret", None, None, "test")))
            .http_client(self.clone())
            .sleep_impl(TokioSleep::new())
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .build()
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl HttpClient for Scripted {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Scripted {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let answer = (self.0)(operation, body);
        HttpConnectorFuture::new(async move {
            tokio::time::sleep(answer.after).await;
            let status = answer.status.try_into().expect("a status");
            Ok(HttpResponse::new(status, SdkBody::from(answer.body.to_string())))
        })
    }
}
