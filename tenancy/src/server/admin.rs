//! The admin port: `/livez`, `/readyz`, `/metrics`. Nothing of it is on the tenants' port.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use http::{StatusCode, header};

use crate::problem::Problem;

use super::health::Health;

/// Sets gauges when somebody is about to read them.
pub(super) type Sampler = Box<dyn Fn() + Send + Sync>;

pub(super) fn routes(health: Arc<Health>, samplers: Vec<Sampler>) -> Router {
    let samplers: Arc<[Sampler]> = samplers.into();
    Router::new()
        .route("/livez", get(|State(health): State<Arc<Health>>| async move { probe(health.is_live()) }))
        .route("/readyz", get(|State(health): State<Arc<Health>>| async move { probe(health.is_ready()) }))
        .route("/metrics", get(move || metrics(samplers.clone())))
        .fallback(|| async { Problem::NotFound })
        .with_state(health)
}

fn probe(well: bool) -> (StatusCode, &'static str) {
    if well { (StatusCode::OK, "ok\n") } else { (StatusCode::SERVICE_UNAVAILABLE, "not ok\n") }
}

async fn metrics(samplers: Arc<[Sampler]>) -> impl IntoResponse {
    samplers.iter().for_each(|sample| sample());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], crate::telemetry::render())
}
