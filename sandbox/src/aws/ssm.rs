//! SSM parameters, from winterbaume-ssm. In front of it: the region from the signature instead of the host, and the limit of
//! ten names a call, which the crate does not know.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderMap;
use serde::Deserialize;
use winterbaume_core::{MockRequest, MockService};
use winterbaume_ssm::SsmService;

use super::scope;

/// The names `GetParameters` takes at most.
const MAX_NAMES: usize = 10;

#[derive(Default)]
pub(super) struct Ssm {
    service: SsmService,
}

#[derive(Deserialize)]
struct Names {
    #[serde(rename = "Names", default)]
    names: Vec<String>,
}

impl Ssm {
    pub(super) async fn answer(&self, region: &str, action: &str, headers: HeaderMap, body: Bytes) -> Response {
        if action == "GetParameters" {
            let count = serde_json::from_slice(&body).map_or(0, |request: Names| request.names.len());
            if !(1..=MAX_NAMES).contains(&count) {
                let refusal = serde_json::json!({
                    "__type": "ValidationException",
                    "message": format!("'names' must have between 1 and {MAX_NAMES} members, not {count}"),
                });
                return (http::StatusCode::BAD_REQUEST, axum::Json(refusal)).into_response();
            }
        }
        let request = MockRequest { method: "POST".to_owned(), uri: scope::uri("ssm", region), headers, body };
        winterbaume(self.service.handle(request).await)
    }
}

/// An answer of a winterbaume crate as one of ours.
pub(super) fn winterbaume(answer: winterbaume_core::MockResponse) -> Response {
    let status = http::StatusCode::from_u16(answer.status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    (status, answer.headers, answer.body).into_response()
}
