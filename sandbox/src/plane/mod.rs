//! The tenant plane: who is on it ([`roster`]), what that calls for ([`layout`]), making it ([`provision`]), running it
//! ([`deploy`]) with each service's own identity, behind the front door.

pub mod deploy;
pub(crate) mod identity;
pub mod layout;
pub mod provision;
pub mod roster;

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenancy::aws::{Clients, Connect};
use tenancy::tenant::TenantId;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::aws::{self, EmbeddedAws};
use crate::console;
use crate::front_door::{self, Rule};
use crate::issuer::Issuer;
use deploy::{Cluster, DeployError, Running};
use layout::{Layout, Service};
use provision::ProvisionError;
use roster::Roster;

/// How long the services may take to become ready.
const READY: Duration = Duration::from_secs(20);
/// How long the services may take to end once told to.
const STOP: Duration = Duration::from_secs(5);

/// How to start a [`Plane`].
#[derive(Debug, Clone)]
pub struct Options {
    /// Who is on it.
    pub roster: Roster,
    /// The region everything is in.
    pub region: String,
    /// The front door's port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// The embedded AWS's port on 127.0.0.1; 0 takes a free one.
    pub aws_port: u16,
    /// A directory that keeps the tables over restarts. Without one they live in memory.
    pub data: Option<PathBuf>,
    /// Whether requests need a token of the sandbox's own issuer.
    pub auth: bool,
}

