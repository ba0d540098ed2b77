//! Which problems a route can answer with: sets that handlers name, spelled out by status.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Duration;

use serde_json::{Value, json};
use tenancy::problem::{PROBLEM_JSON, Problem};
use utoipa::IntoResponses;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::schema::{AllOfBuilder, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};

/// Problems that belong together.
pub trait Set {
    /// One of each kind.
    fn problems() -> Vec<Problem>;
}

/// Every problem of the sets `S`, as `responses(…)` takes it.
#[derive(Debug)]
pub struct Problems<S>(PhantomData<S>);

/// What any request may be told: wrong headers, a process that is full, a fault of ours.
#[derive(Debug)]
pub struct Any;

/// What a request that names a tenant may be told: not proven to be its, not known, not served here, of another tier, over its
/// limit, not to be found out now.
#[derive(Debug)]
pub struct Tenant;

/// What a request with a body may be told.
#[derive(Debug)]
pub struct Body;

/// What a request with an `Idempotency-Key`, a query or a path parameter may be told.
#[derive(Debug)]
pub struct Parameter;

/// What a request whose JSON is not what the route takes may be told.
#[derive(Debug)]
pub struct Unacceptable;

/// There is nothing of that id, or the route is switched off.
#[derive(Debug)]
pub struct Nothing;

impl Set for Any {
    fn problems() -> Vec<Problem> {
        vec![Problem::Tenant(String::new()), Problem::Tier(String::new()), Problem::UNAVAILABLE, Problem::Internal]
    }
}

impl Set for Tenant {
    fn problems() -> Vec<Problem> {
        vec![
            Problem::NoToken,
            Problem::Token(""),
            Problem::TokenTenant(""),
            Problem::NotServed,
            Problem::UnknownTenant,
            Problem::TierConflict,
            Problem::Limited(Duration::from_secs(1)),
            Problem::UNAVAILABLE,
        ]
    }
}

impl Set for Body {
    fn problems() -> Vec<Problem> {
        vec![Problem::Body(String::new()), Problem::Slow, Problem::TooLarge(0, ""), Problem::MediaType]
    }
}

impl Set for Parameter {
    fn problems() -> Vec<Problem> {
        vec![Problem::Parameter(String::new())]
    }
}

impl Set for Unacceptable {
    fn problems() -> Vec<Problem> {
        vec![Problem::Unprocessable(String::new())]
    }
}

impl Set for Nothing {
    fn problems() -> Vec<Problem> {
        vec![Problem::NotFound]
    }
}

macro_rules! tuples {
    ($(($($set:ident),+))+) => {$(
        impl<$($set: Set),+> Set for ($($set,)+) {
            fn problems() -> Vec<Problem> {
                [$($set::problems()),+].concat()
            }
        }
    )+};
}
tuples!((A)(A, B)(A, B, C)(A, B, C, D)(A, B, C, D, E));

impl<S: Set> IntoResponses for Problems<S> {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let mut by_status: BTreeMap<u16, Vec<Problem>> = BTreeMap::new();
        for problem in S::problems() {
            let of_status = by_status.entry(problem.status().as_u16()).or_default();
            if of_status.iter().all(|known| known.kind() != problem.kind()) {
                of_status.push(problem);
            }
        }
        by_status.iter().map(|(status, problems)| (status.to_string(), response(*status, problems).into())).collect()
    }
}

fn response(status: u16, problems: &[Problem]) -> Response {
    let lines: Vec<String> =
        problems.iter().map(|problem| format!("`{}`: {}.", problem.kind(), problem.title())).collect();
    let types = problems.iter().map(|problem| json!(urn(problem.kind())));
    let integer = || ObjectBuilder::new().schema_type(SchemaType::Type(Type::Integer));
    let narrowed = ObjectBuilder::new()
        .property("status", integer().enum_values(Some([status])))
        .property("type", ObjectBuilder::new().schema_type(SchemaType::Type(Type::String)).enum_values(Some(types)));
    let schema = AllOfBuilder::new().item(Ref::from_schema_name("Problem")).item(narrowed);
    let response = ResponseBuilder::new()
        .description(lines.join(" "))
        .content(PROBLEM_JSON, Content::new(Some(RefOr::T(schema.build().into()))));
    if !matches!(status, 429 | 503) {
        return response.build();
    }
    let seconds = HeaderBuilder::new()
        .schema(Some(integer().minimum(Some(1)).build()))
        .description(Some("After how many seconds to come back."));
    response.header("Retry-After", seconds.build()).build()
}

fn urn(kind: &str) -> String {
    format!("urn:tenant-plane:problem:{kind}")
}

/// The schema that all problems share.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "description": "RFC 9457. Nothing in it comes from AWS or names another tenant.",
        "required": ["type", "title", "status", "detail", "msg"],
        "properties": {
            "type": {"type": "string", "format": "uri", "description": "What programs compare."},
            "title": {"type": "string", "description": "Fixed for a type."},
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": {"type": "string", "description": "What to do about this very request."},
            "msg": {"type": "string", "description": "The title again, for older clients."},
        },
        "examples": [Problem::TooLarge(262_144, "an event with its attributes").body()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_of_one_status_are_one_answer_that_names_each() {
        let responses = <Problems<(Any, Body, Parameter)> as IntoResponses>::responses();
        assert_eq!(responses.keys().collect::<Vec<_>>(), ["400", "408", "413", "415", "500", "503"]);
        let bad = serde_json::to_value(&responses["400"]).unwrap();
        let types = &bad["content"]["application/problem+json"]["schema"]["allOf"][1]["properties"]["type"]["enum"];
        let all = ["tenant-header", "tier-header", "body", "parameter"].map(|kind| json!(urn(kind)));
        assert_eq!(types, &json!(all));
        assert!(serde_json::to_value(&responses["503"]).unwrap()["headers"]["Retry-After"].is_object());
    }
}
