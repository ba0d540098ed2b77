//! The producer: takes events over HTTP and publishes each to the queue of its tenant.
//!
//! - [`Settings`]: what it takes from its environment
//! - `routes`: `POST /producer` and `POST /producer/batch`
//! - `batch`: reading a batch without touching its events; `answer`: what clients are told
//!
//! Who is served, which queue is whose, and how messages reach SQS is in [`tenancy`].

mod answer;
mod batch;
#[cfg(test)]
mod openapi;
mod routes;
mod settings;

use tenancy::aws::Clients;
use tenancy::config::Switch;
use tenancy::directory::{Directory, until_found};
use tenancy::publisher::{Limits, Publisher};
use tenancy::registry::{Registry, Serves};
use tenancy::server::{App, Intake, Portions, Scaffold, StartError};

pub use settings::Settings;

/// The service's name: in its paths, its answers and its idempotent message ids.
pub const NAME: &str = "producer";

/// The version of this build, reported where SERVICE_VERSION is not set.
pub const BUILD_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Bytes of the messages in one queue's lane: a quarter of the bodies that are held at most by default, so that one slow queue
/// leaves the memory of the others alone, and ten of the largest events.
const LANE_BYTES: usize = 4 * 1024 * 1024;

/// Builds the service on its ports; nothing is served before it is run.
///
/// # Errors
/// A port that cannot be had.
pub async fn build(settings: Settings, clients: Clients) -> Result<App, StartError> {
    let common = &settings.common;
    let environment = common.environment.clone();
    let directory = Directory::new(clients.ssm.clone(), &clients.region, &environment, common.directory_ttl.get());
    let registry = Registry::new(directory.clone(), common, Serves::AnyQueue);
    let limits = Limits {
        message_bytes: settings.max_message_bytes,
        lane_bytes: LANE_BYTES,
        fair_queues: settings.fair_queues == Switch::On,
        metrics_tenants: common.metrics_tenants,
        portions: Portions::of(common),
    };
    let publisher = Publisher::new(&clients, directory.clone(), environment.clone(), limits);
    let lanes = publisher.clone();
    let routes = routes::router(routes::Parts {
        registry: registry.clone(),
        publisher,
        intake: Intake::new(common),
        version: common.version(BUILD_VERSION),
        max_message_bytes: settings.max_message_bytes,
        max_body_bytes: common.max_body_bytes,
    });
    Scaffold::new(NAME, BUILD_VERSION, common, registry)
        .document(include_str!("../openapi.json"))
        .routes(routes)
        .sampled(move || lanes.sample())
        .ready_when(async move {
            until_found(|| directory.queue(&environment)).await;
        })
        .bind()
        .await
}
