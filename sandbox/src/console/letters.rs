//! Dead letters: messages that could not be stored as often as the redrive policy allows.
//!
//! They are listed without their bodies, which one has to ask for. One can be made to be looked at: a message that names no
//! tenant. The consumer hides it longer after each receive, so that its way takes the better part of an hour; here the waits
//! are skipped, and nothing else.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tenancy::aws::describe;
use tokio::time::Instant;

use super::stages::{self, Gone, Stages};
use super::{Console, Refusal, refusal};
use crate::aws::ACCOUNT;
use crate::aws::look::Letter;
use crate::plane::layout::Resources;

/// Letters that are listed of a queue, the newest.
const LISTED: usize = 20;
/// Dead letters of a queue beyond which no more are made.
const ENOUGH: usize = 50;
/// How long a letter is followed.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between one look and the next: longer than the consumer takes to judge a message and to hide it.
const PAUSE: Duration = Duration::from_millis(200);
/// A message that cannot be stored.
const UNSTORABLE: &str = r#"{"note":"sent by the console without a tenant_id, so no consumer can store it"}"#;

/// `GET /console/letters`: the newest dead letters of each queue, without bodies.
pub(super) async fn list(State(Console(own)): State<Console>) -> Json<Value> {
    let queues = own.layout.resources().into_iter().map(|resources| {
        let dead = resources.dead_letter_queue();
        let letters: Vec<Value> = own.look.newest(&dead, LISTED).iter().map(shown).collect();
        json!({ "queue": dead, "source": resources.queue(), "count": own.look.depth(&dead).waiting, "letters": letters })
    });
    Json(json!({ "queues": queues.collect::<Vec<_>>() }))
}

fn shown(letter: &Letter) -> Value {
    json!({
        "id": letter.id,
        "sent_ms": letter.sent_ms,
        "bytes": letter.body.len(),
        "tenant": letter.attributes.get("tenant_id"),
        "message_id": letter.attributes.get("message_id"),
        "source": letter.source,
    })
}

/// `GET /console/letters/{queue}/{id}`: one of them, with its body and attributes.
pub(super) async fn show(
    State(console): State<Console>,
    Path((queue, id)): Path<(String, String)>,
) -> Result<Json<Value>, Refusal> {
    console.resources_of_letters(&queue)?;
    let letter = console.0.look.letter(&queue, &id).ok_or_else(gone)?;
    Ok(Json(json!({ "body": letter.body, "attributes": letter.attributes })))
}

/// `POST /console/letters/{queue}/{id}/send-back`: back to the queue that it came from, and where it goes from there.
pub(super) async fn send_back(
    State(console): State<Console>,
    Path((queue, id)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let resources = console.resources_of_letters(&queue)?;
    let place = console.journey()?;
    console.0.look.send_back(&queue, &id).ok_or_else(gone)?;
    Ok(followed(console, resources, id, place))
}

fn gone() -> Refusal {
    refusal(StatusCode::NOT_FOUND, "this letter is not there any more")
}

/// What the page asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    tenant: String,
}

/// `POST /console/unstorable`: a message that cannot be stored, in the tenant's queue, and its way to the dead letters.
pub(super) async fn post_unstorable(
    State(console): State<Console>,
    Json(wanted): Json<Wanted>,
) -> Result<Response, Refusal> {
    let resources = console.0.layout.resources_of(&console.tenant(&wanted.tenant)?.id);
    let place = console.journey()?;
    if console.0.look.depth(&resources.dead_letter_queue()).waiting >= ENOUGH {
        return Err(refusal(StatusCode::TOO_MANY_REQUESTS, "this queue has enough dead letters to look at"));
    }
    let url = format!("{}/{ACCOUNT}/{}", console.0.aws, resources.queue());
    let sent = console.0.clients.sqs.send_message().queue_url(url).message_body(UNSTORABLE).send().await;
    let sent = sent.map_err(|error| (StatusCode::BAD_GATEWAY, format!("sending: {}", describe(&error)).into()))?;
    Ok(followed(console, resources, sent.message_id.unwrap_or_default(), place))
}

fn followed(console: Console, resources: Resources, id: String, place: tokio::sync::OwnedSemaphorePermit) -> Response {
    let (stages, response) = stages::open();
    tokio::spawn(async move {
        let stopping = console.0.stopping.clone();
        tokio::select! {
            _ = follow(&console, &resources, &id, &stages) => {}
            () = stopping.cancelled() => {}
        }
        drop(place);
    });
    response
}

/// Stages `sent`, `received` for each receive, then `dead`, `stored` (it has left the queue) or `late`.
async fn follow(console: &Console, resources: &Resources, id: &str, stages: &Stages) -> Result<(), Gone> {
    let (queue, dead) = (resources.queue(), resources.dead_letter_queue());
    let look = &console.0.look;
    stages.tell("sent", json!({ "queue": queue, "id": id })).await?;
    let (until, mut seen, mut missed) = (Instant::now() + PATIENCE, 0, 0);
    while Instant::now() < until {
        match (look.letter(&queue, id), look.letter(&dead, id)) {
            (_, Some(_)) => return stages.tell("dead", json!({ "queue": dead, "receives": seen })).await,
            (Some(letter), None) if letter.receives > seen => {
                seen = letter.receives;
                stages.tell("received", json!({ "receives": seen })).await?;
            }
            (Some(_), None) => look.appear(&queue, id),
            // From one queue to the other it is in neither for a moment.
            (None, None) if missed < 2 => missed += 1,
            (None, None) => return stages.tell("stored", json!({})).await,
        }
        tokio::time::sleep(PAUSE).await;
    }
    stages.tell("late", json!({ "text": "it is neither stored nor dead yet" })).await
}
