//! The routes under `/bench/`, by which a run sets the endpoint up and reads what happened. See [`help`].

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use super::cloud::Cloud;
use super::limits::{Limits, Rule};
use super::md5::{Attributes, Hex};
use super::queue::Message;

/// Messages that one request may make.
const MOST_PRELOADED: usize = 5_000_000;

/// What the routes are.
pub(crate) fn help() -> &'static str {
    "GET  /bench/counts         calls, entries and throttled calls by operation; records and their number\n\
     POST /bench/reset          counts from zero\n\
     POST /bench/clear          forgets messages, records, counts and the rules of single queues\n\
     POST /bench/latency        {\"millis\":20}: how long every call takes\n\
     POST /bench/rule/NAME      {\"latency_ms\":5000,\"calls_per_second\":0}: how the queue NAME, or an operation such as PutItem, differs\n\
     POST /bench/preload/NAME   {\"messages\":100000,\"body_bytes\":100,\"tenant\":\"silo\",\"environment\":\"silo\"}\n\
     GET  /bench/queue/NAME     visible, hidden and deleted messages\n\
     GET  /bench/records        a line a record: tenant, id, when it was written in microseconds since 1970\n"
}

#[derive(Deserialize)]
struct Latency {
    millis: u64,
}

#[derive(Deserialize)]
struct Preload {
    messages: usize,
    body_bytes: usize,
    tenant: String,
    environment: String,
}

/// What a control request came to: a status and a body.
pub(crate) type Said = (u16, String);

/// Answers a request under `/bench/`; also the queue that got messages.
pub(crate) fn answer(
    cloud: &mut Cloud,
    limits: &mut Limits,
    (method, path): (&str, &str),
    body: &[u8],
) -> (Said, Option<usize>) {
    let mut parts = path.trim_start_matches("/bench/").splitn(2, '/');
    let (route, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let mut touched = None;
    let said = match (method, route, name) {
        ("GET", "counts", "") => Ok(json!({"calls": cloud.counts.json(), "records": cloud.records()}).to_string()),
        ("POST", "reset", "") => {
            cloud.counts = Default::default();
            Ok("{}".to_owned())
        }
        ("POST", "clear", "") => {
            cloud.clear();
            limits.forget_rules();
            Ok("{}".to_owned())
        }
        ("POST", "latency", "") => serde_json::from_slice::<Latency>(body).map_err(text).map(|latency| {
            limits.set_latency(Duration::from_millis(latency.millis));
            "{}".to_owned()
        }),
        ("POST", "rule", name) if !name.is_empty() => serde_json::from_slice::<Rule>(body).map_err(text).map(|rule| {
            limits.set_rule(name, rule, Instant::now());
            "{}".to_owned()
        }),
        ("POST", "preload", name) if !name.is_empty() => {
            touched = Some(cloud.queue(name));
            preload(cloud, name, body)
        }
        ("GET", "queue", name) if !name.is_empty() => {
            let number = cloud.queue(name);
            cloud.reappear(number);
            let queue = &cloud.at(number).queue;
            let (visible, hidden, deleted) = (queue.visible(), queue.hidden(), queue.deleted());
            Ok(json!({"visible": visible, "hidden": hidden, "deleted": deleted}).to_string())
        }
        ("GET", "records", "") => Ok(cloud.record_lines()),
        _ => return ((404, help().to_owned()), None),
    };
    (said.map_or_else(|error| (400, error), |body| (200, body)), touched)
}

fn text(error: serde_json::Error) -> String {
    error.to_string()
}

/// Puts messages as our producer would have sent them into a queue. They share one body.
fn preload(cloud: &mut Cloud, name: &str, body: &[u8]) -> Result<String, String> {
    let ask: Preload = serde_json::from_slice(body).map_err(text)?;
    if ask.messages > MOST_PRELOADED {
        return Err(format!("at most {MOST_PRELOADED} messages at a time"));
    }
    let event = crate::load::event(ask.body_bytes);
    let body: std::sync::Arc<str> = serde_json::to_string(&event).map_err(text)?.into();
    let body_md5 = Hex::of(event.as_bytes());
    let number = cloud.queue(name);
    let sent_at = crate::clock::epoch_millis();
    for _ in 0..ask.messages {
        let id = cloud.next_id();
        // As distinct as SQS's own id, so that each is a record of its own.
        let unique = id.rsplit('-').next().unwrap_or_default();
        let string = |value: &str| json!({"DataType": "String", "StringValue": value});
        let attributes = json!({
            "tenant_id": string(&ask.tenant),
            "producer_environment": string(&ask.environment),
            "message_id": string(&format!("01900000-0000-7000-8000-{unique}")),
            "content_type": string("application/json"),
        })
        .to_string();
        let digest = Hex::of_attributes(&serde_json::from_str::<Attributes<'_>>(&attributes).map_err(text)?);
        let attributes = Some((attributes.into(), digest));
        let message = Message { id, body: body.clone(), body_md5, attributes, sent_at, receives: 0 };
        cloud.at(number).queue.push(message);
    }
    Ok("{}".to_owned())
}
