//! The consumer: drains the queue of a tenant or a pool into its table.
//!
//! - [`Settings`]: what it takes from its environment
//! - `drain`: receiving, writing, deleting, and what can go wrong with each
//! - `record`: a message as a row of the table
//! - `read`: `GET /consumer/messages`
//! - `depth`: how much waits in the queue
//! - `liveness`, `events`, `metrics`: what can be seen from outside
//! - `steps`: what a message goes through between two calls, for counting what it costs
//! - `operator`: the commands beside the service, `redrive` (dead letters) and `purge` (a tenant that leaves)
//!
//! A 200 of the producer means that the event will be in the table, once. So nothing is deleted from the queue before its
//! record is confirmed, and everything that can be delivered twice is written onto the same record.

mod depth;
mod drain;
mod events;
mod liveness;
mod metrics;
#[cfg(test)]
mod openapi;
mod operator;
mod purge;
mod read;
mod record;
mod redrive;
mod settings;
#[doc(hidden)]
pub mod steps;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use tenancy::aws::Clients;
use tenancy::directory::{Directory, until_found};
use tenancy::registry::{Registry, Serves};
use tenancy::server::{App, Scaffold, StartError, Stop};
use tokio_util::sync::CancellationToken;

use crate::depth::Depth;
use crate::drain::Drainer;
use crate::drain::calls::Calls;
use crate::liveness::Liveness;
use crate::record::Stamps;

pub use metrics::METRICS;
pub use settings::Settings;

/// The service's name: in its paths and its answers.
pub const NAME: &str = "consumer";

/// The version of this build, reported where SERVICE_VERSION is not set.
pub const BUILD_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The process: the service, or a command that a person runs (`consumer redrive`, `consumer purge`).
#[must_use]
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if operator::is_asked(&args) {
        return operator::main(args);
    }
    tenancy::process::main(NAME, BUILD_VERSION, build)
}

/// Builds the service on its ports; nothing is served or received before it is run.
///
/// # Errors
/// A port that cannot be had.
pub async fn build(settings: Settings, clients: Clients) -> Result<App, StartError> {
    tenancy::telemetry::metric::describe(METRICS);
    let common = &settings.common;
    let environment = common.environment.clone();
    let directory = Directory::new(clients.ssm.clone(), &clients.region, &environment, common.directory_ttl.get());
    let registry = Registry::new(directory.clone(), common, Serves::OwnQueue);
    let stamps = Stamps::new(environment.as_str(), settings.record_ttl_days);
    let liveness = Arc::new(Liveness::new(settings.longest_silence));
    let calls = Calls::new(&clients, directory.clone(), environment.clone(), stamps.clone());
    let drainer = Drainer::new(calls, environment.clone(), settings.limits(), stamps, liveness.clone());
    let gauges = drainer.gauges();
    let table = read::Table::new(clients.dynamodb.clone(), directory.clone(), environment.clone());
    let memory = read::Memory::new(common.max_buffered_bytes, &environment);
    let request_timeout = common.request_timeout.get();
    let parts = read::Parts { registry: registry.clone(), table, memory, request_timeout };
    let known = CancellationToken::new();
    let (when_known, depth_known) = (known.clone(), known.clone());
    let every = settings.queue_depth_interval.get();
    let depth = (!every.is_zero()).then(|| Depth::new(&clients, directory.clone(), environment.clone(), every));
    Scaffold::new(NAME, BUILD_VERSION, common, registry)
        .document(include_str!("../openapi.json"))
        .routes(read::router(parts, settings.can_be_read()))
        .ready_when(async move {
            until_found(|| directory.resources(&environment)).await;
            known.cancel();
        })
        .sampled(move || gauges.sample())
        .live_while(move || liveness.is_alive())
        .task("draining", move |stop: Stop| async move {
            // One call reads both parameters, and nothing is received before it is known where to put it.
            tokio::select! {
                () = when_known.cancelled() => {}
                () = stop.signalled() => return,
            }
            let stopped = async {
                stop.signalled().await;
                stop.deadline()
            };
            drainer.run(stopped).await;
        })
        .task("watching the queue's depth", move |stop: Stop| async move {
            tokio::select! {
                () = depth_known.cancelled() => {}
                () = stop.signalled() => return,
            }
            match depth {
                Some(depth) => depth.watch(stop).await,
                None => stop.signalled().await,
            }
        })
        .bind()
        .await
}
