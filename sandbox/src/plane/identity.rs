//! Who each service is to the embedded AWS: a session of its own role, had with a web identity token from a file as on EKS.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, future};
use aws_types::region::Region;

use crate::aws::ACCOUNT;

/// Exchanges the token in a file for a session of a role, at STS. The file is read again each time, since on EKS it is renewed.
#[derive(Debug)]
pub(crate) struct WebIdentity {
    sts: aws_sdk_sts::Client,
    token_file: PathBuf,
    role: String,
    session: String,
}

impl WebIdentity {
    /// For the role `SERVICE-role-ENVIRONMENT`.
    pub(crate) fn new(sts: aws_sdk_sts::Client, token_file: PathBuf, service: &str, environment: &str) -> Self {
        let role = format!("arn:aws:iam::{ACCOUNT}:role/{service}-role-{environment}");
        Self { sts, token_file, role, session: format!("{service}-{environment}") }
    }

    async fn assume(&self) -> provider::Result {
        let token =
            tokio::fs::read_to_string(&self.token_file).await.map_err(CredentialsError::invalid_configuration)?;
        let request = self.sts.assume_role_with_web_identity();
        let request = request.role_arn(&self.role).role_session_name(&self.session).web_identity_token(token.trim());
        let answer = request.send().await.map_err(CredentialsError::provider_error)?;
        let given =
            answer.credentials.ok_or_else(|| CredentialsError::unhandled("STS answered without credentials"))?;
        let expiry = SystemTime::try_from(given.expiration).map_err(CredentialsError::unhandled)?;
        let session = Some(given.session_token);
        Ok(Credentials::new(given.access_key_id, given.secret_access_key, session, Some(expiry), "web identity"))
    }
}

impl ProvideCredentials for WebIdentity {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.assume())
    }
}

/// A client of the STS at `endpoint`. It signs nothing: the token is the proof.
pub(crate) fn sts_client(endpoint: &str, region: &str) -> aws_sdk_sts::Client {
    let config = aws_sdk_sts::Config::builder()
        .behavior_version(aws_sdk_sts::config::BehaviorVersion::latest())
        .region(Region::new(region.to_owned()))
        .endpoint_url(endpoint)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    aws_sdk_sts::Client::from_conf(config)
}

/// Writes the token that stands for a service account, where the kubelet would project it: `DIR/SERVICE-ENVIRONMENT/token`.
pub(crate) fn write_token(dir: &Path, service: &str, environment: &str) -> io::Result<PathBuf> {
    let dir = dir.join(format!("{service}-{environment}"));
    std::fs::create_dir_all(&dir)?;
    let path = dir.join("token");
    // {"alg":"none"}.{"iss":"sandbox"}. and the account's name: the shape of a token, signed by nobody.
    std::fs::write(&path, format!("eyJhbGciOiJub25lIn0.eyJpc3MiOiJzYW5kYm94In0.{service}-{environment}\n"))?;
    Ok(path)
}
