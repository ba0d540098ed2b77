//! The OpenAPI document, made from what stands beside the handlers, in builds for tests only.

use tests::openapi::problems::{Any, Body, Parameter, Problems, Tenant, Unacceptable};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{OpenApi, PartialSchema, ToSchema};

use crate::batch::MOST_EVENTS;
use crate::{BUILD_VERSION, NAME};

pub(crate) type EventProblems = Problems<(Any, Tenant, Parameter, Body, Refused)>;
pub(crate) type BatchProblems = Problems<(Any, Tenant, Parameter, Body, Unacceptable)>;
/// SQS itself may refuse an event.
pub(crate) type Refused = Unacceptable;

/// Any JSON value.
pub(crate) struct Event;

/// The body of a batch.
pub(crate) struct Events;

fn any_json() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::AnyValue)
}

impl PartialSchema for Event {
    fn schema() -> RefOr<Schema> {
        RefOr::T(any_json().build().into())
    }
}

impl ToSchema for Event {}

impl PartialSchema for Events {
    fn schema() -> RefOr<Schema> {
        let events = ArrayBuilder::new().items(any_json()).min_items(Some(1)).max_items(Some(MOST_EVENTS));
        RefOr::T(events.build().into())
    }
}

impl ToSchema for Events {}

#[derive(OpenApi)]
#[openapi(paths(crate::routes::post_event, crate::routes::post_batch))]
struct Own;

#[test]
fn the_openapi_document_is_what_the_handlers_say() {
    let summary = "Takes events over HTTP and publishes each to the queue of its tenant.";
    let mut document = tests::openapi::document(NAME, summary, BUILD_VERSION, Own::openapi());
    // An empty body is an event of its own. As an `Option` it would be described as JSON's null besides.
    document["paths"]["/producer"]["post"]["requestBody"]["required"] = false.into();
    tests::openapi::hold(NAME, &document);
}
