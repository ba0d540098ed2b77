//! Running a [`Deployment`]: the service's own code in this process, on ports of its own, with an identity of its own.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use aws_credential_types::provider::SharedCredentialsProvider;
use aws_types::region::Region;
use tenancy::aws::{Clients, Connect, Endpoints, Refreshing};
use tenancy::config::{Parsed, Settings, parse};
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::issuer::Issuer;

use super::identity::{WebIdentity, sts_client, write_token};
use super::layout::{Deployment, Service};

/// A deployment that did not start.
#[derive(Debug, Error)]
#[error("{deployment} does not start: {reason}")]
pub struct DeployError {
    deployment: Deployment,
    reason: String,
}

/// A service that runs.
#[derive(Debug)]
pub struct Running {
    /// Which one.
    pub deployment: Deployment,
    /// Where tenants' requests are answered.
    pub public: SocketAddr,
    /// Where probes and metrics are.
    pub admin: SocketAddr,
    task: JoinHandle<Result<(), String>>,
}

/// What deployments have in common.
pub(super) struct Cluster<'a> {
    /// The endpoint of every AWS service.
    pub(super) endpoint: String,
    pub(super) region: &'a str,
    /// Where web identity tokens are written.
    pub(super) tokens: &'a Path,
    pub(super) stopping: CancellationToken,
    /// Where the services' callers need a token.
    pub(super) issuer: Option<Issuer>,
}

impl Cluster<'_> {
    /// Starts one service. It is ready once it has read its parameters.
    pub(super) async fn deploy(&self, deployment: Deployment) -> Result<Running, DeployError> {
        match self.start(&deployment).await {
            Ok((public, admin, task)) => Ok(Running { deployment, public, admin, task }),
            Err(reason) => Err(DeployError { deployment, reason }),
        }
    }

    async fn start(
        &self,
        deployment: &Deployment,
    ) -> Result<(SocketAddr, SocketAddr, JoinHandle<Result<(), String>>), String> {
        let clients = self.clients(deployment)?;
        let mut arguments = arguments(deployment);
        arguments.extend(self.issuer.iter().flat_map(Issuer::arguments));
        let app = match deployment.service {
            Service::Producer => producer::build(settings(&arguments)?, clients).await,
            Service::Consumer => consumer::build(settings(&arguments)?, clients).await,
            Service::Payments => payments::build(settings(&arguments)?, clients).await,
        };
        let app = app.map_err(|error| error.to_string())?;
        let (public, admin) = (app.public_addr(), app.admin_addr());
        let stopping = self.stopping.clone();
        let run = async move { app.run(stopping).await.map_err(|error| error.to_string()) };
        Ok((public, admin, tokio::spawn(run)))
    }

    /// Clients that call as the deployment's own role.
    fn clients(&self, deployment: &Deployment) -> Result<Clients, String> {
        let (service, environment) = (deployment.service.name(), deployment.environment.as_str());
        let token =
            write_token(self.tokens, service, environment).map_err(|error| format!("web identity token: {error}"))?;
        let identity = WebIdentity::new(sts_client(&self.endpoint, self.region), token, service, environment);
        let name = format!("web identity of {deployment}");
        let connect = Connect {
            region: Region::new(self.region.to_owned()),
            endpoints: Endpoints::all(&self.endpoint),
            credentials: Refreshing::new(name, SharedCredentialsProvider::new(identity)),
        };
        Ok(connect.clients())
    }
}

/// The settings of a deployment as a command line: everything that differs from a cluster's is said here.
fn arguments(deployment: &Deployment) -> Vec<String> {
    let mut arguments: Vec<String> = [
        deployment.service.name(),
        "--environment",
        deployment.environment.as_str(),
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--admin-port",
        "0",
        // No load balancer has to notice that we stop.
        "--drain-delay",
        "0s",
    ]
    .map(str::to_owned)
    .into();
    if deployment.service != Service::Producer {
        // On one machine whoever asks may read.
        arguments.extend(["--record-reads".to_owned(), "on".to_owned()]);
    }
    arguments
}

/// As the service itself reads them, checked as a whole. What the process's environment sets applies to every service.
fn settings<S: Settings>(arguments: &[String]) -> Result<S, String> {
    match parse(arguments.iter().map(OsString::from)) {
        Ok(Parsed::Run(settings)) => Ok(settings),
        Ok(Parsed::Print(text)) => Err(text),
        Err(error) => Err(error.to_string()),
    }
}

impl Running {
    /// Waits, at most `patience`, until the service is ready; whether it is.
    pub(super) async fn ready(&self, patience: Duration) -> bool {
        let url = format!("http://{}/{}/readiness-probe", self.public, self.deployment.service);
        let answered = async {
            while crate::ask::get(&url).await.is_none_or(|status| !status.is_success()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(patience, answered).await.is_ok()
    }

    /// Waits for the end of a service that was told to stop, and says so when it had to be ended or failed.
    pub(super) async fn ended(mut self, patience: Duration) {
        match tokio::time::timeout(patience, &mut self.task).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::error!(deployment = %self.deployment, error, "ended with an error"),
            Ok(Err(error)) => tracing::error!(deployment = %self.deployment, %error, "ended by a panic"),
            Err(_) => {
                tracing::warn!(deployment = %self.deployment, "did not end in time and was cut off");
                self.task.abort();
            }
        }
    }
}
