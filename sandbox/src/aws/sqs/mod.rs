//! SQS. Queues (names, attributes, tags, permissions) are those of winterbaume-sqs; messages are ours.
//!
//! The crate's own messages would mislead a test: a long poll looks every 100 ms; `VisibilityTimeout=0` means the queue's
//! default; a redrive target that does not resolve loses the message; a message that reappeared is not counted as visible; the
//! names of wanted attributes are ignored and binary ones dropped; one bad entry fails a batch halfway; a stale receipt handle
//! deletes; each delete moves the whole backlog. Its queue URLs name AWS instead of this endpoint.

mod limits;
pub(super) mod look;
mod messages;
mod queue;
mod receive;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use md5::{Digest, Md5};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use winterbaume_core::{MockRequest, MockService};
use winterbaume_sqs::{InMemorySqsBackend, SqsService};

use super::{scope, ssm};
use messages::{HandleError, Message, Messages};
use queue::{Config, name_in, redrive, seconds};
use wire::{Batch, Failed, InFlight, Queue, Refusal, Send, amz_json};

/// Seconds that a message can be hidden at most: twelve hours.
const MAX_VISIBILITY: i64 = 43_200;

/// The messages of each queue, by region and name.
type Queues = HashMap<(String, String), Arc<Messages>>;

pub(super) struct Sqs {
    /// What queue URLs start with: this endpoint.
    url: String,
    hurry: CancellationToken,
    service: SqsService,
    backend: Arc<InMemorySqsBackend>,
    queues: Mutex<Queues>,
}

impl Sqs {
    pub(super) fn new(url: String, hurry: CancellationToken) -> Self {
        let backend = Arc::new(InMemorySqsBackend::new());
        let service = SqsService::with_backend(Arc::<InMemorySqsBackend>::clone(&backend));
        Self { url, hurry, service, backend, queues: Mutex::default() }
    }

    pub(super) async fn answer(&self, region: &str, action: &str, body: Bytes) -> Response {
        let answer = match action {
            "SendMessage" => self.send(region, &body).await,
            "SendMessageBatch" => self.send_batch(region, &body).await,
            "ReceiveMessage" => self.receive(region, &body).await,
            "DeleteMessage" | "ChangeMessageVisibility" => self.one_in_flight(region, action, &body).await,
            "DeleteMessageBatch" | "ChangeMessageVisibilityBatch" => self.batch_in_flight(region, action, &body).await,
            "GetQueueAttributes" => self.attributes(region, &body).await,
            "PurgeQueue" => self.purge(region, &body).await,
            "StartMessageMoveTask" | "CancelMessageMoveTask" | "ListMessageMoveTasks" => {
                let code = "AWS.SimpleQueueService.UnsupportedOperation";
                Err(Refusal::new("UnsupportedOperation", code, format!("{action} is not part of the embedded SQS.")))
            }
            _ => self.queue_action(region, action, body).await,
        };
        answer.unwrap_or_else(Refusal::into_response)
    }

    /// What concerns a queue as such goes to the crate.
    async fn queue_action(&self, region: &str, action: &str, body: Bytes) -> Result<Response, Refusal> {
        let request: Queue = parse(&body)?;
        self.check_redrive_target(region, &request).await?;
        let target = format!("AmazonSQS.{action}");
        let headers = [(http::HeaderName::from_static("x-amz-target"), target.parse())];
        let headers = headers.into_iter().filter_map(|(name, value)| Some((name, value.ok()?))).collect();
        let request_uri = scope::uri("sqs", region);
        let call = MockRequest { method: "POST".to_owned(), uri: request_uri.clone(), headers, body };
        let mut answer = self.service.handle(call).await;
        let text = String::from_utf8_lossy(&answer.body);
        if text.contains("AWS.SimpleQueueService.NonExistentQueue") {
            return Err(Refusal::no_such_queue());
        }
        answer.body = text.replace(&request_uri, &format!("{}/", self.url)).into();
        if action == "DeleteQueue" {
            let gone = self.queues().remove(&(region.to_owned(), name_in(&request.queue_url)));
            gone.iter().for_each(|messages| messages.purge());
        }
        Ok(ssm::winterbaume(answer))
    }

    /// As on AWS, a dead-letter queue has to exist before a redrive policy names it; the crate would lose messages otherwise.
    async fn check_redrive_target(&self, region: &str, request: &Queue) -> Result<(), Refusal> {
        let Some(policy) = request.attributes.get("RedrivePolicy").filter(|policy| !policy.is_empty()) else {
            return Ok(());
        };
        let invalid = |reason: &str| {
            Refusal::value(format!("Value {policy} for parameter RedrivePolicy is invalid. Reason: {reason}"))
        };
        let redrive = redrive(policy).ok_or_else(|| invalid("Redrive policy is not a valid JSON map."))?;
        if self.config(region, &redrive.target).await.is_err() {
            return Err(invalid("Dead letter target does not exist."));
        }
        Ok(())
    }

    async fn send(&self, region: &str, body: &[u8]) -> Result<Response, Refusal> {
        let request: Send = parse(body)?;
        let queue = self.config(region, &request.queue_url).await?;
        limits::message(&request, queue.max_bytes)?;
        let (id, md5) = self.enqueue(region, &queue, request);
        Ok(amz_json(serde_json::json!({ "MessageId": id, "MD5OfMessageBody": md5 }).to_string()))
    }

