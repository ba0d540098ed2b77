//! The one place that builds AWS clients: region, endpoints, credentials, timeouts, retries.
//!
//! A process has one client of each service, built at start, over one connection pool and one source of credentials. Retries
//! are ours where a request carries several messages (publisher, drainer): an SDK that retries below a loop that retries
//! multiplies into minutes.

use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::identity::IdentityCache;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use aws_types::region::Region;

use crate::config::ConfigError;
use crate::port;

mod confirmed;
pub(crate) mod count;
mod credentials;
mod describe;
mod errors;
mod pool;
mod rejections;
#[cfg(test)]
mod secrets_tests;

pub use confirmed::Confirmed;
pub use credentials::{CredentialSource, Refreshing};
pub use describe::{MOST_CHARACTERS, causes, cut, describe};
pub use errors::{Fault, fault_of};
use rejections::Rejections;

/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long one attempt of a call may take. SQS and DynamoDB answer in milliseconds; what takes seconds is a connection that
/// no longer leads anywhere, and the next attempt goes out on another one.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(4);

/// How long a call may take with its retries, for the calls that the SDK retries.
const CALL_TIMEOUT: Duration = Duration::from_secs(9);

/// How much longer than its wait a receive may take before the connection counts as dead.
const RECEIVE_MARGIN: Duration = Duration::from_secs(5);

/// The wait of a long poll in seconds, the longest that SQS allows.
pub const RECEIVE_WAIT: Duration = Duration::from_secs(20);

/// Idle connections are given up before the other side does so (SQS and DynamoDB keep theirs for 20 s or longer), so that the
/// first call after a quiet time does not run into a closed one.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Clients of the services, cheap to clone.
#[derive(Debug, Clone)]
pub struct Clients {
    /// SQS for calls that answer at once. It does not retry.
    pub sqs: aws_sdk_sqs::Client,
    /// SQS for long polls: its attempt and its whole call may take [`RECEIVE_WAIT`] and a margin. It does not retry.
    pub sqs_receive: aws_sdk_sqs::Client,
    /// DynamoDB for batches whose retries are ours. It does not retry.
    pub dynamodb_batch: aws_sdk_dynamodb::Client,
    /// DynamoDB for single items: retries within 9 s.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// SSM. It does not retry.
    pub ssm: aws_sdk_ssm::Client,
    /// The region that all of them call.
    pub region: Region,
    /// Where SQS is, when not at its own address: the queues' URLs follow it.
    pub sqs_endpoint: Option<String>,
}

/// Addresses that replace the services' own. Each is a URL such as `http://127.0.0.1:4566`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// Of SQS.
    pub sqs: Option<String>,
    /// Of DynamoDB.
    pub dynamodb: Option<String>,
    /// Of SSM.
    pub ssm: Option<String>,
}

impl Endpoints {
    /// The same address for every service.
    #[must_use]
    pub fn all(url: &str) -> Self {
        let url = Some(url.to_owned());
        Self { sqs: url.clone(), dynamodb: url.clone(), ssm: url }
    }

    /// From `AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_SQS`, `_DYNAMODB`, `_SSM`, read by `variable`.
    ///
    /// # Errors
    /// A value that is not an http or https URL.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        if variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").is_some_and(|on| on.eq_ignore_ascii_case("true")) {
            return Ok(Self::default());
        }
        let read = |name: &str| match variable(name).filter(|url| !url.is_empty()) {
            None => Ok(None),
            Some(url) if is_http_url(&url) => Ok(Some(url)),
            Some(url) => {
                let right = "it is a URL such as http://127.0.0.1:4566, its port a number from 1 to 65535";
                Err(ConfigError::new(name, format!("invalid value {url:?}: {right}")))
            }
        };
        let shared = read("AWS_ENDPOINT_URL")?;
        let of = |name| Ok(read(name)?.or_else(|| shared.clone()));
        Ok(Self {
            sqs: of("AWS_ENDPOINT_URL_SQS")?,
            dynamodb: of("AWS_ENDPOINT_URL_DYNAMODB")?,
            ssm: of("AWS_ENDPOINT_URL_SSM")?,
        })
    }
}

fn is_http_url(url: &str) -> bool {
    let web = |uri: &http::Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
    url.parse().is_ok_and(|uri| web(&uri) && port::is_callable(&uri))
}

/// All that is needed to reach AWS.
#[derive(Debug, Clone)]
pub struct Connect {
    /// The region to call.
    pub region: Region,
    /// Addresses that replace the services' own.
    pub endpoints: Endpoints,
    /// Who calls.
    pub credentials: Refreshing,
}

