//! `ReceiveMessage`: the long poll, the redrive, and which attributes an answer carries.

use std::collections::HashMap;
use std::time::Duration;

use axum::response::Response;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::messages::Message;
use super::queue::{Config, seconds};
use super::wire::{Receive, Refusal, amz_json};
use super::{MAX_VISIBILITY, Sqs, limits, md5_hex, now_ms, parse};

impl Sqs {
    /// Receives at once what is there; otherwise waits, as long as asked for, until there is something.
    pub(super) async fn receive(&self, region: &str, body: &[u8]) -> Result<Response, Refusal> {
        let request: Receive = parse(body)?;
        limits::range("MaxNumberOfMessages", request.max_number_of_messages, 1..=10)?;
        limits::range("VisibilityTimeout", request.visibility_timeout, 0..=MAX_VISIBILITY)?;
        limits::range("WaitTimeSeconds", request.wait_time_seconds, 0..=20)?;
        let mut queue = self.config(region, &request.queue_url).await?;
        let deadline = Instant::now() + request.wait_time_seconds.map_or(queue.wait, seconds);
        loop {
            let received = self.take(region, &queue, &request);
            if !received.is_empty() {
                let messages: Vec<Value> =
                    received.iter().map(|(handle, message)| shown(handle, message, &request)).collect();
                return Ok(amz_json(json!({ "Messages": messages }).to_string()));
            }
            if Instant::now() >= deadline || self.hurry.is_cancelled() {
                return Ok(amz_json("{}"));
            }
            let messages = self.messages(region, &queue.name);
            tokio::select! {
                () = messages.wait(deadline) => {}
                () = self.hurry.cancelled() => {}
            }
            // It may have been deleted, or its redrive policy changed, meanwhile.
            queue = self.config(region, &request.queue_url).await?;
        }
    }

    fn take(&self, region: &str, queue: &Config, request: &Receive) -> Vec<(String, Message)> {
        let max = usize::try_from(request.max_number_of_messages.unwrap_or(1)).unwrap_or(1);
        let visibility = request.visibility_timeout.map_or(queue.visibility, seconds);
        let max_receives = queue.redrive.as_ref().map(|redrive| redrive.max_receives);
        let received = self.messages(region, &queue.name).take(max, visibility, max_receives, now_ms());
        if let Some(redrive) = &queue.redrive {
            let target = self.messages(region, &redrive.target);
            for mut message in received.redriven {
                message.dead_letter_source = Some(queue.arn.clone());
                message.receives = 0;
                message.first_received_ms = None;
                target.add(message, Duration::ZERO);
            }
        }
        received.messages
    }
}

/// A message as the answer shows it: with the attributes that were asked for and no others.
fn shown(handle: &str, message: &Message, request: &Receive) -> Value {
    let mut value = json!({
        "MessageId": message.id,
        "ReceiptHandle": handle,
        "MD5OfBody": md5_hex(&message.body),
        "Body": message.body,
    });
    let system = system_attributes(message, request);
    let own: HashMap<_, _> =
        message.attributes.iter().filter(|(name, _)| wants(&request.message_attribute_names, name)).collect();
    if !system.is_empty() {
        value["Attributes"] = json!(system);
    }
    if !own.is_empty() {
        value["MessageAttributes"] = json!(own);
    }
    value
}

fn system_attributes(message: &Message, request: &Receive) -> HashMap<&'static str, String> {
    let all = [
        ("SenderId", Some("AROAEMBEDDED:sandbox".to_owned())),
        ("SentTimestamp", Some(message.sent_ms.to_string())),
        ("ApproximateReceiveCount", Some(message.receives.to_string())),
        ("ApproximateFirstReceiveTimestamp", message.first_received_ms.map(|ms| ms.to_string())),
        ("DeadLetterQueueSourceArn", message.dead_letter_source.clone()),
        ("MessageGroupId", message.group.clone()),
    ];
    let wanted = |name: &str| {
        let mut lists = request.message_system_attribute_names.iter().chain(&request.attribute_names);
        lists.any(|wanted| wanted == name || wanted == "All")
    };
    all.into_iter().filter(|(name, _)| wanted(name)).filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Whether a message attribute was asked for: by name, by prefix (`tenant.*`), or with all (`All`, `.*`).
fn wants(names: &[String], name: &str) -> bool {
    names.iter().any(|wanted| match wanted.strip_suffix(".*") {
        Some(prefix) => name.starts_with(prefix),
        None => wanted == "All" || wanted == name,
    })
}
