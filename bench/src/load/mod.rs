//! The load generator: one thread, HTTP/1.1 without pipelining, a few microseconds a request.
//!
//! Closed loop: each connection sends its next request when the last one is answered; that shows what the service can do. Open
//! loop: requests are due at a fixed rate, whatever the answers do; latency counts from when a request was due, also when no
//! connection was free for it. So a service that stalls is charged for all who would have come meanwhile.

mod connection;
mod generator;
mod outcome;
mod target;

use std::net::SocketAddr;
use std::time::Duration;

pub(crate) use generator::run;
pub(crate) use target::{Target, event};

/// What is to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) to: SocketAddr,
    pub(crate) target: Target,
    pub(crate) connections: usize,
    pub(crate) time: Duration,
    /// Requests a second in open loop; `None` is closed loop.
    pub(crate) rate: Option<f64>,
    /// At most so many requests, in either loop.
    pub(crate) most: Option<u64>,
    /// Whether to keep the ids in the answers, with the time each request was due.
    pub(crate) keep_ids: bool,
}
