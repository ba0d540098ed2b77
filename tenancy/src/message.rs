//! The envelope: an event on its way through SQS.
//!
//! The body is the event's JSON as the client wrote it; what we know about it travels as attributes. [`outgoing`] makes a
//! message, [`received`] reads one, also one that an older producer made; [`id`] says under which key it is stored.

pub mod id;
pub mod outgoing;
pub mod received;

/// Attribute: whose event this is.
pub const TENANT_ID: &str = "tenant_id";
/// Attribute: the environment of the producer that took it.
pub const PRODUCER_ENVIRONMENT: &str = "producer_environment";
/// Attribute: the sort key that it is stored under.
pub const MESSAGE_ID: &str = "message_id";
/// Attribute: the media type of the body.
pub const CONTENT_TYPE: &str = "content_type";
/// Attribute: the W3C trace context, when the trace is sampled.
pub const TRACEPARENT: &str = "traceparent";

/// The media type of an event whose client named none.
pub const JSON: &str = "application/json";

/// The event that an empty body stands for.
pub const DEFAULT_EVENT: &str = r#"{"event":"Event raised!"}"#;

/// The default of `MAX_MESSAGE_BYTES`: what every SQS queue takes, also one whose limit was never raised to 1 MiB.
pub const DEFAULT_MAX_MESSAGE_BYTES: usize = 262_144;

/// The largest `MAX_MESSAGE_BYTES`: a DynamoDB item may have 400 KB (409,600 bytes), names and the other attributes included.
pub const LARGEST_MAX_MESSAGE_BYTES: usize = 390_000;
