//! What a test sees of a queue: [`QueueView`].

use std::collections::BTreeMap;
use std::time::Instant;

use super::super::shared::{Shared, lock};
use super::queue::{Queue, State};

/// A message as a test sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenMessage {
    /// The id SQS gave it.
    pub id: String,
    /// The body.
    pub body: String,
    /// String and number attributes by name.
    pub attributes: BTreeMap<String, String>,
    /// The group, on queues that share fairly.
    pub group: Option<String>,
    /// How often it was received.
    pub receives: u32,
    /// Whether the next receive would bring it.
    pub visible: bool,
}

/// A queue at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueView {
    /// Messages that the next receives would bring.
    pub visible: usize,
    /// Messages that were received and are hidden.
    pub in_flight: usize,
    /// Messages sent with a delay that is not over.
    pub delayed: usize,
}

impl QueueView {
    /// All messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.visible + self.in_flight + self.delayed
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

pub(crate) fn view(shared: &Shared, name: &str) -> QueueView {
    let mut sqs = lock(&shared.sqs);
    let at = *sqs.names.get(name).unwrap_or_else(|| panic!("there is no queue {name}"));
    sqs.queues[at].tick(Instant::now());
    let queue = &sqs.queues[at];
    QueueView { visible: queue.visible, in_flight: queue.in_flight, delayed: queue.delayed }
}

pub(crate) fn messages(shared: &Shared, name: &str) -> Vec<SeenMessage> {
    let mut sqs = lock(&shared.sqs);
    let at = *sqs.names.get(name).unwrap_or_else(|| panic!("there is no queue {name}"));
    sqs.queues[at].tick(Instant::now());
    let mut messages: Vec<_> = sqs.queues[at].slots.iter().flatten().collect();
    messages.sort_by_key(|message| message.serial);
    messages
        .into_iter()
        .map(|message| {
            let attributes: BTreeMap<String, serde_json::Value> =
                serde_json::from_str(&message.attributes).unwrap_or_default();
            let text = |value: serde_json::Value| value["StringValue"].as_str().unwrap_or_default().to_owned();
            SeenMessage {
                id: message.id.to_string(),
                body: message.body.to_string(),
                attributes: attributes.into_iter().map(|(name, value)| (name, text(value))).collect(),
                group: message.group.as_deref().map(str::to_owned),
                receives: message.receives,
                visible: message.state == State::Visible,
            }
        })
        .collect()
}

/// What `GetQueueAttributes` says of a queue.
pub(super) fn attributes(shared: &Shared, queue: &Queue) -> serde_json::Value {
    let mut attributes = serde_json::json!({
        "QueueArn": shared.arn("sqs", &queue.spec.name),
        "ApproximateNumberOfMessages": queue.visible.to_string(),
        "ApproximateNumberOfMessagesNotVisible": queue.in_flight.to_string(),
        "ApproximateNumberOfMessagesDelayed": queue.delayed.to_string(),
        "VisibilityTimeout": queue.spec.visibility.as_secs().to_string(),
        "MaximumMessageSize": queue.spec.max_message_bytes.to_string(),
    });
    if let Some((target, most)) = &queue.spec.redrive {
        let policy = serde_json::json!({"deadLetterTargetArn": shared.arn("sqs", target), "maxReceiveCount": most});
        attributes["RedrivePolicy"] = policy.to_string().into();
    }
    attributes
}
