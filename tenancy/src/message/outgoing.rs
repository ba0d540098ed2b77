//! Making a message: the body that SQS takes, its attributes, and its size by SQS's own counting.

use std::borrow::Cow;
use std::collections::HashMap;

use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use bytes::Bytes;
use bytestring::ByteString;
use thiserror::Error;
use uuid::Uuid;

use crate::message::{CONTENT_TYPE, DEFAULT_EVENT, JSON, MESSAGE_ID, PRODUCER_ENVIRONMENT, TENANT_ID, TRACEPARENT};
use crate::tenant::{Environment, TenantId};

/// One message, ready to be sent.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Whose event it is.
    pub tenant: TenantId,
    /// The key it is to be stored under.
    pub message_id: Uuid,
    /// The event's JSON.
    pub body: Body,
    /// The media type of the body.
    pub content_type: ContentType,
    /// The sampled trace it belongs to.
    pub traceparent: Option<Box<str>>,
}

impl Outgoing {
    /// The bytes that SQS counts against its limits: the body, and of each attribute its name, type and value.
    #[must_use]
    pub fn size(&self, producer: &Environment) -> usize {
        let text = |name: &str, value: usize| name.len() + STRING.len() + value;
        let mut size = self.body.as_str().len()
            + text(TENANT_ID, self.tenant.as_str().len())
            + text(PRODUCER_ENVIRONMENT, producer.as_str().len())
            + text(MESSAGE_ID, UUID_LEN)
            + text(CONTENT_TYPE, self.content_type.as_str().len());
        if let Some(parent) = &self.traceparent {
            size += text(TRACEPARENT, parent.len());
        }
        size
    }

    /// The message's attributes: a small, fixed set, whatever headers the client sent.
    ///
    /// # Errors
    /// Never in practice: every attribute has a type.
    pub fn attributes(&self, producer: &Environment) -> Result<HashMap<String, MessageAttributeValue>, BuildError> {
        let text = |value: String| MessageAttributeValue::builder().data_type(STRING).string_value(value).build();
        let mut attributes = HashMap::with_capacity(5);
        attributes.insert(TENANT_ID.to_owned(), text(self.tenant.as_str().to_owned())?);
        attributes.insert(PRODUCER_ENVIRONMENT.to_owned(), text(producer.as_str().to_owned())?);
        attributes.insert(MESSAGE_ID.to_owned(), text(self.message_id.to_string())?);
        attributes.insert(CONTENT_TYPE.to_owned(), text(self.content_type.as_str().to_owned())?);
        if let Some(parent) = &self.traceparent {
            attributes.insert(TRACEPARENT.to_owned(), text(parent.to_string())?);
        }
        Ok(attributes)
    }

    /// The message as an entry of a `SendMessageBatch`, told from the others by `id`. `pooled`: others share the queue.
    ///
    /// # Errors
    /// Never in practice: what is required is set.
    pub fn entry(
        &self,
        id: &str,
        producer: &Environment,
        pooled: bool,
    ) -> Result<SendMessageBatchRequestEntry, BuildError> {
        SendMessageBatchRequestEntry::builder()
            .id(id)
            .message_body(self.body.as_str())
            // A group on a standard queue orders nothing; it makes the queue fair between groups.
            .set_message_group_id(pooled.then(|| self.tenant.as_str().to_owned()))
            .set_message_attributes(Some(self.attributes(producer)?))
            .build()
    }
}

const STRING: &str = "String";
const UUID_LEN: usize = 36;

/// An event's JSON in the characters that SQS takes: a part of what the client's request was read into, not a copy of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body(ByteString);

/// Why bytes are not an event.
#[derive(Debug, Error)]
pub enum BodyError {
    /// Not JSON; the text says where.
    #[error("the body is not valid JSON: {0}")]
    Json(String),
}

impl Body {
    /// What a client posted: any JSON value, kept byte for byte, or nothing, which stands for [`DEFAULT_EVENT`].
    ///
    /// The value is checked without being built: numbers keep their digits, objects their order and repeated names.
    ///
    /// # Errors
    /// The bytes are not JSON in UTF-8.
    pub fn from_client(bytes: Bytes) -> Result<Self, BodyError> {
        if bytes.is_empty() {
            return Ok(Self(ByteString::from_static(DEFAULT_EVENT)));
        }
        let text = ByteString::try_from(bytes).map_err(|error| BodyError::Json(error.to_string()))?;
        serde_json::from_str::<&serde_json::value::RawValue>(&text)
            .map_err(|error| BodyError::Json(error.to_string()))?;
        Ok(Self::from_json(text))
    }

    /// From text that is known to be JSON.
    #[must_use]
    pub fn from_json(json: impl Into<ByteString>) -> Self {
        Self(escape_refused(json.into()))
    }

    /// The text that is sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// JSON-escapes what SQS refuses in a body.
///
/// SQS takes #x9, #xA, #xD, #x20 to #xD7FF, #xE000 to #xFFFD and #x10000 to #x10FFFF. JSON allows no raw control characters
/// but the first three, and UTF-8 no surrogates, so U+FFFE and U+FFFF are what is left; both can only stand inside a string.
fn escape_refused(json: ByteString) -> ByteString {
    if !json.contains(['\u{fffe}', '\u{ffff}']) {
        return json;
    }
    json.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff").into()
}

/// The media type of a JSON body, as the client wrote it: `application/json` or `application/…+json`, with parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentType(Cow<'static, str>);

/// A media type that is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a JSON media type")]
pub struct ContentTypeError;

impl Default for ContentType {
    fn default() -> Self {
        Self(Cow::Borrowed(JSON))
    }
}

impl ContentType {
    /// From a `Content-Type` header's value.
    ///
    /// # Errors
    /// It is not JSON, not visible ASCII, or longer than 255 bytes.
    pub fn parse(value: &str) -> Result<Self, ContentTypeError> {
        if value.eq_ignore_ascii_case(JSON) {
            return Ok(Self::default());
        }
        let legal = value.len() <= 255 && value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let (kind, subtype) = essence.split_once('/').ok_or(ContentTypeError)?;
        let json = !kind.is_empty() && (subtype == "json" || (subtype.len() > 5 && subtype.ends_with("+json")));
        if legal && json { Ok(Self(Cow::Owned(value.to_owned()))) } else { Err(ContentTypeError) }
    }

    /// As the client wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
#[path = "outgoing_tests.rs"]
mod tests;
