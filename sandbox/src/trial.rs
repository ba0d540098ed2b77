//! The trial of a plane: an event for each tenant, posted at the front door, has to become a record in that tenant's table.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;
use tenancy::aws::describe;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use crate::ask;
use crate::plane::Plane;
use crate::plane::roster::Tenant;

/// How one tenant's event fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Whose it was.
    pub tenant: Tenant,
    /// The record, or why there is none.
    pub result: Result<Landed, String>,
}

/// A record that an event became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// Its id.
    pub message_id: String,
    /// The table it is in.
    pub table: String,
    /// From the start of the POST to the record.
    pub took: Duration,
}

#[derive(Deserialize)]
struct Accepted {
    message_id: String,
}

/// Posts an event for each tenant at the same time; `told` hears of each outcome as it comes. All outcomes, in that order.
pub async fn run(plane: &Plane, patience: Duration, mut told: impl FnMut(&Outcome)) -> Vec<Outcome> {
    let tenants = plane.layout().roster().tenants.iter();
    let mut trials: FuturesUnordered<_> = tenants
        .map(|tenant| async move {
            let result = tokio::time::timeout(patience, one(plane, tenant)).await;
            let late = || Err(format!("no record after {} s", patience.as_secs()));
            Outcome { tenant: tenant.clone(), result: result.unwrap_or_else(|_| late()) }
        })
        .collect();
    let mut outcomes = Vec::new();
    while let Some(outcome) = trials.next().await {
        told(&outcome);
        outcomes.push(outcome);
    }
    outcomes
}

async fn one(plane: &Plane, tenant: &Tenant) -> Result<Landed, String> {
    // Before the event is sent, so that its landing cannot be missed.
    let mut landings = plane.aws().watch_records();
    let started = Instant::now();
    let url = format!("http://{}/producer", plane.front_door());
    let event = serde_json::json!({ "event": "sandbox trial", "tier": tenant.tier.as_str() }).to_string();
    let bearer = plane.bearer(&tenant.id);
    let more: Vec<_> = bearer.as_deref().map(|bearer| ("Authorization", bearer)).into_iter().collect();
    let (status, body) = ask::post(&url, tenant.id.as_str(), &more, event).await?;
    if !status.is_success() {
        return Err(format!(
            "POST /producer was answered with {status}: {}",
            String::from_utf8_lossy(&body).trim_end()
        ));
    }
    let Accepted { message_id } =
        serde_json::from_slice(&body).map_err(|error| format!("the producer's answer: {error}"))?;
    let table = plane.layout().resources_of(&tenant.id).table();
    while !is_recorded(plane, &table, tenant, &message_id).await? {
        loop {
            match landings.recv().await {
                Ok(landing) if landing.message_id == message_id && landing.table == table => break,
                Ok(_) => {}
                // Some were missed; ours may be among them.
                Err(RecvError::Lagged(_)) => break,
                Err(RecvError::Closed) => return Err("the embedded AWS has ended".to_owned()),
            }
        }
    }
    Ok(Landed { message_id, table, took: started.elapsed() })
}

async fn is_recorded(plane: &Plane, table: &str, tenant: &Tenant, message_id: &str) -> Result<bool, String> {
    let get = plane.clients().dynamodb.get_item().table_name(table).consistent_read(true);
    let get = get.key("tenant_id", AttributeValue::S(tenant.id.to_string()));
    let get = get.key("message_id", AttributeValue::S(message_id.to_owned()));
    match get.send().await {
        Ok(answer) => Ok(answer.item.is_some()),
        Err(error) => Err(format!("reading table {table}: {}", describe(&error))),
    }
}
