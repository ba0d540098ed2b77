//! The OpenAPI document, made from what stands beside the handler, in builds for tests only.

use tests::openapi::problems::{Any, Nothing, Parameter, Problems, Tenant};
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{OpenApi, PartialSchema, ToSchema};

use crate::{BUILD_VERSION, NAME};

pub(crate) type ListProblems = Problems<(Any, Tenant, Parameter, Nothing)>;

/// A record as it is shown: what every record has, what ours have, and whatever else is stored.
pub(crate) struct Record;

impl PartialSchema for Record {
    fn schema() -> RefOr<Schema> {
        let of =
            |kind: Type, text: &str| ObjectBuilder::new().schema_type(SchemaType::Type(kind)).description(Some(text));
        let text = |description: &str| of(Type::String, description);
        let record = ObjectBuilder::new()
            .property("tenant_id", text("Whose it is."))
            .property("message_id", text("The key among the tenant's records."))
            .property("producer_environment", text("The pool or tenant whose producer took the event."))
            .property("consumer_environment", text("The pool or tenant whose consumer stored it."))
            .property("timestamp", text("When it was stored, `YYYY-MM-DDTHH:MM:SS+0000`."))
            .property("sent_at", text("When SQS took the message, RFC 3339 with milliseconds."))
            .property("body", text("The event's text, byte for byte."))
            .property("content_type", text("The media type that the client sent."))
            .property("expires_at", of(Type::Integer, "When it is deleted, in seconds since 1970; not on all."))
            .required("tenant_id")
            .required("message_id")
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)));
        RefOr::T(record.build().into())
    }
}

impl ToSchema for Record {}

#[derive(OpenApi)]
#[openapi(paths(crate::read::get_messages))]
struct Own;

#[test]
fn the_openapi_document_is_what_the_handlers_say() {
    let summary = "Drains the queue of a tenant or a pool into its table, and lists what is stored.";
    tests::openapi::hold(NAME, &tests::openapi::document(NAME, summary, BUILD_VERSION, Own::openapi()));
}