/// Why a [`Plane`] did not start. Each text names the option to change.
#[derive(Debug, Error)]
pub enum StartError {
    /// A port cannot be had.
    #[error("--{option} {}: {}; give another one (0 takes a free one)", .addr.port(), listen_text(.addr, .source))]
    Port {
        /// The command-line option that sets it.
        option: &'static str,
        /// What was to be bound.
        addr: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The directory for tables cannot be used.
    #[error("--data {path}: {reason}")]
    Data {
        /// The directory.
        path: String,
        /// Why not.
        reason: String,
    },
    /// The issuer of tokens does not start.
    #[error("--auth: {0}")]
    Issuer(std::io::Error),
    /// A temporary directory for the web identity tokens cannot be made.
    #[error("cannot make a temporary directory: {0}")]
    Temporary(std::io::Error),
    /// A queue, table or parameter cannot be made.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// A service does not start.
    #[error(transparent)]
    Deploy(#[from] DeployError),
    /// A service is not ready in time.
    #[error("{deployment} is not ready after {} s; its log lines say why", READY.as_secs())]
    NotReady {
        /// Which one.
        deployment: layout::Deployment,
    },
}

fn listen_text(addr: &SocketAddr, source: &std::io::Error) -> String {
    match source.kind() {
        std::io::ErrorKind::AddrInUse => format!("{addr} is in use by another process"),
        _ => format!("cannot listen on {addr} ({source})"),
    }
}

/// A running plane.
#[derive(Debug)]
pub struct Plane {
    layout: Layout,
    aws: EmbeddedAws,
    clients: Clients,
    front_door: SocketAddr,
    door: JoinHandle<()>,
    services: Vec<Running>,
    issuer: Option<Issuer>,
    /// Dropping it tells everything to stop, also when only half of it has started.
    stopping: DropGuard,
    /// Holds the web identity tokens; removed when dropped.
    _tokens: tempfile::TempDir,
    /// Keeps other sandboxes out of the data directory.
    _lock: Option<std::fs::File>,
}

impl Plane {
    /// Starts the embedded AWS, makes every resource, starts every service and opens the front door when all are ready.
    ///
    /// # Errors
    /// The first thing that could not be had, by the name of the option that changes it.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let layout = Layout::new(options.roster, &options.region);
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let taken = |source| StartError::Port { option: "port", addr, source };
        let listener = TcpListener::bind(addr).await.map_err(taken)?;
        let front_door = listener.local_addr().map_err(taken)?;
        let lock = options.data.as_deref().map(lock_data).transpose()?;
        let aws = start_aws(&options.region, options.aws_port, options.data.as_deref()).await?;
        let clients = operator(&aws.url(), &options.region);
        provision::provision(&layout, &clients).await?;

        let tokens = tempfile::tempdir().map_err(StartError::Temporary)?;
        let stopping = CancellationToken::new().drop_guard();
        let told = stopping.token().clone();
        let issuer = match options.auth {
            true => Some(Issuer::start(told.clone()).await.map_err(StartError::Issuer)?),
            false => None,
        };
        let cluster = Cluster {
            endpoint: aws.url(),
            region: &options.region,
            tokens: tokens.path(),
            stopping: told.clone(),
            issuer: issuer.clone(),
        };
        let mut services = Vec::new();
        for deployment in layout.deployments() {
            services.push(cluster.deploy(deployment).await?);
        }
        for service in &services {
            if !service.ready(READY).await {
                return Err(StartError::NotReady { deployment: service.deployment.clone() });
            }
        }
        let console = console::router(console::Parts {
            layout: layout.clone(),
            services: &services,
            look: aws.look(),
            clients: clients.clone(),
            front_door,
            issuer: issuer.clone(),
            aws: aws.url(),
            region: options.region.clone(),
            stopping: told.clone(),
        });
        let door = front_door::open(listener, rules(&layout, &services), console, issuer.clone(), told);
        Ok(Self { layout, aws, clients, front_door, door, services, issuer, stopping, _tokens: tokens, _lock: lock })
    }

    /// What runs and why.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The AWS below it.
    #[must_use]
    pub fn aws(&self) -> &EmbeddedAws {
        &self.aws
    }

    /// Clients with an operator's rights, for looking at it.
    #[must_use]
    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    /// Where the front door is.
    #[must_use]
    pub fn front_door(&self) -> SocketAddr {
        self.front_door
    }

    /// What a client of a tenant sends as `Authorization`; `None` where nothing is asked.
    #[must_use]
    pub fn bearer(&self, tenant: &TenantId) -> Option<String> {
        self.issuer.as_ref()?.bearer(tenant.as_str())
    }

    /// The services, each where it listens.
    #[must_use]
    pub fn services(&self) -> &[Running] {
        &self.services
    }

    /// Ends everything, in a few seconds: the front door closes, services finish what they have, AWS goes last.
    pub async fn stop(self) {
        self.stopping.disarm().cancel();
        // A consumer finishes its open poll before it ends; nothing more will arrive that it could wait for.
        self.aws.end_long_polls();
        futures_util::future::join_all(self.services.into_iter().map(|service| service.ended(STOP))).await;
        self.door.abort();
        self.aws.stop().await;
    }
}

fn rules(layout: &Layout, services: &[Running]) -> Vec<Rule> {
    let all = layout.roster().tenants.iter().flat_map(|tenant| Service::ALL.map(|service| (tenant, service)));
    let rule = |(tenant, service): (&roster::Tenant, Service)| {
        let deployment = layout.deployment_for(&tenant.id, service);
        let running = services.iter().find(|running| running.deployment == deployment)?;
        Some(Rule { tenant: tenant.id.to_string(), service: service.to_string(), to: running.public })
    };
    all.filter_map(rule).collect()
}

async fn start_aws(region: &str, port: u16, data: Option<&Path>) -> Result<EmbeddedAws, StartError> {
    let tables = data.map(|dir| dir.join("tables.sqlite"));
    let options = aws::Options { port, tables, region: region.to_owned() };
    EmbeddedAws::start(options).await.map_err(|error| match error {
        aws::StartError::Listen { addr, source } => StartError::Port { option: "aws-port", addr, source },
        aws::StartError::Tables { path, reason } => {
            StartError::Data { path: data.map_or(path, |dir| dir.display().to_string()), reason }
        }
    })
}

/// Makes the directory and locks it: two processes on the same tables would serve each other's records.
fn lock_data(dir: &Path) -> Result<std::fs::File, StartError> {
    let failed = |reason: String| StartError::Data { path: dir.display().to_string(), reason };
    std::fs::create_dir_all(dir).map_err(|error| failed(error.to_string()))?;
    let lock = std::fs::File::create(dir.join("lock")).map_err(|error| failed(error.to_string()))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(std::fs::TryLockError::WouldBlock) => Err(failed("another sandbox uses this directory".to_owned())),
        Err(std::fs::TryLockError::Error(error)) => Err(failed(error.to_string())),
    }
}

fn operator(endpoint: &str, region: &str) -> Clients {
    Connect::with_keys(region, endpoint, "sandbox", "sandbox").clients()
}