    async fn send_batch(&self, region: &str, body: &[u8]) -> Result<Response, Refusal> {
        let request: Batch<Send> = parse(body)?;
        let queue = self.config(region, &request.queue_url).await?;
        limits::batch(request.entries.iter().map(|entry| entry.id.as_str()))?;
        limits::batch_bytes(&request.entries)?;
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for entry in request.entries {
            let id = entry.id.clone();
            match limits::message(&entry, queue.max_bytes) {
                Ok(()) => {
                    let (message_id, md5) = self.enqueue(region, &queue, entry);
                    successful.push(serde_json::json!({ "Id": id, "MessageId": message_id, "MD5OfMessageBody": md5 }));
                }
                Err(refusal) => failed.push(failure(id, refusal)),
            }
        }
        Ok(batch_answer(successful, failed))
    }

    /// Puts a message into the queue; its id and the MD5 of its body, which some SDKs check.
    fn enqueue(&self, region: &str, queue: &Config, request: Send) -> (String, String) {
        let id = uuid::Uuid::new_v4().to_string();
        let md5 = md5_hex(&request.message_body);
        let delay = request.delay_seconds.map_or(queue.delay, seconds);
        let message = Message {
            id: id.clone(),
            body: request.message_body,
            attributes: request.message_attributes,
            group: request.message_group_id,
            sent_ms: now_ms(),
            first_received_ms: None,
            receives: 0,
            dead_letter_source: None,
        };
        self.messages(region, &queue.name).add(message, delay);
        (id, md5)
    }

    async fn one_in_flight(&self, region: &str, action: &str, body: &[u8]) -> Result<Response, Refusal> {
        let request: InFlight = parse(body)?;
        let queue = self.config(region, &request.queue_url).await?;
        change(&self.messages(region, &queue.name), action, &request)?;
        Ok(amz_json("{}"))
    }

    async fn batch_in_flight(&self, region: &str, action: &str, body: &[u8]) -> Result<Response, Refusal> {
        let request: Batch<InFlight> = parse(body)?;
        let queue = self.config(region, &request.queue_url).await?;
        limits::batch(request.entries.iter().map(|entry| entry.id.as_str()))?;
        let messages = self.messages(region, &queue.name);
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for entry in request.entries {
            match change(&messages, action, &entry) {
                Ok(()) => successful.push(serde_json::json!({ "Id": entry.id })),
                Err(refusal) => failed.push(failure(entry.id, refusal)),
            }
        }
        Ok(batch_answer(successful, failed))
    }

    async fn attributes(&self, region: &str, body: &[u8]) -> Result<Response, Refusal> {
        let request: Queue = parse(body)?;
        let name = name_in(&request.queue_url);
        let mut all = self.raw_attributes(region, &name).await?;
        let counts = self.messages(region, &name).counts();
        all.insert("ApproximateNumberOfMessages".to_owned(), counts.visible.to_string());
        all.insert("ApproximateNumberOfMessagesNotVisible".to_owned(), counts.in_flight.to_string());
        all.insert("ApproximateNumberOfMessagesDelayed".to_owned(), counts.delayed.to_string());
        if !request.attribute_names.iter().any(|name| name == "All") {
            all.retain(|name, _| request.attribute_names.contains(name));
        }
        Ok(amz_json(serde_json::json!({ "Attributes": all }).to_string()))
    }

    async fn purge(&self, region: &str, body: &[u8]) -> Result<Response, Refusal> {
        let request: Queue = parse(body)?;
        let queue = self.config(region, &request.queue_url).await?;
        self.messages(region, &queue.name).purge();
        Ok(amz_json("{}"))
    }

    fn queues(&self) -> std::sync::MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn messages(&self, region: &str, name: &str) -> Arc<Messages> {
        Arc::clone(self.queues().entry((region.to_owned(), name.to_owned())).or_default())
    }
}

/// Deletes a message in flight, or changes when it appears again.
fn change(messages: &Messages, action: &str, entry: &InFlight) -> Result<(), Refusal> {
    let handle = &entry.receipt_handle;
    let done = if action.starts_with("Delete") {
        messages.delete(handle)
    } else {
        limits::range("VisibilityTimeout", entry.visibility_timeout, 0..=MAX_VISIBILITY)?;
        let visibility = entry.visibility_timeout.ok_or_else(|| Refusal::missing("VisibilityTimeout"))?;
        messages.change_visibility(handle, seconds(visibility))
    };
    done.map_err(|error| {
        let value = format!("Value {handle} for parameter ReceiptHandle is invalid. Reason: ");
        match error {
            HandleError::Malformed => {
                let text = format!("The input receipt handle \"{handle}\" is not a valid receipt handle.");
                Refusal::new("ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", text)
            }
            HandleError::Stale => {
                Refusal::value(value + "Message does not exist or is not available for visibility timeout change.")
            }
            HandleError::NotInFlight => {
                let code = "AWS.SimpleQueueService.MessageNotInflight";
                Refusal::new("MessageNotInflight", code, value + "Message is not in flight.")
            }
        }
    })
}

fn failure(id: String, refusal: Refusal) -> Failed {
    Failed { id, sender_fault: true, code: refusal.code.to_owned(), message: refusal.message }
}

/// As on AWS, a list without members is left out.
fn batch_answer(successful: Vec<serde_json::Value>, failed: Vec<Failed>) -> Response {
    let mut answer = serde_json::Map::new();
    if !successful.is_empty() {
        answer.insert("Successful".to_owned(), successful.into());
    }
    if !failed.is_empty() {
        answer.insert("Failed".to_owned(), serde_json::json!(failed));
    }
    amz_json(serde_json::Value::Object(answer).to_string())
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::new("SerializationException", "MalformedInput", error.to_string()))
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

fn random_id() -> uuid::fmt::Simple {
    uuid::Uuid::new_v4().simple()
}

fn md5_hex(text: &str) -> String {
    Md5::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
