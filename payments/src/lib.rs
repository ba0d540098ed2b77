//! Payments: takes each payment once and publishes it to the queue of its tenant.
//!
//! - [`Settings`]: what it takes from its environment
//! - `routes`: `POST /payments` and `GET /payments/{payment_id}`; `answer`: what clients are told
//! - `payment`, `money`: what is to be paid, parsed once and then trusted
//! - `claims`: one key, one payment: the conditional put in the tenant's table
//! - `events`: what is worth a log line or a number
//!
//! Who is served, which queue is whose, and how messages reach SQS is in [`tenancy`].

mod answer;
mod claims;
mod events;
mod money;
#[cfg(test)]
mod openapi;
mod payment;
mod routes;
mod settings;

use claims::Claims;
use tenancy::aws::Clients;
use tenancy::config::Switch;
use tenancy::directory::{Directory, until_found};
use tenancy::message::DEFAULT_MAX_MESSAGE_BYTES;
use tenancy::publisher::{Limits, Publisher};
use tenancy::registry::{Registry, Serves};
use tenancy::server::{App, Intake, Scaffold, StartError};

pub use events::METRICS;
pub use settings::Settings;

/// The service's name: in its paths, its answers and its payment ids.
pub const NAME: &str = "payments";

/// The version of this build, reported where SERVICE_VERSION is not set.
pub const BUILD_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Bytes of the messages in one queue's lane: a payment's has 2 KiB, so this is more than a lane has places for.
const LANE_BYTES: usize = 4 * 1024 * 1024;

/// Builds the service on its ports; nothing is served before it is run.
///
/// # Errors
/// A port that cannot be had.
pub async fn build(settings: Settings, clients: Clients) -> Result<App, StartError> {
    tenancy::telemetry::metric::describe(METRICS);
    let common = &settings.common;
    let environment = common.environment.clone();
    let directory = Directory::new(clients.ssm.clone(), &clients.region, &environment, common.directory_ttl.get());
    let registry = Registry::new(directory.clone(), common, Serves::OwnQueue);
    let limits = Limits {
        message_bytes: DEFAULT_MAX_MESSAGE_BYTES,
        lane_bytes: LANE_BYTES,
        fair_queues: settings.fair_queues == Switch::On,
        metrics_tenants: common.metrics_tenants,
        portions: None,
    };
    let publisher = Publisher::new(&clients, directory.clone(), environment.clone(), limits);
    let lanes = publisher.clone();
    let claims =
        Claims::new(clients.dynamodb.clone(), directory.clone(), environment.clone(), settings.record_ttl_days);
    let parts = routes::Parts {
        registry: registry.clone(),
        publisher,
        claims,
        intake: Intake::new(common),
        version: common.version(BUILD_VERSION),
        request_timeout: common.request_timeout.get(),
    };
    Scaffold::new(NAME, BUILD_VERSION, common, registry)
        .document(include_str!("../openapi.json"))
        .routes(routes::router(parts, settings.can_be_read()))
        .sampled(move || lanes.sample())
        .ready_when(async move {
            until_found(|| directory.resources(&environment)).await;
        })
        .bind()
        .await
}
