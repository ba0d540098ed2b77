//! Reading a message from SQS, whoever made it.
//!
//! Producers of ours send the five attributes of the envelope. Older ones send `tenant_id` and `producer_environment` only, or
//! none, and any text as body. What a message has is taken as it is; what it lacks stays out; nothing in it, however
//! hostile, makes reading fail in another way than with a [`Rejection`].

use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};
use thiserror::Error;

use crate::message::{CONTENT_TYPE, MESSAGE_ID, PRODUCER_ENVIRONMENT, TENANT_ID, TRACEPARENT, id};
use crate::tenant::{Environment, TenantId};

/// The message attributes that a receive has to ask for.
pub const ATTRIBUTES: [&str; 5] = [TENANT_ID, PRODUCER_ENVIRONMENT, MESSAGE_ID, CONTENT_TYPE, TRACEPARENT];

/// The system attributes that a receive has to ask for.
pub const SYSTEM_ATTRIBUTES: [MessageSystemAttributeName; 2] =
    [MessageSystemAttributeName::SentTimestamp, MessageSystemAttributeName::ApproximateReceiveCount];

/// The longest of the optional attributes that is kept, in bytes. Ours are far shorter; DynamoDB counts them into the item.
const OPTIONAL_MAX_BYTES: usize = 2_048;

/// One message as it came out of the queue: the event, and what it takes to delete it.
#[derive(Debug)]
pub struct Received {
    /// What can be stored, or why nothing can.
    pub event: Result<Event, Rejection>,
    /// SQS's own id of the message: the same each time it is received.
    pub sqs_id: String,
    /// What deletes it, or changes its visibility. New each time the message is received.
    pub receipt_handle: String,
    /// How often it has been received, this time included; at least 1.
    pub receives: u32,
    /// The bytes of its body and attributes, as far as they were asked for.
    pub size: usize,
    /// When SQS took it, in milliseconds since 1970.
    pub sent_at: Option<i64>,
    /// The sampled trace that it belongs to.
    pub traceparent: Option<String>,
}

/// An event that can be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whose it is.
    pub tenant: TenantId,
    /// The key that it is stored under: the attribute where there is a usable one, else SQS's own id.
    pub message_id: String,
    /// The environment of the producer that took it.
    pub producer_environment: Option<String>,
    /// The media type of the body.
    pub content_type: Option<String>,
    /// The body as it was sent.
    pub body: String,
}

/// Why a message cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Rejection {
    /// Nobody's: there is no attribute `tenant_id`.
    #[error("it has no attribute tenant_id")]
    NoTenant,
    /// The attribute is not a String, or not the id of a tenant.
    #[error("its attribute tenant_id is not the id of a tenant")]
    MalformedTenant,
    /// Another tenant's, in the queue of one that shares with nobody.
    #[error("it belongs to another tenant than this environment's")]
    ForeignTenant,
    /// There is neither a usable attribute `message_id` nor an id of SQS.
    #[error("it has no id to be stored under")]
    NoId,
    /// The receive brought no body with it. Stored without, the event would be lost.
    #[error("it came without its body")]
    NoBody,
}

impl Rejection {
    /// The reason as a metric label.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoTenant => "no_tenant",
            Self::MalformedTenant => "malformed_tenant",
            Self::ForeignTenant => "foreign_tenant",
            Self::NoId => "no_id",
            Self::NoBody => "no_body",
        }
    }
}

impl Received {
    /// Reads `message`, received from the queue of `environment`.
    #[must_use]
    pub fn read(message: Message, environment: &Environment) -> Self {
        let sqs_id = message.message_id.unwrap_or_default();
        let body = message.body;
        let mut attributes = message.message_attributes.unwrap_or_default();
        let size = body.as_ref().map_or(0, String::len)
            + attributes.iter().map(|(name, value)| name.len() + size_of(value)).sum::<usize>();
        let system = message.attributes.unwrap_or_default();
        let number = |name| system.get(&name).and_then(|text| text.parse::<i64>().ok());
        let receives = number(MessageSystemAttributeName::ApproximateReceiveCount);
        let sent_at = number(MessageSystemAttributeName::SentTimestamp).filter(|millis| *millis >= 0);

        let tenant = match attributes.remove(TENANT_ID) {
            None => Err(Rejection::NoTenant),
            Some(attribute) => read_tenant(attribute, environment),
        };
        let mut optional = |name| attributes.remove(name).and_then(text).filter(|text| fits(text, OPTIONAL_MAX_BYTES));
        let producer_environment = optional(PRODUCER_ENVIRONMENT);
        let content_type = optional(CONTENT_TYPE);
        let traceparent = optional(TRACEPARENT);
        let own_id = attributes.remove(MESSAGE_ID).and_then(text).filter(|text| id::is_usable(text));
        let event = tenant.and_then(|tenant| {
            let message_id =
                own_id.or_else(|| id::is_usable(&sqs_id).then(|| sqs_id.clone())).ok_or(Rejection::NoId)?;
            let body = body.ok_or(Rejection::NoBody)?;
            Ok(Event { tenant, message_id, producer_environment, content_type, body })
        });
        Self {
            event,
            sqs_id,
            receipt_handle: message.receipt_handle.unwrap_or_default(),
            receives: receives.and_then(|count| u32::try_from(count).ok()).unwrap_or(1).max(1),
            size,
            sent_at,
            traceparent,
        }
    }
}

fn read_tenant(attribute: MessageAttributeValue, environment: &Environment) -> Result<TenantId, Rejection> {
    let tenant: TenantId = text(attribute).and_then(|id| id.parse().ok()).ok_or(Rejection::MalformedTenant)?;
    match environment {
        Environment::Tenant(own) if *own != tenant => Err(Rejection::ForeignTenant),
        Environment::Tenant(_) | Environment::Pool(_) => Ok(tenant),
    }
}

/// The value of an attribute of type String. Senders may add a label to the type, such as `String.uuid`.
#[must_use]
pub fn string_of(attribute: &MessageAttributeValue) -> Option<&str> {
    let kind = attribute.data_type.strip_prefix("String")?;
    if kind.is_empty() || kind.starts_with('.') { attribute.string_value.as_deref() } else { None }
}

/// The same, without a copy.
fn text(attribute: MessageAttributeValue) -> Option<String> {
    string_of(&attribute)?;
    attribute.string_value
}

/// Empty values are left out of records, and of what was kept of them.
fn fits(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len())
}

/// The bytes of an attribute's type and value as SQS counts them.
#[must_use]
pub fn size_of(attribute: &MessageAttributeValue) -> usize {
    let text = attribute.string_value.as_ref().map_or(0, String::len);
    let binary = attribute.binary_value.as_ref().map_or(0, |blob| blob.as_ref().len());
    attribute.data_type.len() + text + binary
}

#[cfg(test)]
#[path = "received_tests.rs"]
mod tests;
