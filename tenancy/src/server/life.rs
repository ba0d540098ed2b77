//! The life of an app: serve, become ready, and on the signal stop in order.
//!
//! At the signal the app is not ready and background work begins to end; it goes on serving for the drain delay, so that
//! load balancers notice; then it accepts nothing more, ends idle connections, answers what is under way, and ends itself
//! within the shutdown timeout, which counts from the signal.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::connection::{self, Until};
use crate::auth::Verifier;

use super::health::Health;
use super::{Bound, admin};

/// Work beside the server.
pub(super) type Task = Box<dyn FnOnce(Stop) -> BoxFuture<'static, ()> + Send>;

/// What the server is called in errors.
const SERVER: &str = "the server";

/// How often the metrics recorder folds what it has gathered.
const UPKEEP: Duration = Duration::from_secs(5);

/// An app that has its ports and does not serve yet.
pub struct App {
    pub(super) name: &'static str,
    pub(super) public: Bound,
    pub(super) admin: Bound,
    pub(super) router: Router,
    pub(super) health: Arc<Health>,
    pub(super) ready: BoxFuture<'static, ()>,
    pub(super) auth: Option<Verifier>,
    pub(super) tasks: Vec<(&'static str, Task)>,
    pub(super) samplers: Vec<admin::Sampler>,
    pub(super) limits: connection::Limits,
    pub(super) drain_delay: Duration,
    pub(super) shutdown_timeout: Duration,
}

/// The way an app ends that should not have ended.
#[derive(Debug, Error)]
pub enum RunError {
    /// Background work ended although nobody asked it to.
    #[error("{0} ended unexpectedly")]
    Task(&'static str),
    /// Background work was not done when the time was up. Clients that are not done by then are no reason: they are cut off, and
    /// a line says so.
    #[error("stopped after SHUTDOWN_TIMEOUT with work unfinished")]
    Unfinished,
}

/// Tells background work when to stop, and until when.
#[derive(Debug, Clone)]
pub struct Stop {
    token: CancellationToken,
    deadline: Arc<OnceLock<Instant>>,
    timeout: Duration,
}

impl Stop {
    /// A stop that is called for by `token`, with this much time from then.
    #[must_use]
    pub fn new(token: CancellationToken, timeout: Duration) -> Self {
        Self { token, deadline: Arc::default(), timeout }
    }

    /// Resolves at the signal.
    pub async fn signalled(&self) {
        self.token.cancelled().await;
        self.deadline();
    }

    /// Whether the signal has come.
    #[must_use]
    pub fn is_signalled(&self) -> bool {
        self.token.is_cancelled()
    }

    /// When everything has to have ended. Counts from the first call after the signal; the app makes it at once.
    pub fn deadline(&self) -> Instant {
        *self.deadline.get_or_init(|| Instant::now() + self.timeout)
    }

    /// How much time there is from the signal.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }
}

impl App {
    /// Where tenants are served.
    #[must_use]
    pub fn public_addr(&self) -> SocketAddr {
        self.public.address
    }

    /// Where probes and metrics are.
    #[must_use]
    pub fn admin_addr(&self) -> SocketAddr {
        self.admin.address
    }

    /// What it serves, for whoever compares that with what it says of itself.
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// Serves until `shutdown`, then stops in order.
    ///
    /// # Errors
    /// Background work ended early, or not in time.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), RunError> {
        let stop = Stop::new(shutdown.clone(), self.shutdown_timeout);
        let (closing, closed, admin_closing) =
            (CancellationToken::new(), CancellationToken::new(), CancellationToken::new());
        // Whatever way this ends, nothing goes on behind its back.
        let _end = closed.clone().drop_guard();

        let mut background = JoinSet::new();
        let until = Until { closing: admin_closing, closed: closed.clone() };
        let admin = admin::routes(self.health.clone(), self.samplers);
        background.spawn(connection::serve(self.admin.listener, admin, connection::Limits::admin(), until));
        background.spawn(upkeep());
        if let Some(auth) = self.auth {
            background.spawn(auth.keep_keys());
        }
        background.spawn(become_ready(self.name, self.ready, self.health.clone()));

        let until = Until { closing: closing.clone(), closed: closed.clone() };
        let mut work = JoinSet::new();
        let serving = connection::serve(self.public.listener, self.router, self.limits, until);
        let mut serving = AbortOnDropHandle::new(tokio::spawn(serving));
        for (name, task) in self.tasks {
            work.spawn(named(name, task(stop.clone())));
        }

        tokio::select! {
            biased;
            () = stop.signalled() => {}
            Some(ended) = work.join_next() => return Err(RunError::Task(name_of(ended))),
            _ = &mut serving => return Err(RunError::Task(SERVER)),
        }
        self.health.set_stopping();
        tracing::info!(service = self.name, "stopping");
        let finish = async {
            let drain = async {
                tokio::time::sleep(self.drain_delay).await;
                closing.cancel();
            };
            let work = async {
                let mut panicked = None;
                while let Some(ended) = work.join_next().await {
                    panicked = panicked.or_else(|| ended.is_err().then(|| name_of(ended)));
                }
                panicked.map_or(Ok(()), |name| Err(RunError::Task(name)))
            };
            let ((), work, served) = tokio::join!(drain, work, &mut serving);
            work.and(served.map_err(|_| RunError::Task(SERVER)))
        };
        let outcome = match tokio::time::timeout_at(stop.deadline(), finish).await {
            Ok(outcome) => outcome,
            Err(_) if work.is_empty() => {
                // What is unfinished is a client's. To wait longer would end in SIGKILL, and to fail would blame the service.
                tracing::warn!(
                    service = self.name,
                    "connections were cut off at SHUTDOWN_TIMEOUT, their requests unanswered"
                );
                Ok(())
            }
            Err(_) => Err(RunError::Unfinished),
        };
        closed.cancel();
        background.abort_all();
        outcome
    }
}

async fn become_ready(name: &'static str, ready: BoxFuture<'static, ()>, health: Arc<Health>) {
    ready.await;
    health.set_started();
    tracing::info!(service = name, "ready");
}

async fn upkeep() {
    loop {
        tokio::time::sleep(UPKEEP).await;
        crate::telemetry::upkeep();
    }
}

async fn named(name: &'static str, work: impl Future<Output = ()>) -> &'static str {
    work.await;
    name
}

fn name_of(ended: Result<&'static str, JoinError>) -> &'static str {
    ended.unwrap_or("background work")
}
