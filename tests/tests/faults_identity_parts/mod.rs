mod credentials;
mod endpoints;
mod outage;
mod parameters;
mod sessions;
mod starting;

use std::path::PathBuf;

use tests::http::Answer;
use tests::scripted::Aws;
use tests::service::{Kind, Launch, Service};

pub(crate) const KINDS: [Kind; 3] = [Kind::Producer, Kind::Consumer, Kind::Payments];

/// A file that goes with the test.
pub(crate) struct TokenFile(PathBuf);

impl TokenFile {
    pub(crate) fn new(token: &str) -> Self {
        let name = format!("web-identity-{}-{}", std::process::id(), fastrand::u64(..));
        let file = Self(std::env::temp_dir().join(name));
        file.write(token);
        file
    }

    /// In one step, as in a pod: whoever reads it meanwhile has the old token or the new one, and never half of one.
    pub(crate) fn write(&self, token: &str) {
        let next = self.0.with_extension("next");
        std::fs::write(&next, token).expect("a file in the folder for temporary files");
        std::fs::rename(&next, &self.0).expect("a file in its place");
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a path that is text")
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        // Nothing depends on it being gone.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A service with a pod's web identity instead of keys.
pub(crate) fn with_web_identity(kind: Kind, aws: &Aws, token: &TokenFile) -> Launch {
    Launch::new(kind, aws, "acme")
        .unset("AWS_ACCESS_KEY_ID")
        .unset("AWS_SECRET_ACCESS_KEY")
        .set("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/producer-role-acme")
        .set("AWS_WEB_IDENTITY_TOKEN_FILE", token.path())
}

/// A service with EKS Pod Identity instead of keys.
pub(crate) fn with_pod_identity(kind: Kind, aws: &Aws, token: &TokenFile) -> Launch {
    Launch::new(kind, aws, "acme")
        .unset("AWS_ACCESS_KEY_ID")
        .unset("AWS_SECRET_ACCESS_KEY")
        .set("AWS_CONTAINER_CREDENTIALS_FULL_URI", &aws.container_credentials_uri())
        .set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.path())
}

/// A tenant's request that takes calls to AWS. A consumer's needs `RECORD_READS=on`.
pub(crate) async fn request(service: &Service) -> Answer {
    match service.kind {
        Kind::Producer => service.event("acme", "{}").await,
        Kind::Payments => service.payment("acme", "key-1").await,
        Kind::Consumer => {
            service.http.get(&format!("{}/consumer/messages", service.url), &[("tenantID", "acme")]).await
        }
    }
}

/// What [`request`] is answered when all is well.
pub(crate) fn good(kind: Kind) -> u16 {
    if kind == Kind::Payments { 202 } else { 200 }
}
