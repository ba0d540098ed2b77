//! DynamoDB, from dynoxide (SQLite). Its router is private to the crate, so it runs on a loopback listener of its own and
//! requests are passed on to it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use axum::extract::Request;
use axum::response::Response;
use dynoxide::Database;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::StartError;
use crate::forward::Forward;

pub(super) struct DynamoDb {
    forward: Forward,
    addr: SocketAddr,
}

impl DynamoDb {
    /// Opens the tables (in memory without a file) and serves them until `stopping`.
    pub(super) async fn start(
        tables: Option<&Path>,
        stopping: CancellationToken,
    ) -> Result<(Self, JoinHandle<()>), StartError> {
        let database = match tables {
            None => Database::memory().map_err(|error| ("memory".to_owned(), error)),
            Some(path) => {
                let path = path.display().to_string();
                Database::new(&path).map_err(|error| (path, error))
            }
        };
        let database = database.map_err(|(path, error)| StartError::Tables { path, reason: error.to_string() })?;
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = TcpListener::bind(addr).await.map_err(|source| StartError::Listen { addr, source })?;
        let addr = listener.local_addr().map_err(|source| StartError::Listen { addr, source })?;
        let server = tokio::spawn(async move {
            let served = dynoxide::server::serve_with_shutdown(listener, database, stopping.cancelled_owned());
            if let Err(error) = served.await {
                tracing::error!(%error, "the embedded DynamoDB ended");
            }
        });
        Ok((Self { forward: Forward::new(), addr }, server))
    }

    pub(super) async fn answer(&self, request: Request) -> Response {
        self.forward.send(self.addr, request).await
    }
}
