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
pub(crate) use outcome::{Latencies, Outcome};
pub(crate) use target::{Target, event};

/// How long answers are waited for, unless there is a reason not to.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What is to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) to: SocketAddr,
    pub(crate) target: Target,
    pub(crate) connections: usize,
    pub(crate) time: Duration,
    /// Requests a second in open loop; `None` is closed loop.
    pub(crate) rate: Option<f64>,
    /// How long answers are waited for after that.
    pub(crate) patience: Duration,
    /// At most so many requests, in either loop.
    pub(crate) most: Option<u64>,
    /// Whether to keep the ids in the answers, with the time each request was due.
    pub(crate) keep_ids: bool,
}

impl Plan {
    /// As many requests as are answered in `time`.
    pub(crate) fn closed(to: SocketAddr, target: Target, connections: usize, time: Duration) -> Self {
        Self { to, target, connections, time, rate: None, patience: PATIENCE, most: None, keep_ids: false }
    }
}
