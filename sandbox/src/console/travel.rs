//! An event on its way: posted at the front door as a tenant's client would, taken by the queue, stored as a record.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tenancy::aws::describe;
use tokio::sync::broadcast::error::RecvError;

use super::stages::{self, Gone, Stages};
use super::{Console, Refusal};
use crate::ask;
use crate::plane::roster::Tenant;

/// How long an event is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the page asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Posted {
    tenant: String,
    /// Sent as it is, be it JSON or not.
    body: String,
    key: Option<String>,
}

/// `POST /console/events`: stages `answered` and `stored`, or why it did not come that far.
pub(super) async fn post_event(
    State(console): State<Console>,
    Json(posted): Json<Posted>,
) -> Result<Response, Refusal> {
    let tenant = console.tenant(&posted.tenant)?.clone();
    let place = console.journey()?;
    let (stages, response) = stages::open();
    tokio::spawn(async move {
        let stopping = console.0.stopping.clone();
        tokio::select! {
            _ = follow(&console, &tenant, &posted, &stages) => {}
            () = stopping.cancelled() => {}
        }
        drop(place);
    });
    Ok(response)
}

async fn follow(console: &Console, tenant: &Tenant, posted: &Posted, stages: &Stages) -> Result<(), Gone> {
    // Before the event is sent, so that its landing cannot be missed.
    let mut landings = console.0.look.watch_records();
    let url = format!("http://{}/producer", console.0.front_door);
    let bearer = console.0.issuer.as_ref().and_then(|issuer| issuer.bearer(tenant.id.as_str()));
    let key = posted.key.as_deref().map(|key| ("Idempotency-Key", key));
    let more: Vec<_> = key.into_iter().chain(bearer.as_deref().map(|bearer| ("Authorization", bearer))).collect();
    let answer = ask::post(&url, tenant.id.as_str(), &more, posted.body.clone()).await;
    let (status, body) = match answer {
        Ok(answer) => answer,
        Err(error) => return stages.tell("failed", json!({ "text": error })).await,
    };
    let text = String::from_utf8_lossy(&body).into_owned();
    let message_id = serde_json::from_str::<Value>(&text).ok().and_then(|answer| {
        answer.get("message_id").and_then(Value::as_str).map(str::to_owned).filter(|_| status.is_success())
    });
    stages.tell("answered", json!({ "status": status.as_u16(), "text": text, "message_id": message_id })).await?;
    let Some(message_id) = message_id else { return Ok(()) };

    let table = console.0.layout.resources_of(&tenant.id).table();
    let landed = async {
        loop {
            match landings.recv().await {
                Ok(landing) if landing.message_id == message_id && landing.table == table => return true,
                Ok(_) => {}
                // Some were missed, ours perhaps among them.
                Err(RecvError::Lagged(_)) if record(console, &table, tenant, &message_id).await.is_ok() => return true,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return false,
            }
        }
    };
    if !tokio::time::timeout(PATIENCE, landed).await.unwrap_or(false) {
        let text =
            format!("no record after {} s; the queue's depth and the dead letters may say why", PATIENCE.as_secs());
        return stages.tell("late", json!({ "text": text })).await;
    }
    stages.tell("stored", json!({ "table": table })).await?;
    match record(console, &table, tenant, &message_id).await {
        Ok(record) => stages.tell("record", json!({ "record": record })).await,
        Err(text) => stages.tell("failed", json!({ "text": text })).await,
    }
}

/// A record's attributes, as they are stored.
async fn record(console: &Console, table: &str, tenant: &Tenant, message_id: &str) -> Result<Value, String> {
    let get = console.0.clients.dynamodb.get_item().table_name(table).consistent_read(true);
    let get = get.key("tenant_id", AttributeValue::S(tenant.id.to_string()));
    let get = get.key("message_id", AttributeValue::S(message_id.to_owned()));
    let answer = get.send().await.map_err(|error| format!("reading table {table}: {}", describe(&error)))?;
    let item = answer.item.ok_or_else(|| format!("table {table} has no such record"))?;
    let shown = item.into_iter().map(|(name, value)| {
        let text = match value {
            AttributeValue::S(text) | AttributeValue::N(text) => text,
            other => format!("{other:?}"),
        };
        (name, Value::String(text))
    });
    Ok(Value::Object(shown.collect::<Map<_, _>>()))
}
