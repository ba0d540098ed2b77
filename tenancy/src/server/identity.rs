//! `GET /NAME`: who answers. `GET /NAME/readiness-probe`: whether it can serve.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use http::{Extensions, StatusCode};
use serde::Serialize;

use crate::problem::Problem;
use crate::registry::Registry;
use crate::share::Meter;

use super::edge::Named;
use super::health::Health;

/// The four keys that every service answers with.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    name: &'static str,
    version: Arc<str>,
    registry: Registry,
}

#[derive(Serialize)]
struct Answer<'a> {
    tenant_id: Option<&'a str>,
    environment: &'a str,
    version: &'a str,
    microservice: &'a str,
}

impl Identity {
    pub(super) fn new(name: &'static str, version: &str, registry: Registry) -> Self {
        Self { name, version: version.into(), registry }
    }
}

/// The path where it is said who answers.
pub(super) fn path(name: &str) -> String {
    format!("/{name}")
}

/// The path of the readiness probe on the tenants' port.
pub(super) fn readiness_path(name: &str) -> String {
    format!("/{name}/readiness-probe")
}

pub(super) fn routes(name: &'static str, identity: Identity, health: Arc<Health>) -> Router {
    let who = Router::new().route(&path(name), get(identify)).with_state(identity);
    let ready = Router::new().route(&readiness_path(name), get(readiness)).with_state(health);
    who.merge(ready)
}

async fn identify(
    State(identity): State<Identity>,
    Named(caller): Named,
    extensions: Extensions,
) -> Result<Json<serde_json::Value>, Problem> {
    if let Some(caller) = &caller {
        let route = identity.registry.route(caller).await?;
        Meter::of(&extensions).tenant(&route.tenant)?;
    }
    let answer = Answer {
        tenant_id: caller.as_ref().map(|caller| caller.tenant.as_str()),
        environment: identity.registry.environment().as_str(),
        version: &identity.version,
        microservice: identity.name,
    };
    serde_json::to_value(answer).map(Json).map_err(|_| Problem::Internal)
}

async fn readiness(State(health): State<Arc<Health>>) -> (StatusCode, Json<serde_json::Value>) {
    let (status, text) =
        if health.is_ready() { (StatusCode::OK, "OK") } else { (StatusCode::SERVICE_UNAVAILABLE, "NotReady") };
    (status, Json(serde_json::json!({ "Status": text })))
}
