//! One dead letter: why it is dead, how it is shown, and how it is sent again.

use std::collections::HashMap;

use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{
    Message, MessageAttributeValue, MessageSystemAttributeName, MessageSystemAttributeNameForSends,
    MessageSystemAttributeValue, SendMessageBatchRequestEntry,
};
use serde_json::{Value, json};
use tenancy::message::received::{Received, size_of, string_of};
use tenancy::message::{MESSAGE_ID, TENANT_ID, id};
use tenancy::tenant::Environment;

use crate::drain::poison::Reason;
use crate::operator::cli::Which;
use crate::operator::printable;
use crate::record::{Record, Stamps, rfc3339};

/// The most attributes that SQS takes.
const MAX_ATTRIBUTES: usize = 10;

/// A message from the dead-letter queue.
#[derive(Debug, Clone)]
pub(super) struct Letter {
    /// SQS's id: the same each time it is received.
    pub(super) sqs_id: String,
    /// Deletes it, or hands it back.
    pub(super) handle: String,
    /// The key of its record, stored or yet to be.
    pub(super) key: String,
    /// What it says about whose it is.
    pub(super) tenant: Option<String>,
    /// Why the consumer would refuse it again; `None` when nothing in it says so.
    pub(super) reason: Option<Reason>,
    /// What the receive did not bring of it. As long as it lacks that, sending it would destroy it.
    pub(super) lack: Option<&'static str>,
    /// Its body and attributes, in bytes, as SQS counts them.
    pub(super) size: usize,
    body: Option<String>,
    attributes: HashMap<String, MessageAttributeValue>,
    group: Option<String>,
    trace_header: Option<String>,
    receives: u32,
    sent_at: Option<i64>,
}

impl Letter {
    /// Reads a message by the rules of the consumer of `environment`.
    pub(super) fn read(message: Message, environment: &Environment, stamps: &Stamps) -> Self {
        let lack = lack(&message);
        let body = message.body.clone().filter(|body| !body.is_empty());
        let attributes = message.message_attributes.clone().unwrap_or_default();
        let system = |name| message.attributes.as_ref().and_then(|all| all.get(&name)).cloned();
        let group = system(MessageSystemAttributeName::MessageGroupId);
        let trace_header = system(MessageSystemAttributeName::AwsTraceHeader);
        let received = Received::read(message, environment);
        let (sent_at, receives) = (received.sent_at, received.receives);
        let reason = match received.event {
            Err(rejection) => Some(Reason::Rejected(rejection)),
            Ok(event) => (!Record { event, sent_at, parent: None }.fits(stamps)).then_some(Reason::TooLarge),
        };
        Self {
            key: own_key(&attributes).unwrap_or(&received.sqs_id).to_owned(),
            tenant: attributes.get(TENANT_ID).and_then(string_of).map(str::to_owned),
            sqs_id: received.sqs_id,
            handle: received.receipt_handle,
            size: received.size,
            reason,
            lack,
            body,
            attributes,
            group,
            trace_header,
            receives,
            sent_at,
        }
    }

    /// Whether it is one of those asked for.
    pub(super) fn is_wanted(&self, which: &Which) -> bool {
        let tenant = which.tenant.as_ref().is_none_or(|wanted| self.tenant.as_deref() == Some(wanted.as_str()));
        let ids = &which.message_ids;
        tenant && (ids.is_empty() || ids.iter().any(|id| *id == self.sqs_id || *id == self.key))
    }

    /// What SQS is to be given: everything as it was, but for the key of the record as attribute, since a message that is
    /// sent anew gets a new id, which the consumer would take for a key.
    pub(super) fn entry(&self, position: usize) -> Result<SendMessageBatchRequestEntry, String> {
        if let Some(lack) = self.lack {
            return Err(lack.to_owned());
        }
        let mut attributes = self.attributes.clone();
        if own_key(&attributes).is_none() {
            let key = MessageAttributeValue::builder().data_type("String").string_value(&self.key).build();
            attributes.insert(MESSAGE_ID.to_owned(), key.map_err(text)?);
        }
        if attributes.len() > MAX_ATTRIBUTES {
            return Err(format!(
                "it has {MAX_ATTRIBUTES} attributes and no usable message_id; SQS takes no more, and without the key of \
                 its record it could be stored twice"
            ));
        }
        let trace_header = self.trace_header.as_ref().map(|header| {
            let value = MessageSystemAttributeValue::builder().data_type("String").string_value(header).build();
            value.map(|value| HashMap::from([(MessageSystemAttributeNameForSends::AwsTraceHeader, value)]))
        });
        SendMessageBatchRequestEntry::builder()
            .id(position.to_string())
            .set_message_body(self.body.clone())
            .set_message_attributes(Some(attributes))
            .set_message_system_attributes(trace_header.transpose().map_err(text)?)
            .set_message_group_id(self.group.clone())
            .build()
            .map_err(text)
    }

    /// One line for a person, and one more for the body if that is asked for.
    pub(super) fn line(&self, with_body: bool) -> String {
        let or_dash = |text: Option<&str>| text.map_or_else(|| "-".to_owned(), printable);
        let mut line = format!(
            "{}  tenant {}  reason {}  key {}  receives {}  sent {}  bytes {}",
            printable(&self.sqs_id),
            or_dash(self.tenant.as_deref()),
            or_dash(self.reason.map(Reason::as_str)),
            printable(&self.key),
            self.receives,
            or_dash(self.sent().as_deref()),
            self.size
        );
        if with_body {
            line.push_str("\n    ");
            line.push_str(&or_dash(self.body.as_deref()));
        }
        line
    }

    /// The same for a program.
    pub(super) fn json(&self, with_body: bool) -> Value {
        let mut json = json!({
            "sqs_message_id": self.sqs_id,
            "message_id": self.key,
            "tenant_id": self.tenant,
            "storable": self.reason.is_none(),
            "reason": self.reason.map(Reason::as_str),
            "why": self.reason.map(|reason| reason.to_string()),
            "receives": self.receives,
            "sent_at": self.sent(),
            "bytes": self.size,
        });
        if with_body {
            json["body"] = self.body.clone().into();
        }
        json
    }

    fn sent(&self) -> Option<String> {
        self.sent_at.and_then(rfc3339)
    }
}

/// What a message has and came without: SQS keeps no message without a body, and gives a digest of the attributes that there are.
fn lack(message: &Message) -> Option<&'static str> {
    if message.body().is_none_or(str::is_empty) {
        return Some("it came without its body");
    }
    let attributes = message.message_attributes().is_some_and(|attributes| !attributes.is_empty());
    (message.md5_of_message_attributes().is_some() && !attributes).then_some("it came without its attributes")
}

/// The key that the message brings itself, by the consumer's rule.
fn own_key(attributes: &HashMap<String, MessageAttributeValue>) -> Option<&str> {
    attributes.get(MESSAGE_ID).and_then(string_of).filter(|text| id::is_usable(text))
}

fn text(error: BuildError) -> String {
    error.to_string()
}

/// The bytes that a key adds to a message that has none.
pub(super) fn key_size(letter: &Letter) -> usize {
    let attribute = MessageAttributeValue::builder().data_type("String").string_value(&letter.key).build();
    MESSAGE_ID.len() + attribute.map_or(0, |attribute| size_of(&attribute))
}

#[cfg(test)]
#[path = "letter_tests.rs"]
mod tests;
