//! Getting the issuer's keys: its description of itself, then the key set, both from its own origin.
//!
//! The connections are those of the AWS clients, with the system's root certificates. Redirects are not followed: they could
//! lead anywhere, and an issuer knows where its own keys are.

use std::fmt;
use std::time::Duration;

use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorSettings};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use thiserror::Error;

use super::keys::{KeySet, KeySetError};
use crate::config::{Identity, IssuerUrl};

/// The most bytes of a document that is read from the issuer.
const MOST_BYTES: usize = 256 * 1024;

/// How long the issuer may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long one document may take.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(4);

/// Why there are no keys. Each text names the URL.
#[derive(Debug, Error)]
pub(super) enum FetchError {
    #[error("{url}: no answer within {} s", DOCUMENT_TIMEOUT.as_secs())]
    Late { url: String },
    #[error("{url}: {reason}")]
    Failed { url: String, reason: String },
    #[error("{url}: answered with {status}{}", if (300..400).contains(status) { ", and redirects are not followed" } else { "" })]
    Status { url: String, status: u16 },
    #[error("{url}: has more than {MOST_BYTES} bytes")]
    TooLarge { url: String },
    #[error("{url}: is no OpenID Connect description: {source}")]
    Discovery { url: String, source: serde_json::Error },
    #[error("{url}: describes the issuer {found:?}, not AUTH_ISSUER, which is {issuer:?}")]
    OtherIssuer { url: String, found: String, issuer: String },
    #[error("{url}: names keys at {keys:?}, which is not the issuer's own origin {origin}")]
    OtherOrigin { url: String, keys: String, origin: String },
    #[error("{url}: {source}")]
    Keys { url: String, source: KeySetError },
}

/// What an issuer says about itself; of that, what we need.
#[derive(Deserialize)]
struct Description {
    issuer: String,
    jwks_uri: String,
}

/// Reads the keys of one issuer.
pub(super) struct Fetcher {
    connector: Connector,
    issuer: IssuerUrl,
    keys_at: Option<IssuerUrl>,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl Fetcher {
    pub(super) fn new(identity: &Identity) -> Self {
        let settings = HttpConnectorSettings::builder().connect_timeout(CONNECT_TIMEOUT).build();
        let connector = Connector::builder()
            .connector_settings(settings)
            .sleep_impl(TokioSleep::new())
            // A refresh comes minutes after the last one: no connection outlives that.
            .pool_max_idle_per_host(0)
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build();
        Self { connector, issuer: identity.issuer.clone(), keys_at: identity.jwks_url.clone() }
    }

    pub(super) async fn keys(&self) -> Result<KeySet, FetchError> {
        let url = match &self.keys_at {
            Some(url) => url.as_str().to_owned(),
            None => self.discover().await?,
        };
        let json = self.get(&url).await?;
        KeySet::parse(&json).map_err(|source| FetchError::Keys { url, source })
    }

    /// Where the issuer says that its keys are.
    async fn discover(&self) -> Result<String, FetchError> {
        let url = self.issuer.discovery();
        let json = self.get(&url).await?;
        let described: Description = match serde_json::from_slice(&json) {
            Ok(described) => described,
            Err(source) => return Err(FetchError::Discovery { url, source }),
        };
        if described.issuer != self.issuer.as_str() {
            let issuer = self.issuer.as_str().to_owned();
            return Err(FetchError::OtherIssuer { url, found: described.issuer, issuer });
        }
        match described.jwks_uri.parse::<IssuerUrl>() {
            Ok(keys) if keys.same_origin(&self.issuer) => Ok(described.jwks_uri),
            _ => {
                let origin = self.issuer.origin().to_owned();
                Err(FetchError::OtherOrigin { url, keys: described.jwks_uri, origin })
            }
        }
    }

    async fn get(&self, url: &str) -> Result<Bytes, FetchError> {
        match tokio::time::timeout(DOCUMENT_TIMEOUT, self.read(url)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(FetchError::Late { url: url.to_owned() }),
        }
    }

    async fn read(&self, url: &str) -> Result<Bytes, FetchError> {
        let failed = |reason: String| FetchError::Failed { url: url.to_owned(), reason };
        let mut request = HttpRequest::get(url).map_err(|error| failed(error.to_string()))?;
        request.headers_mut().insert("accept", "application/json");
        let answer = self.connector.call(request).await.map_err(|error| failed(causes(&error)))?;
        let status = answer.status().as_u16();
        if status != 200 {
            return Err(FetchError::Status { url: url.to_owned(), status });
        }
        match Limited::new(answer.into_body(), MOST_BYTES).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(FetchError::TooLarge { url: url.to_owned() }),
            Err(error) => Err(failed(causes(error.as_ref()))),
        }
    }
}

/// An error with what caused it: `connection refused` is at the bottom.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |error| error.source());
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
