//! Embedded AWS: SQS, DynamoDB, SSM parameters and STS behind one HTTP listener on 127.0.0.1, for the sandbox and for tests.
//!
//! ```text
//! X-Amz-Target: AmazonSQS.…        → sqs       messages are ours, queues winterbaume-sqs
//! X-Amz-Target: DynamoDB_20120810… → dynamodb  dynoxide, on a listener of its own; requests are passed on
//! X-Amz-Target: AmazonSSM.…        → ssm       winterbaume-ssm
//! form body (Action=…)             → sts       winterbaume-sts
//! ```
//!
//! What AWS refuses is refused here as well as far as it concerns this product (`sqs::limits`), so that a test on the embedded
//! AWS is worth something. What stands in front of each crate, and why, is said in its module.
//!
//! Nothing here polls: an idle endpoint, and a consumer that waits in a long poll, cost no CPU.

mod dynamodb;
mod landings;
pub mod look;
mod scope;
mod sqs;
mod ssm;
mod sts;

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use landings::Landing;
use look::Look;
use scope::Service;

/// The account that every embedded resource belongs to.
pub const ACCOUNT: &str = "123456789012";

/// The largest request that is read, in bytes: DynamoDB's own limit for a batch.
const MAX_REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// How long [`EmbeddedAws::stop`] waits for requests in flight. They take milliseconds; a connection that was opened and never
/// used looks the same as one whose request is on its way, and clients keep such connections.
const STOP_GRACE: Duration = Duration::from_millis(500);

/// How to start an [`EmbeddedAws`].
#[derive(Debug, Clone)]
pub struct Options {
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// A file that keeps the tables over restarts; without it they live in memory. Queues and parameters always do.
    pub tables: Option<PathBuf>,
    /// The region of requests that name none (unsigned ones). Signed requests carry their own.
    pub region: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { port: 0, tables: None, region: "eu-west-1".to_owned() }
    }
}

/// Why an [`EmbeddedAws`] did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The port cannot be bound.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// What was to be bound.
        addr: SocketAddr,
        /// The system's reason; `AddrInUse` when another process has the port.
        source: std::io::Error,
    },
    /// The file of the tables cannot be opened or is not one.
    #[error("cannot open the tables in {path}: {reason}")]
    Tables {
        /// The file.
        path: String,
        /// What the database said.
        reason: String,
    },
}

/// A running embedded AWS. Dropping it ends it at once; [`EmbeddedAws::stop`] lets requests in flight finish.
#[derive(Debug)]
pub struct EmbeddedAws {
    addr: SocketAddr,
    /// Ends open long polls with an empty answer.
    hurry: CancellationToken,
    look: Look,
    stopping: CancellationToken,
    servers: Vec<JoinHandle<()>>,
}

struct Services {
    region: String,
    sqs: sqs::Sqs,
    dynamodb: dynamodb::DynamoDb,
    ssm: ssm::Ssm,
    sts: sts::Sts,
}

impl EmbeddedAws {
    /// Starts all services on `127.0.0.1:{options.port}`. Needs a Tokio runtime.
    ///
    /// # Errors
    /// When the port is taken or the file of the tables cannot be used.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let listener = TcpListener::bind(addr).await.map_err(|source| StartError::Listen { addr, source })?;
        let addr = listener.local_addr().map_err(|source| StartError::Listen { addr, source })?;
        let hurry = CancellationToken::new();
        let stopping = CancellationToken::new();
        let landings = landings::Landings::default();
        let (dynamodb, tables) =
            dynamodb::DynamoDb::start(options.tables.as_deref(), landings.clone(), stopping.clone()).await?;
        let services = Arc::new(Services {
            sqs: sqs::Sqs::new(format!("http://{addr}"), hurry.clone()),
            dynamodb,
            ssm: ssm::Ssm::default(),
            sts: sts::Sts::default(),
            region: options.region,
        });
        let look = Look::new(services.clone(), landings);
        let app = Router::new().fallback(answer).with_state(services);
        // Answers are small and awaited: without this each one waits for the client's delayed acknowledgement.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let stop = stopping.clone();
        let server = tokio::spawn(async move {
            let serving = axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned());
            if let Err(error) = serving.await {
                tracing::error!(%error, "the embedded AWS ended");
            }
        });
        Ok(Self { addr, hurry, look, stopping, servers: vec![server, tables] })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The endpoint of every service, `http://127.0.0.1:PORT`: what belongs into `AWS_ENDPOINT_URL`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Records as tables take them, from now on.
    #[must_use]
    pub fn watch_records(&self) -> tokio::sync::broadcast::Receiver<Landing> {
        self.look.watch_records()
    }

    /// A view of its queues and tables.
    #[must_use]
    pub fn look(&self) -> Look {
        self.look.clone()
    }

    /// Ends every open long poll, and from now on each new one, with an empty answer, so that consumers which finish their
    /// polls before they stop need not sit out the wait. To be called once they have been told to stop.
    pub fn end_long_polls(&self) {
        self.hurry.cancel();
    }

    /// Stops: no new connections, long polls end, requests in flight have half a second.
    pub async fn stop(mut self) {
        self.hurry.cancel();
        self.stopping.cancel();
        let servers = std::mem::take(&mut self.servers);
        let aborts: Vec<_> = servers.iter().map(JoinHandle::abort_handle).collect();
        if tokio::time::timeout(STOP_GRACE, futures_util::future::join_all(servers)).await.is_err() {
            aborts.iter().for_each(tokio::task::AbortHandle::abort);
        }
    }
}

impl Drop for EmbeddedAws {
    fn drop(&mut self) {
        self.hurry.cancel();
        self.stopping.cancel();
        self.servers.iter().for_each(JoinHandle::abort);
    }
}

/// One request of any service.
async fn answer(State(services): State<Arc<Services>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_REQUEST_BYTES).await else {
        return (http::StatusCode::PAYLOAD_TOO_LARGE, "the request was cut off or is larger than 16 MiB\n")
            .into_response();
    };
    let region = scope::region(&head.headers).unwrap_or(&services.region).to_owned();
    match scope::service(&head.headers) {
        Some((Service::Sqs, action)) => services.sqs.answer(&region, &action, body).await,
        Some((Service::Ssm, action)) => services.ssm.answer(&region, &action, head.headers, body).await,
        Some((Service::DynamoDb, action)) => services.dynamodb.answer(&action, head, body).await,
        Some((Service::Sts, _)) => services.sts.answer(&region, head.headers, body).await,
        None => {
            let text = "an AWS endpoint for SQS, DynamoDB, SSM (X-Amz-Target) and STS (query protocol); this request is none of these\n";
            (http::StatusCode::BAD_REQUEST, text).into_response()
        }
    }
}
