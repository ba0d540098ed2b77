//! The requests about messages, as the SDKs write them (AWS JSON 1.0), and the errors as SQS writes them.

use std::collections::HashMap;

use axum::response::{IntoResponse, Response};
use http::{HeaderName, StatusCode};
use serde::{Deserialize, Serialize};

/// Message attributes by name.
pub(super) type Attributes = HashMap<String, AttributeValue>;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct AttributeValue {
    pub(super) data_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) string_value: Option<String>,
    /// Base64, which is kept as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) binary_value: Option<String>,
}

/// A message to send: a request of its own, which names the queue, or an entry of a batch, which has an id.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Send {
    pub(super) queue_url: String,
    pub(super) id: String,
    pub(super) message_body: String,
    pub(super) message_attributes: Attributes,
    pub(super) delay_seconds: Option<i64>,
    pub(super) message_group_id: Option<String>,
}

/// A request about several messages of one queue.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Batch<E> {
    #[serde(default)]
    pub(super) queue_url: String,
    #[serde(default = "Vec::new")]
    pub(super) entries: Vec<E>,
}

/// A message in flight: a request of its own, which names the queue, or an entry of a batch, which has an id.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct InFlight {
    pub(super) queue_url: String,
    pub(super) id: String,
    pub(super) receipt_handle: String,
    /// Seconds; for changes of visibility only.
    pub(super) visibility_timeout: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Receive {
    pub(super) queue_url: String,
    pub(super) max_number_of_messages: Option<i64>,
    pub(super) visibility_timeout: Option<i64>,
    pub(super) wait_time_seconds: Option<i64>,
    pub(super) message_attribute_names: Vec<String>,
    pub(super) message_system_attribute_names: Vec<String>,
    /// The older name of the same list.
    pub(super) attribute_names: Vec<String>,
}

/// Anything that names a queue.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Queue {
    pub(super) queue_url: String,
    pub(super) queue_name: String,
    pub(super) attributes: HashMap<String, String>,
    pub(super) attribute_names: Vec<String>,
}

/// One answer inside the answer to a batch.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Failed {
    pub(super) id: String,
    pub(super) sender_fault: bool,
    pub(super) code: String,
    pub(super) message: String,
}

/// A refusal: what the shape is called, what the query protocol called it (SDKs map errors by that), and the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) shape: &'static str,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(shape: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        Self { shape, code, message: message.into() }
    }

    pub(super) fn no_such_queue() -> Self {
        let code = "AWS.SimpleQueueService.NonExistentQueue";
        Self::new("QueueDoesNotExist", code, "The specified queue does not exist.")
    }

    pub(super) fn value(message: impl Into<String>) -> Self {
        Self::new("InvalidParameterValueException", "InvalidParameterValue", message)
    }

    pub(super) fn missing(parameter: &str) -> Self {
        let text = format!("The request must contain the parameter {parameter}.");
        Self::new("MissingRequiredParameterException", "MissingParameter", text)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body =
            serde_json::json!({ "__type": format!("com.amazonaws.sqs#{}", self.shape), "message": self.message });
        let query = [(HeaderName::from_static("x-amzn-query-error"), format!("{};Sender", self.code))];
        (StatusCode::BAD_REQUEST, query, amz_json(body.to_string())).into_response()
    }
}

/// A JSON body with the content type of the protocol.
pub(super) fn amz_json(body: impl Into<axum::body::Body>) -> Response {
    ([(http::header::CONTENT_TYPE, "application/x-amz-json-1.0")], body.into()).into_response()
}
