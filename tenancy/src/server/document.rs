//! `GET /NAME/openapi.json`: the service's own description. It tells nothing of any tenant, so nobody has to name one.

use axum::Router;
use axum::routing::get;
use http::header;

/// The path of the document.
pub(super) fn path(name: &str) -> String {
    format!("/{name}/openapi.json")
}

pub(super) fn routes(name: &str, document: &'static str) -> Router {
    Router::new()
        .route(&path(name), get(move || async move { ([(header::CONTENT_TYPE, "application/json")], document) }))
}