impl Connect {
    /// From the AWS SDK's variables in the process's environment. No I/O, no metadata service.
    ///
    /// # Errors
    /// No region, or an endpoint that is not a URL.
    pub fn from_env() -> Result<(Self, CredentialSource), ConfigError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")).ok_or_else(|| {
            ConfigError::new("AWS_REGION", "must be set to the region of the queues and tables, such as eu-central-1")
        })?;
        let region = Region::new(region);
        let endpoints = Endpoints::read(variable)?;
        let source = CredentialSource::find(variable);
        let credentials = Refreshing::from_source(&source, &region, http_client());
        Ok((Self { region, endpoints, credentials }, source))
    }

    /// With keys that do not change and every service at `url`: for a sandbox and for tests.
    #[must_use]
    pub fn with_keys(region: &str, url: &str, access_key: &str, secret_key: &str) -> Self {
        let credentials = Credentials::new(access_key, secret_key, None, None, "fixed keys");
        Self {
            region: Region::new(region.to_owned()),
            endpoints: Endpoints::all(url),
            credentials: Refreshing::new("fixed keys", SharedCredentialsProvider::new(credentials)),
        }
    }

    /// One client of each service.
    #[must_use]
    pub fn clients(&self) -> Clients {
        let once = RetryConfig::disabled();
        let some = RetryConfig::standard()
            .with_max_attempts(4)
            .with_initial_backoff(Duration::from_millis(50))
            .with_max_backoff(Duration::from_secs(1));
        let brief = timeouts(ATTEMPT_TIMEOUT, ATTEMPT_TIMEOUT);
        let poll = timeouts(RECEIVE_WAIT + RECEIVE_MARGIN, RECEIVE_WAIT + RECEIVE_MARGIN);
        let http = http_client();
        let shared = |endpoint: &Option<String>, retry: &RetryConfig, timeouts: &TimeoutConfig| {
            let mut config = SdkConfig::builder()
                .behavior_version(BehaviorVersion::latest())
                .region(self.region.clone())
                .credentials_provider(SharedCredentialsProvider::new(self.credentials.clone()))
                // `Refreshing` is the cache; a second one would ask for a refresh within a call's own timeout and lose it.
                .identity_cache(IdentityCache::no_cache())
                .http_client(http.clone())
                .sleep_impl(TokioSleep::new())
                .retry_config(retry.clone())
                .timeout_config(timeouts.clone())
                // An empty long poll is 20 s without a byte, by design.
                .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
            config.set_endpoint_url(endpoint.clone());
            config.build()
        };
        let at = &self.endpoints;
        let count = count::CountCalls::new();
        let sqs = |timeouts| {
            let config = aws_sdk_sqs::config::Builder::from(&shared(&at.sqs, &once, timeouts));
            let config = config.interceptor(count.clone()).interceptor(Rejections(self.credentials.clone()));
            aws_sdk_sqs::Client::from_conf(config.build())
        };
        let dynamodb = |retry, timeouts| {
            let config = aws_sdk_dynamodb::config::Builder::from(&shared(&at.dynamodb, retry, timeouts));
            let config = config.interceptor(count.clone()).interceptor(Rejections(self.credentials.clone()));
            aws_sdk_dynamodb::Client::from_conf(config.build())
        };
        let ssm = aws_sdk_ssm::config::Builder::from(&shared(&at.ssm, &once, &brief))
            .interceptor(count.clone())
            .interceptor(Rejections(self.credentials.clone()));
        Clients {
            sqs: sqs(&brief),
            sqs_receive: sqs(&poll),
            dynamodb_batch: dynamodb(&once, &brief),
            dynamodb: dynamodb(&some, &timeouts(ATTEMPT_TIMEOUT, CALL_TIMEOUT)),
            ssm: aws_sdk_ssm::Client::from_conf(ssm.build()),
            region: self.region.clone(),
            sqs_endpoint: at.sqs.clone(),
        }
    }
}

fn timeouts(attempt: Duration, call: Duration) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(attempt)
        .operation_timeout(call)
        .build()
}

fn http_client() -> SharedHttpClient {
    SharedHttpClient::new(pool::Pool::new(new_http_client))
}

fn new_http_client() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &'static [(&str, &str)]) -> Result<Endpoints, ConfigError> {
        Endpoints::read(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn a_service_s_own_endpoint_goes_before_the_shared_one() {
        let endpoints =
            read(&[("AWS_ENDPOINT_URL", "http://127.0.0.1:1"), ("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:2")])
                .unwrap();
        assert_eq!(endpoints.sqs.as_deref(), Some("http://127.0.0.1:2"));
        assert_eq!(endpoints.dynamodb.as_deref(), Some("http://127.0.0.1:1"));
        assert_eq!(endpoints.ssm.as_deref(), Some("http://127.0.0.1:1"));
        assert_eq!(read(&[]).unwrap(), Endpoints::default());
    }

    #[test]
    fn an_endpoint_that_is_no_url_is_named() {
        for url in ["localhost:4566", "http://127.0.0.1:99999", "http://localhost:0"] {
            let error = Endpoints::read(|name| (name == "AWS_ENDPOINT_URL_SSM").then(|| url.to_owned())).unwrap_err();
            let right = "it is a URL such as http://127.0.0.1:4566, its port a number from 1 to 65535";
            assert_eq!(error.to_string(), format!("AWS_ENDPOINT_URL_SSM: invalid value {url:?}: {right}"));
        }
    }
}
