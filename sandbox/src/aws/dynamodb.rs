//! DynamoDB, from dynoxide (SQLite). Its router is private to the crate, so it runs on a loopback listener of its own and
//! requests are passed on to it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use dynoxide::Database;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::StartError;
use super::landings::Landings;
use crate::forward::Forward;

pub(super) struct DynamoDb {
    forward: Forward,
    addr: SocketAddr,
    landings: Landings,
}

impl DynamoDb {
    /// Opens the tables (in memory without a file) and serves them until `stopping`.
    pub(super) async fn start(
        tables: Option<&Path>,
        landings: Landings,
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
        Ok((Self { forward: Forward::new(), addr, landings }, server))
    }

    pub(super) async fn answer(&self, action: &str, head: http::request::Parts, body: Bytes) -> Response {
        let landings = self.landings.expected(action, &body);
        let answer = self.forward.send(self.addr, Request::from_parts(head, Body::from(body))).await;
        // The database leaves nothing of a batch unprocessed: what it answers with 200 is written.
        if answer.status().is_success() {
            self.landings.written(landings);
        }
        answer
    }
}
