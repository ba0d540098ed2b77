//! Looking into a queue without receiving, and what a person may do to a message there.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Sqs;
use super::messages::Message;
use super::queue::name_in;
use super::wire::AttributeValue;

/// How much is in a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depth {
    /// Messages that it ever took in.
    pub sent: u64,
    /// Those that can be received.
    pub waiting: usize,
    /// Those that were received and are hidden.
    pub in_flight: usize,
}

/// A message as it lies in a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The id that SQS gave it.
    pub id: String,
    /// Its body.
    pub body: String,
    /// Its attributes that are text.
    pub attributes: BTreeMap<String, String>,
    /// When it was sent, milliseconds since 1970.
    pub sent_ms: i64,
    /// How often it was received.
    pub receives: u32,
    /// The queue that it came from, for one that a redrive policy moved.
    pub source: Option<String>,
}

impl From<Message> for Letter {
    fn from(message: Message) -> Self {
        let attributes = message.attributes.into_iter().filter_map(|(name, value)| Some((name, value.string_value?)));
        Self {
            id: message.id,
            body: message.body,
            attributes: attributes.collect(),
            sent_ms: message.sent_ms,
            receives: message.receives,
            source: message.dead_letter_source.as_deref().map(name_in),
        }
    }
}

impl Sqs {
    pub(in crate::aws) fn depth(&self, region: &str, queue: &str) -> Depth {
        let messages = self.messages(region, queue);
        let counts = messages.counts();
        Depth { sent: messages.total(), waiting: counts.visible, in_flight: counts.in_flight }
    }

    pub(in crate::aws) fn newest(&self, region: &str, queue: &str, most: usize) -> Vec<Letter> {
        self.messages(region, queue).newest(most).into_iter().map(Letter::from).collect()
    }

    pub(in crate::aws) fn letter(&self, region: &str, queue: &str, id: &str) -> Option<Letter> {
        self.messages(region, queue).get(id).map(Letter::from)
    }

    pub(in crate::aws) fn appear(&self, region: &str, queue: &str, id: &str) {
        self.messages(region, queue).appear(id);
    }

    pub(in crate::aws) fn send_back(&self, region: &str, dead_letter_queue: &str, id: &str) -> Option<String> {
        let dead = self.messages(region, dead_letter_queue);
        let source = dead.get(id)?.dead_letter_source?;
        let mut message = dead.remove(id)?;
        let own_id = AttributeValue {
            data_type: "String".to_owned(),
            string_value: Some(message.id.clone()),
            binary_value: None,
        };
        message.attributes.entry("message_id".to_owned()).or_insert(own_id);
        message.receives = 0;
        message.first_received_ms = None;
        message.dead_letter_source = None;
        let source = name_in(&source);
        self.messages(region, &source).add(message, Duration::ZERO);
        Some(source)
    }
}
