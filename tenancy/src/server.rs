//! The HTTP scaffold that every service stands on.
//!
//! [`Scaffold`] takes a service's routes and adds what all have: identity, probes, header rules, limits, timeouts, problems.
//! Bound to its ports it is an [`App`]; [`App::run`] is its life, from accepting to the last answer. Nothing here reads the
//! environment or a global, so an app can be started twice in one process.
//!
//! | file | what it holds |
//! |---|---|
//! | `edge` | what happens to every request, in order |
//! | `headers` | `tenantID`, `tier`, `Idempotency-Key`, `traceparent` |
//! | `intake` | reading a body: size, time, memory, media type |
//! | `identity` | `GET /NAME` and the readiness probe |
//! | `document` | `GET /NAME/openapi.json` |
//! | `connection`, `pace` | accepting, and how long a connection may take over what |
//! | `rest` | what is left of a body when its request is answered |
//! | `admin` | `/livez`, `/readyz`, `/metrics` |
//! | `seen` | the metrics of requests |
//! | `life` | start, drain, stop |

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};

use crate::auth::Verifier;
use crate::config::{Common, ConfigError};
use crate::registry::Registry;
use crate::share::FairShare;

mod admin;
mod connection;
mod document;
mod edge;
pub mod headers;
mod health;
mod identity;
mod intake;
mod life;
mod pace;
mod rest;
mod seen;

pub use edge::{Named, Served};
pub use intake::{Intake, Payload, Portion, Portions};
pub use life::{App, RunError, Stop};

use health::Health;

/// A service in the making: its routes, and what runs beside them.
pub struct Scaffold {
    name: &'static str,
    common: Common,
    version: String,
    registry: Registry,
    routes: Router,
    document: Option<&'static str>,
    ready: BoxFuture<'static, ()>,
    live: Arc<dyn Fn() -> bool + Send + Sync>,
    tasks: Vec<(&'static str, life::Task)>,
    samplers: Vec<admin::Sampler>,
}

/// A service that does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A port could not be taken.
    #[error("{variable}: cannot listen on {address}: {source}")]
    Port {
        /// The setting that names it.
        variable: &'static str,
        /// What was to be taken.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Settings that were not checked before contradict each other.
    #[error(transparent)]
    Settings(#[from] ConfigError),
}

impl Scaffold {
    /// A service called `name` (the first segment of its paths) of this version, which serves whom `registry` says.
    #[must_use]
    pub fn new(name: &'static str, build_version: &str, common: &Common, registry: Registry) -> Self {
        Self {
            name,
            version: common.version(build_version),
            common: common.clone(),
            registry,
            routes: Router::new(),
            document: None,
            ready: Box::pin(std::future::ready(())),
            live: Arc::new(|| true),
            tasks: Vec::new(),
            samplers: Vec::new(),
        }
    }

    /// The service's own routes, with their state.
    #[must_use]
    pub fn routes(mut self, routes: Router) -> Self {
        self.routes = routes;
        self
    }

    /// The service's OpenAPI document, served as it is.
    #[must_use]
    pub fn document(mut self, document: &'static str) -> Self {
        self.document = Some(document);
        self
    }

    /// The app is ready when this has ended: parameters are read. Not before it is run.
    #[must_use]
    pub fn ready_when(mut self, ready: impl Future<Output = ()> + Send + 'static) -> Self {
        self.ready = Box::pin(ready);
        self
    }

    /// The process is alive while this says so. It must answer at once, from memory.
    #[must_use]
    pub fn live_while(mut self, live: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.live = Arc::new(live);
        self
    }

    /// Work that goes on beside the server. It ends after [`Stop::signalled`]; ending earlier is a failure of the app.
    #[must_use]
    pub fn task<F>(mut self, name: &'static str, work: impl FnOnce(Stop) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.push((name, Box::new(move |stop| Box::pin(work(stop)))));
        self
    }

    /// Called before each scrape of `/metrics`: sets gauges whose values are known anyhow, so that keeping them costs nothing
    /// between scrapes. It must not block.
    #[must_use]
    pub fn sampled(mut self, sample: impl Fn() + Send + Sync + 'static) -> Self {
        self.samplers.push(Box::new(sample));
        self
    }

    /// Takes the ports.
    ///
    /// # Errors
    /// A port that cannot be had, with the variable that names it; settings that contradict each other.
    pub async fn bind(self) -> Result<App, StartError> {
        let auth = self.common.auth.identity()?.map(Verifier::new);
        let public = listen(&self.common, self.common.port, "PORT").await?;
        let admin = listen(&self.common, self.common.admin_port, "ADMIN_PORT").await?;
        let health = Arc::new(Health::new(self.live));
        let identity = identity::Identity::new(self.name, &self.version, self.registry.clone());
        let own = identity::routes(self.name, identity, health.clone());
        let document = self.document.map(|document| document::routes(self.name, document)).unwrap_or_default();
        let shares = self.common.share.shares()?;
        let share = shares.map(|shares| FairShare::new(&shares, self.common.metrics_tenants));
        let access = edge::Access { auth: auth.clone(), share };
        let router =
            edge::wrap(own.merge(document).merge(self.routes), self.name, &self.common, health.clone(), access);
        crate::telemetry::metric::describe(crate::telemetry::table::COMMON);
        crate::telemetry::build_info(self.name, &self.version);
        Ok(App {
            name: self.name,
            public,
            admin,
            router,
            health,
            ready: match auth.clone() {
                None => self.ready,
                Some(auth) => Box::pin(async move {
                    tokio::join!(self.ready, auth.ready());
                }),
            },
            auth,
            tasks: self.tasks,
            samplers: self.samplers,
            limits: connection::Limits::of(&self.common),
            drain_delay: self.common.drain_delay.get(),
            shutdown_timeout: self.common.shutdown_timeout.get(),
        })
    }
}

/// Connections that may wait to be accepted. With the usual 128, clients that all come back at once find the queue full, and one
/// that then says nothing believes it is connected to nobody, for ever. The kernel lowers it to `net.core.somaxconn`.
const BACKLOG: u32 = 4_096;

/// A listener and its address.
struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

async fn listen(common: &Common, port: u16, variable: &'static str) -> Result<Bound, StartError> {
    let address = SocketAddr::new(common.host, port);
    let bound = async {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // So that a new process can take the port of one that has just ended, as every listener of the standard library does.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        let address = listener.local_addr()?;
        Ok(Bound { listener, address })
    };
    bound.await.map_err(|source| StartError::Port { variable, address, source })
}

#[cfg(test)]
#[path = "server/tests.rs"]
mod tests;
