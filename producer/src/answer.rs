//! What a client is told.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::Value;
use tenancy::message::id::hyphenated;
use tenancy::problem::Problem;
use uuid::Uuid;

/// The answer to one event: SQS has it.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Taken<'a> {
    pub(crate) tenant_id: &'a str,
    pub(crate) environment: &'a str,
    pub(crate) version: &'a str,
    pub(crate) microservice: &'a str,
    /// The key that its record will have.
    #[cfg_attr(test, schema(value_type = String, format = "uuid"))]
    #[serde(serialize_with = "hyphenated")]
    pub(crate) message_id: Uuid,
}

/// The answer to a batch: a result for each event, in its order.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Results {
    pub(crate) results: Vec<EventResult>,
}

/// What became of one event of a batch.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(untagged)]
pub(crate) enum EventResult {
    /// SQS has it.
    Taken {
        /// The key that its record will have.
        #[cfg_attr(test, schema(value_type = String, format = "uuid"))]
        #[serde(serialize_with = "hyphenated")]
        message_id: Uuid,
    },
    /// It was not taken.
    Failed {
        /// The problem, in the form it would have as an answer of its own.
        #[cfg_attr(test, schema(schema_with = problem))]
        error: Value,
    },
}

impl Results {
    /// 200, or 207 when any event failed.
    pub(crate) fn status(&self) -> StatusCode {
        let failed = self.results.iter().any(|result| matches!(result, EventResult::Failed { .. }));
        if failed { StatusCode::MULTI_STATUS } else { StatusCode::OK }
    }
}

impl From<Result<Uuid, Problem>> for EventResult {
    fn from(outcome: Result<Uuid, Problem>) -> Self {
        match outcome {
            Ok(message_id) => Self::Taken { message_id },
            Err(problem) => Self::Failed { error: problem.body() },
        }
    }
}

/// `body` as JSON, written into room for `capacity` bytes.
pub(crate) fn json(status: StatusCode, body: &impl Serialize, capacity: usize) -> Response {
    let mut bytes = Vec::with_capacity(capacity);
    if serde_json::to_writer(&mut bytes, body).is_err() {
        return Problem::Internal.into_response();
    }
    let mut response = Response::new(Bytes::from(bytes).into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
fn problem() -> utoipa::openapi::Ref {
    utoipa::openapi::Ref::from_schema_name("Problem")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_answered_with_five_keys() {
        let taken = Taken {
            tenant_id: "acme",
            environment: "pool-1",
            version: "1.2.3",
            microservice: "producer",
            message_id: Uuid::nil(),
        };
        assert_eq!(
            serde_json::to_string(&taken).unwrap(),
            concat!(
                r#"{"tenant_id":"acme","environment":"pool-1","version":"1.2.3","microservice":"producer","#,
                r#""message_id":"00000000-0000-0000-0000-000000000000"}"#
            )
        );
    }

    #[test]
    fn a_batch_is_207_when_any_event_failed() {
        let taken = || EventResult::from(Ok(Uuid::nil()));
        assert_eq!(Results { results: vec![taken()] }.status(), StatusCode::OK);
        let results = Results { results: vec![taken(), EventResult::from(Err(Problem::TooLarge(1_024, "an event")))] };
        assert_eq!(results.status(), StatusCode::MULTI_STATUS);
        assert_eq!(
            serde_json::to_value(&results).unwrap(),
            serde_json::json!({"results": [
                {"message_id": "00000000-0000-0000-0000-000000000000"},
                {"error": {
                    "type": "urn:tenant-plane:problem:too-large",
                    "title": "The request is too large",
                    "status": 413,
                    "detail": "an event may have at most 1024 bytes",
                    "msg": "The request is too large",
                }},
            ]})
        );
    }
}
