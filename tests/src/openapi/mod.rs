//! The services' OpenAPI 3.1 documents: `SERVICE/openapi.json` in the repository, which each service serves at
//! `GET /SERVICE/openapi.json`.
//!
//! A document is made from the handlers: each has its `utoipa::path` beside it, in builds for tests only, so that a release
//! carries no more than the finished file. What all services have in common is here:
//!
//! - [`parameters`]: the headers
//! - [`problems`]: which problem can be the answer, from [`tenancy::problem`]
//! - `common`: the routes of the scaffold
//!
//! `hold` compares a document with the file, or writes it when `UPDATE_README` is set (`make docs`).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use utoipa::openapi::OpenApi;

mod common;
pub mod parameters;
pub mod problems;

/// What stands above every document's routes.
const INTRODUCTION: &str = "HTTP/1.1 and HTTP/2 without TLS on one port. Errors are `application/problem+json` (RFC 9457): \
    programs compare `type`. A method that a path does not take is answered with 405 and `Allow`, a path that is not there \
    with 404. What is no HTTP at all is answered by the connection's end or by a bare 400 or 431.";

/// A whole document: a service's own routes, and those of the scaffold.
#[must_use]
pub fn document(service: &str, summary: &str, version: &str, own: OpenApi) -> Value {
    let mut whole = own;
    whole.merge(common::routes(service));
    let mut whole = serde_json::to_value(whole).unwrap();
    whole["info"] = json!({
        "title": service,
        "summary": summary,
        "description": INTRODUCTION,
        "version": version,
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    });
    whole["servers"] = json!([{"url": "/", "description": "where this document comes from"}]);
    whole["components"]["securitySchemes"] = json!({"bearer": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "Where the deployment has `AUTH_ISSUER`: a token of that issuer, whose tenant is the request's. A `tenantID` \
            header may then be left out. Elsewhere no token is looked at.",
    }});
    whole["paths"].as_object_mut().unwrap().values_mut().for_each(for_tenants);
    whole["components"]["schemas"]["Problem"] = problems::schema();
    whole["components"]["schemas"]["Who"] = common::who();
    whole
}

/// Adds what all routes for tenants have: a token where one is needed, and what is left of a limit where there is one.
fn for_tenants(path: &mut Value) {
    let operations = path.as_object_mut().unwrap().values_mut();
    for operation in operations.filter(|operation| operation["responses"]["401"].is_object()) {
        operation["security"] = json!([{}, {"bearer": []}]);
        let responses = operation["responses"].as_object_mut().unwrap();
        for (_, response) in responses.iter_mut().filter(|(status, _)| status.starts_with('2') || *status == "429") {
            for (name, description) in [
                (
                    "RateLimit",
                    "What is left of each limit, in the fields of the IETF's draft; of a tenant that has limits.",
                ),
                ("RateLimit-Policy", "What the limits are; of a tenant that has limits."),
            ] {
                response["headers"][name] = json!({"description": description, "schema": {"type": "string"}});
            }
        }
        responses["401"]["headers"]["WWW-Authenticate"] =
            json!({"description": "What is missing or wrong.", "required": true, "schema": {"type": "string"}});
    }
}

/// Where a service's document is kept.
#[must_use]
pub fn file(service: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{service}/openapi.json"))
}

/// Fails unless the file says what the handlers say; writes it instead when `UPDATE_README` is set.
///
/// # Panics
/// The file is another, or is not there.
pub fn hold(service: &str, document: &Value) {
    let (path, text) = (file(service), format!("{document:#}\n"));
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let first = written.lines().zip(text.lines()).position(|(written, made)| written != made);
    let line = first.unwrap_or_else(|| written.lines().count().min(text.lines().count()));
    assert!(
        written == text,
        "{service}/openapi.json is not what the handlers say, from line {} on: run `make docs`\n  file: {}\n  code: {}",
        line + 1,
        written.lines().nth(line).unwrap_or("(ends)"),
        text.lines().nth(line).unwrap_or("(ends)"),
    );
}
