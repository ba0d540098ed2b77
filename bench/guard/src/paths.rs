//! The hot paths. Each is one function that callgrind counts from its entry to its return; what goes in is made before, and
//! what a service would drop is dropped in it. They call the services' own code.
//!
//! Ids and sizes are fixed; clocks and the seeds of hash maps are what `callgrind` makes them.

use std::hint::black_box;
use std::sync::Arc;

use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};
use bytes::Bytes;
use consumer::steps::{Plan, Recording};
use http::{HeaderMap, HeaderValue};
use tenancy::arn::QueueArn;
use tenancy::message::outgoing::{Body, ContentType, Outgoing};
use tenancy::publisher::steps::Gathering;
use tenancy::server::headers;
use tenancy::tenant::{Environment, TenantId};
use uuid::Uuid;

/// How many messages go through a path in one run.
pub const MESSAGES: u32 = 1_000;

/// Whose they are.
const TENANT: &str = "acme-corporation";

/// Why a path could not be run to its end.
pub type Failed = Box<dyn std::error::Error>;

/// A hot path.
#[derive(Debug)]
pub struct Path {
    /// The name of its function in this module, and in the committed counts.
    pub name: &'static str,
    /// Makes what goes in and calls it: how many messages came through.
    pub run: fn() -> Result<usize, Failed>,
}

/// All of them.
pub const PATHS: [Path; 5] = [
    Path { name: "header_to_tenant", run: with_headers },
    Path { name: "event_to_batch_entry", run: with_events },
    Path { name: "batch_planning_of_sends", run: with_sends },
    Path { name: "received_message_to_record", run: with_received },
    Path { name: "batch_planning_of_writes", run: with_writes },
];

#[inline(never)]
fn header_to_tenant(requests: &[HeaderMap]) -> usize {
    requests.iter().filter(|headers| matches!(black_box(headers::caller(headers)), Ok(Some(_)))).count()
}

#[inline(never)]
fn event_to_batch_entry(events: Vec<(Uuid, Bytes)>, tenant: &TenantId, producer: &Environment) -> usize {
    let mut made = 0;
    for (message_id, bytes) in events {
        let Ok(body) = Body::from_client(bytes) else { continue };
        let tenant = tenant.clone();
        let message = Outgoing { tenant, message_id, body, content_type: ContentType::default(), traceparent: None };
        let size = black_box(message.size(producer));
        let entry = black_box(message.entry("0", producer, true));
        made += usize::from(size > 0 && entry.is_ok());
    }
    made
}

#[inline(never)]
fn batch_planning_of_sends(gathering: Gathering) -> usize {
    black_box(gathering.run()).iter().sum()
}

#[inline(never)]
fn received_message_to_record(messages: Vec<Message>, recording: &Recording) -> usize {
    messages.into_iter().filter_map(|message| black_box(recording.item(message))).count()
}

#[inline(never)]
fn batch_planning_of_writes(plan: Plan) -> usize {
    black_box(plan.run()).iter().sum()
}

fn with_headers() -> Result<usize, Failed> {
    let request = || {
        // What a load balancer passes on of a client's request.
        let pairs = [
            ("host", "producer.example.com"),
            ("user-agent", "client/1.0"),
            ("accept", "*/*"),
            ("content-type", "application/json"),
            ("content-length", "100"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-forwarded-proto", "https"),
            ("tenantid", TENANT),
            ("tier", "basic"),
        ];
        pairs.into_iter().map(|(name, value)| (http::HeaderName::from_static(name), HeaderValue::from_static(value)))
    };
    let requests: Vec<HeaderMap> = (0..MESSAGES).map(|_| request().collect()).collect();
    Ok(header_to_tenant(&requests))
}

fn with_events() -> Result<usize, Failed> {
    let events: Vec<_> = (0..MESSAGES).map(|number| (id(number), Bytes::from(event()))).collect();
    Ok(event_to_batch_entry(events, &TENANT.parse()?, &environment()?))
}

fn with_sends() -> Result<usize, Failed> {
    // One more than a multiple of ten: the first goes alone.
    let messages = (0..=MESSAGES).map(outgoing).collect::<Result<_, _>>()?;
    let came = batch_planning_of_sends(Gathering::new(messages, queue()?, environment()?));
    Ok(came.saturating_sub(1))
}

fn with_received() -> Result<usize, Failed> {
    Ok(received_message_to_record(messages()?, &Recording::new(environment()?)))
}

fn with_writes() -> Result<usize, Failed> {
    Ok(batch_planning_of_writes(Plan::new(messages()?, &queue()?, &environment()?)))
}

fn environment() -> Result<Environment, Failed> {
    Ok("pool-1".parse()?)
}

fn queue() -> Result<Arc<QueueArn>, Failed> {
    Ok(Arc::new("arn:aws:sqs:eu-central-1:123456789012:consumer-pool-1".parse()?))
}

/// A hundred bytes of JSON.
fn event() -> String {
    format!("{{\"event\":\"{}\"}}", "x".repeat(88))
}

/// Spread as ids in use are.
fn id(number: u32) -> Uuid {
    Uuid::from_u128(u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

fn outgoing(number: u32) -> Result<Outgoing, Failed> {
    Ok(Outgoing {
        tenant: TENANT.parse()?,
        message_id: id(number),
        body: Body::from_json(event()),
        content_type: ContentType::default(),
        traceparent: None,
    })
}

fn messages() -> Result<Vec<Message>, Failed> {
    Ok((0..MESSAGES).map(message).collect::<Result<_, _>>()?)
}

fn message(number: u32) -> Result<Message, BuildError> {
    let text = |value: &str| MessageAttributeValue::builder().data_type("String").string_value(value).build();
    let id = id(number).to_string();
    let message = Message::builder()
        .message_id(&id)
        .receipt_handle("A".repeat(184))
        .body(event())
        .attributes(MessageSystemAttributeName::SentTimestamp, "1796052000007")
        .attributes(MessageSystemAttributeName::ApproximateReceiveCount, "1")
        .message_attributes("tenant_id", text(TENANT)?)
        .message_attributes("producer_environment", text("pool-1")?)
        .message_attributes("message_id", text(&id)?)
        .message_attributes("content_type", text("application/json")?);
    Ok(message.build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_comes_through_every_path() {
        for path in &PATHS {
            assert_eq!((path.run)().unwrap(), 1_000, "{}", path.name);
        }
    }

    #[test]
    fn events_have_a_hundred_bytes() {
        assert_eq!(event().len(), 100);
    }
}
