mod keys;
mod routes;
mod tokens;

use serde_json::Value;
use tests::http::Answer;
use tests::inside::{Inside, aws_with};
use tests::issuer::{Issuer, Signer};
use tests::scripted::Aws;

/// A producer of the tenant `acme` that believes an issuer, with what it stands on.
pub(crate) struct Plane {
    pub(crate) aws: Aws,
    pub(crate) issuer: Issuer,
    pub(crate) service: Inside,
}

impl Plane {
    /// Starts one whose issuer publishes `keys`, and waits until it is ready.
    pub(crate) async fn start(keys: &[&Signer]) -> Self {
        let (aws, issuer) = (aws_with("acme"), Issuer::start(keys).await);
        let service = producer(&aws, &issuer, &[]).await;
        service.becomes_ready().await;
        Self { aws, issuer, service }
    }

    /// Posts an event with a token, and a `tenantID` header if there is a tenant.
    pub(crate) async fn post(&self, token: &str, tenant: Option<&str>) -> Answer {
        let authorization = format!("Bearer {token}");
        let mut headers = vec![("authorization", authorization.as_str())];
        headers.extend(tenant.map(|tenant| ("tenantID", tenant)));
        self.service.http.post(&self.service.url("/producer"), &headers, "{}").await
    }

    /// The status for a token of these claims, signed as the issuer would.
    pub(crate) async fn status(&self, key: &Signer, claims: &Value) -> u16 {
        self.post(&key.token(claims), Some("acme")).await.status.as_u16()
    }
}

/// A producer of `acme` that believes `issuer`.
pub(crate) async fn producer(aws: &Aws, issuer: &Issuer, more: &[&str]) -> Inside {
    let auth = ["--auth-issuer", &issuer.url, "--auth-audience", "plane"];
    Inside::start("producer", producer::build, aws, "acme", &[&auth, more].concat()).await
}

/// Asserts a 401 that says how to authenticate and why the token was not enough.
#[track_caller]
pub(crate) fn refused(answer: &Answer, why: &str) {
    assert_eq!(tests::inside::problem(answer, 401, "token-invalid"), why);
    let challenge = format!("Bearer realm=\"tenant-plane\", error=\"invalid_token\", error_description=\"{why}\"");
    assert_eq!(answer.header("www-authenticate"), challenge);
}
