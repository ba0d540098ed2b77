//! The routes that the scaffold gives every service.

use serde_json::{Value, json};
use utoipa::openapi::path::{HttpMethod, OperationBuilder};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{Content, OpenApi, PathItem, Ref, RefOr, ResponseBuilder, Schema};
use utoipa::{IntoParams, IntoResponses};

use super::parameters::MaybeTenant;
use super::problems::{Any, Problems, Tenant};

pub(super) fn routes(service: &str) -> OpenApi {
    let mut all = OpenApi::default();
    all.paths.add_path_operation(format!("/{service}"), vec![HttpMethod::Get], who_answers());
    let probe = PathItem::new(HttpMethod::Get, readiness());
    all.paths.paths.insert(format!("/{service}/readiness-probe"), probe);
    let document = PathItem::new(HttpMethod::Get, document());
    all.paths.paths.insert(format!("/{service}/openapi.json"), document);
    all
}

fn json_answer(description: &str, schema: RefOr<Schema>) -> ResponseBuilder {
    ResponseBuilder::new().description(description).content("application/json", Content::new(Some(schema)))
}

fn who_answers() -> OperationBuilder {
    OperationBuilder::new()
        .operation_id(Some("whoAnswers"))
        .summary(Some("Who answers"))
        .description(Some("Without a tenant it answers as a load balancer's health check expects."))
        .parameters(Some(MaybeTenant::into_params(|| None)))
        .responses(Problems::<(Any, Tenant)>::responses().into_iter().collect::<utoipa::openapi::Responses>())
        .response("200", json_answer("Who answers.", Ref::from_schema_name("Who").into()))
}

fn readiness() -> OperationBuilder {
    let status = |text: &str| {
        let text = ObjectBuilder::new().schema_type(SchemaType::Type(Type::String)).enum_values(Some([text]));
        RefOr::T(ObjectBuilder::new().property("Status", text).required("Status").build().into())
    };
    OperationBuilder::new()
        .operation_id(Some("isReady"))
        .summary(Some("Whether it can serve"))
        .description(Some("Reads state and no header. Not for clients: probes ask."))
        .response("200", json_answer("It can serve.", status("OK")))
        .response("503", json_answer("Not before its parameters are read, nor once told to stop.", status("NotReady")))
}

fn document() -> OperationBuilder {
    let whole = ObjectBuilder::new().schema_type(SchemaType::Type(Type::Object)).required("openapi");
    OperationBuilder::new()
        .operation_id(Some("describe"))
        .summary(Some("This document"))
        .description(Some("Needs no tenant and tells nothing of any."))
        .parameters(Some(MaybeTenant::into_params(|| None)))
        .responses(Problems::<Any>::responses().into_iter().collect::<utoipa::openapi::Responses>())
        .response("200", json_answer("OpenAPI 3.1.", RefOr::T(whole.build().into())))
}

/// The keys that every service's answer has.
pub(super) fn who() -> Value {
    json!({
        "type": "object",
        "required": ["tenant_id", "environment", "version", "microservice"],
        "properties": {
            "tenant_id": {"type": ["string", "null"], "description": "The tenant of the request; null when it named none."},
            "environment": {"type": "string", "description": "The pool or tenant whose deployment answers."},
            "version": {"type": "string", "description": "The image's tag, or the build's version."},
            "microservice": {"type": "string", "description": "The service's name."},
        },
    })
}
