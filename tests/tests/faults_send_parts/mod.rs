mod field;
mod limits;
mod matrix;

use std::time::Duration;

use serde_json::Value;
use tests::scripted::Aws;
use tests::service::{Kind, Launch};

/// A request is given up after this long: short enough for a test, long enough for one attempt that stalls and another.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The producer of the tenant `acme`, whose queue is `consumer-acme`.
pub(crate) fn producer(aws: &Aws) -> Launch {
    Launch::new(Kind::Producer, aws, "acme")
}

/// The `message_id` attributes of what is in the queue, each once.
pub(crate) fn message_ids(aws: &Aws) -> Vec<String> {
    let mut ids: Vec<String> =
        aws.messages("consumer-acme").iter().map(|message| message.attributes["message_id"].clone()).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// The `message_id` of an answer.
pub(crate) fn message_id(answer: &Value) -> String {
    answer["message_id"].as_str().unwrap_or_default().to_owned()
}
