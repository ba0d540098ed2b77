//! The producer's routes: one event, or a batch of them.

use std::sync::Arc;

#[cfg(test)]
use ::tests::openapi::parameters::{ForTenant, MaybeKey, Traced};
use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::response::Response;
use axum::routing::post;
use futures_util::StreamExt as _;
use http::StatusCode;
use tenancy::message::id::{self, IdempotencyKey};
use tenancy::message::outgoing::{Body, ContentType, Outgoing};
use tenancy::problem::Problem;
use tenancy::publisher::Publisher;
use tenancy::registry::{Registry, Route};
use tenancy::server::{Intake, Served, headers};
use tenancy::share::Meter;
use uuid::Uuid;

use crate::NAME;
use crate::answer::{EventResult, Results, Taken, json};
use crate::batch::{self, Batch};
#[cfg(test)]
use crate::openapi::{BatchProblems, Event, EventProblems, Events};

/// Events of one batch that are on their way at a time: enough to keep every call full, and no batch has the lane for itself.
const BATCH_IN_FLIGHT: usize = 256;

/// What an answer to one event has at most, in bytes: short enough to be made without growing.
const ANSWER_BYTES: usize = 256;

/// What the routes need.
#[derive(Clone)]
pub(crate) struct Producer(Arc<Parts>);

pub(crate) struct Parts {
    pub(crate) registry: Registry,
    pub(crate) publisher: Publisher,
    pub(crate) intake: Intake,
    pub(crate) version: String,
    pub(crate) max_message_bytes: usize,
    pub(crate) max_body_bytes: usize,
}

impl FromRef<Producer> for Registry {
    fn from_ref(producer: &Producer) -> Self {
        producer.0.registry.clone()
    }
}

/// The routes, ready to serve.
pub(crate) fn router(parts: Parts) -> Router {
    Router::new()
        .route("/producer", post(post_event))
        .route("/producer/batch", post(post_batch))
        .with_state(Producer(Arc::new(parts)))
}

/// `POST /producer`: answered when SQS has the event.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/producer",
    operation_id = "postEvent",
    summary = "Take one event",
    description = "Any JSON value, kept byte for byte. An empty body is `{\"event\":\"Event raised!\"}`. Answered when SQS has the \
                   event; its record will have the sort key `message_id`.",
    params(ForTenant, MaybeKey, Traced),
    request_body(content = Event, description = "At most `MAX_MESSAGE_BYTES` (262,144) with the attributes, about 150 bytes."),
    responses((status = 200, description = "SQS has the event.", body = Taken), EventProblems),
))]
pub(crate) async fn post_event(
    State(Producer(own)): State<Producer>,
    Served(route): Served,
    request: Request,
) -> Result<Response, Problem> {
    let key = headers::idempotency_key(request.headers())?;
    let traceparent = headers::traceparent(request.headers());
    let portion = own.publisher.portion(&route);
    let most = own.max_message_bytes;
    let payload = own.intake.read(request, most, "an event with its attributes", portion.as_ref()).await?;
    let body = Body::from_client(payload.bytes).map_err(|error| Problem::Body(error.to_string()))?;
    let message_id = message_id(&route, key.as_ref(), 0);
    let message =
        Outgoing { tenant: route.tenant.clone(), message_id, body, content_type: payload.content_type, traceparent };
    own.publisher.send(&route, message, payload.deadline).await?;
    let taken = Taken {
        tenant_id: route.tenant.as_str(),
        environment: own.registry.environment().as_str(),
        version: &own.version,
        microservice: NAME,
        message_id,
    };
    Ok(json(StatusCode::OK, &taken, ANSWER_BYTES))
}

/// `POST /producer/batch`: answered when each event has its result. It waits for room in the lane rather than filling it.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/producer/batch",
    operation_id = "postBatch",
    summary = "Take 1 to 1,000 events",
    description = "Each as a single one; the results are in the order of the events. With a key, an event's id follows from the key \
                   and its place, so the same batch may be sent again as a whole.",
    params(ForTenant, MaybeKey, Traced),
    request_body(content = Events, description = "At most `MAX_BODY_BYTES` (10,485,760), each event as large as one alone."),
    responses(
        (status = 200, description = "SQS has every event.", body = Results),
        (status = 207, description = "Some were not taken; each result says which and why.", body = Results),
        BatchProblems,
    ),
))]
pub(crate) async fn post_batch(
    State(Producer(own)): State<Producer>,
    Served(route): Served,
    request: Request,
) -> Result<Response, Problem> {
    let key = headers::idempotency_key(request.headers())?;
    let traceparent = headers::traceparent(request.headers());
    let meter = Meter::of(request.extensions());
    let portion = own.publisher.portion(&route);
    let payload = own.intake.read(request, own.max_body_bytes, "a batch", portion.as_ref()).await?;
    let text = batch::text(payload.bytes)?;
    let batch = Batch::from_client(&text)?;
    // The first of its events is the request itself.
    meter.further(batch.len() - 1);
    let sends = (0..batch.len()).map(|index| {
        // Made here, when its turn comes: so ids follow the order of the events, and few copies are held at a time.
        let message_id = message_id(&route, key.as_ref(), index);
        let message = Outgoing {
            tenant: route.tenant.clone(),
            message_id,
            body: Body::from_json(batch.event(index).unwrap_or_default()),
            // The request's content type describes the array.
            content_type: ContentType::default(),
            traceparent: traceparent.clone(),
        };
        let (own, route) = (&own, &route);
        async move {
            let sent = own.publisher.send_waiting(route, message, payload.deadline).await;
            EventResult::from(sent.map(|()| message_id).map_err(Problem::from))
        }
    });
    let results = Results { results: futures_util::stream::iter(sends).buffered(BATCH_IN_FLIGHT).collect().await };
    Ok(json(results.status(), &results, results.results.len() * ANSWER_BYTES))
}

/// The id of the event at a place: by the client's key if there is one, so that a retry is the same record.
fn message_id(route: &Route, key: Option<&IdempotencyKey>, index: usize) -> Uuid {
    key.map_or_else(id::unique, |key| id::of_key(NAME, &route.tenant, key, index))
}
