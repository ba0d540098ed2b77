//! The record: a message as a row of the table.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use tenancy::message::received::Event;
use tenancy::message::{CONTENT_TYPE, MESSAGE_ID, PRODUCER_ENVIRONMENT, TENANT_ID};
use tenancy::trace::Parent;

/// Attribute: the environment of the consumer that wrote the record.
pub(crate) const CONSUMER_ENVIRONMENT: &str = "consumer_environment";
/// Attribute: when it was written.
pub(crate) const TIMESTAMP: &str = "timestamp";
/// Attribute: when SQS took the message.
pub(crate) const SENT_AT: &str = "sent_at";
/// Attribute: the event itself.
pub(crate) const BODY: &str = "body";
/// Attribute: when DynamoDB may remove the record, in seconds since 1970.
pub(crate) const EXPIRES_AT: &str = "expires_at";

/// The largest item that DynamoDB takes: 400 KB, names and values together.
pub(crate) const MAX_ITEM_BYTES: usize = 409_600;

/// How long `timestamp` is.
const TIMESTAMP_LEN: usize = "2026-11-30T12:00:00+0000".len();
/// How long `sent_at` is.
const SENT_AT_LEN: usize = "2026-11-30T12:00:00.000Z".len();
/// The most that DynamoDB counts for the ten digits of `expires_at`.
const EXPIRES_AT_LEN: usize = 10;

/// An event on its way into the table. Two records are the same row when tenant and message id are the same.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// What is stored.
    pub(crate) event: Event,
    /// When SQS took it, in milliseconds since 1970.
    pub(crate) sent_at: Option<i64>,
    /// The span of its message, if there is one.
    pub(crate) parent: Option<Parent>,
}

impl Record {
    /// The bytes that DynamoDB counts for the item.
    pub(crate) fn size(&self, stamps: &Stamps) -> usize {
        let event = &self.event;
        let optional = |name: &str, value: &Option<String>| value.as_ref().map_or(0, |value| name.len() + value.len());
        let mut size = TENANT_ID.len() + event.tenant.as_str().len();
        size += MESSAGE_ID.len() + event.message_id.len();
        size += optional(PRODUCER_ENVIRONMENT, &event.producer_environment);
        size += CONSUMER_ENVIRONMENT.len() + stamps.environment.len();
        size += TIMESTAMP.len() + TIMESTAMP_LEN;
        size += self.sent_at.map_or(0, |_| SENT_AT.len() + SENT_AT_LEN);
        size += BODY.len() + event.body.len();
        size += optional(CONTENT_TYPE, &event.content_type);
        size + stamps.ttl_seconds.map_or(0, |_| EXPIRES_AT.len() + EXPIRES_AT_LEN)
    }

    /// Whether DynamoDB takes it.
    pub(crate) fn fits(&self, stamps: &Stamps) -> bool {
        self.size(stamps) <= MAX_ITEM_BYTES
    }

    /// The item: exactly these attributes, strings as they were sent, optional ones left out when there is nothing.
    pub(crate) fn item(&self, stamp: &Stamp) -> HashMap<String, AttributeValue> {
        let event = &self.event;
        let mut item = HashMap::with_capacity(9);
        let mut set = |name: &str, value: String| item.insert(name.to_owned(), AttributeValue::S(value));
        set(TENANT_ID, event.tenant.as_str().to_owned());
        set(MESSAGE_ID, event.message_id.clone());
        if let Some(environment) = &event.producer_environment {
            set(PRODUCER_ENVIRONMENT, environment.clone());
        }
        set(CONSUMER_ENVIRONMENT, stamp.environment.to_string());
        set(TIMESTAMP, stamp.timestamp.clone());
        if let Some(sent_at) = self.sent_at.and_then(rfc3339) {
            set(SENT_AT, sent_at);
        }
        set(BODY, event.body.clone());
        if let Some(content_type) = &event.content_type {
            set(CONTENT_TYPE, content_type.clone());
        }
        if let Some(expires_at) = &stamp.expires_at {
            item.insert(EXPIRES_AT.to_owned(), AttributeValue::N(expires_at.clone()));
        }
        item
    }
}

/// `millis` since 1970 as RFC 3339 in UTC with milliseconds; `None` when that is no time between the years 1 and 9999.
pub(crate) fn rfc3339(millis: i64) -> Option<String> {
    Timestamp::from_millisecond(millis).ok().map(|at| format!("{at:.3}"))
}

/// A record by its key, for sets and maps.
#[derive(Debug, Clone)]
pub(crate) struct ByKey(pub(crate) Arc<Record>);

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        let (one, two) = (&self.0.event, &other.0.event);
        one.message_id == two.message_id && one.tenant == two.tenant
    }
}

impl Eq for ByKey {}

impl Hash for ByKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.event.message_id.hash(state);
        self.0.event.tenant.hash(state);
    }
}

/// What every record of a consumer gets besides its message.
#[derive(Debug, Clone)]
pub(crate) struct Stamps {
    environment: Arc<str>,
    ttl_seconds: Option<i64>,
}

impl Stamps {
    /// Records of `environment` that expire after so many days, or never.
    pub(crate) fn new(environment: &str, ttl_days: Option<u32>) -> Self {
        Self { environment: environment.into(), ttl_seconds: ttl_days.map(|days| i64::from(days) * 86_400) }
    }

    /// The stamp of the records that are written now.
    pub(crate) fn at(&self, now: Timestamp) -> Stamp {
        Stamp {
            environment: self.environment.clone(),
            timestamp: now.strftime("%Y-%m-%dT%H:%M:%S+0000").to_string(),
            expires_at: self.ttl_seconds.map(|ttl| (now.as_second() + ttl).to_string()),
        }
    }
}

/// The attributes that all records of one write have in common.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    environment: Arc<str>,
    timestamp: String,
    expires_at: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(body: &str) -> Record {
        Record {
            event: Event {
                tenant: "acme".parse().unwrap(),
                message_id: "0198c0de".to_owned(),
                producer_environment: Some("pool-1".to_owned()),
                content_type: Some("application/json".to_owned()),
                body: body.to_owned(),
            },
            sent_at: Some(1_796_052_000_007),
            parent: None,
        }
    }

    fn texts(item: &HashMap<String, AttributeValue>) -> Vec<(&str, &str)> {
        let text = |value| match value {
            &AttributeValue::S(ref text) | &AttributeValue::N(ref text) => text.as_str(),
            other => panic!("{other:?}"),
        };
        let mut all: Vec<_> = item.iter().map(|(name, value)| (name.as_str(), text(value))).collect();
        all.sort_unstable();
        all
    }

    const NOW: i64 = 1_796_052_061;

    #[test]
    fn a_record_has_exactly_the_attributes_of_the_contract() {
        let stamp = Stamps::new("acme", Some(30)).at(Timestamp::from_second(NOW).unwrap());
        let item = record("{\"n\":1}").item(&stamp);
        assert_eq!(
            texts(&item),
            [
                ("body", "{\"n\":1}"),
                ("consumer_environment", "acme"),
                ("content_type", "application/json"),
                ("expires_at", "1798644061"),
                ("message_id", "0198c0de"),
                ("producer_environment", "pool-1"),
                ("sent_at", "2026-11-30T15:20:00.007Z"),
                ("tenant_id", "acme"),
                ("timestamp", "2026-11-30T15:21:01+0000"),
            ]
        );
        assert!(matches!(item["expires_at"], AttributeValue::N(_)));
    }

    #[test]
    fn what_a_message_lacks_is_left_out() {
        let mut bare = record("not json");
        bare.event.producer_environment = None;
        bare.event.content_type = None;
        bare.sent_at = None;
        let item = bare.item(&Stamps::new("acme", None).at(Timestamp::from_second(NOW).unwrap()));
        assert_eq!(
            texts(&item),
            [
                ("body", "not json"),
                ("consumer_environment", "acme"),
                ("message_id", "0198c0de"),
                ("tenant_id", "acme"),
                ("timestamp", "2026-11-30T15:21:01+0000"),
            ]
        );
    }

    #[test]
    fn numbers_and_empty_strings_in_the_body_stay_text() {
        for body in ["12345678901234567890123456789012345678901", "0.1", "1e400", "{\"note\":\"\"}", ""] {
            let item = record(body).item(&Stamps::new("acme", None).at(Timestamp::from_second(NOW).unwrap()));
            assert_eq!(item["body"], AttributeValue::S(body.to_owned()));
        }
    }

    #[test]
    fn the_size_is_what_dynamodb_counts() {
        let stamps = Stamps::new("acme", None);
        for body in ["", "{}", "\u{1f600}"] {
            let record = record(body);
            let item = record.item(&stamps.at(Timestamp::from_second(NOW).unwrap()));
            let counted: usize = texts(&item).iter().map(|(name, value)| name.len() + value.len()).sum();
            assert_eq!(record.size(&stamps), counted);
        }
        assert_eq!(record("").size(&Stamps::new("acme", Some(1))), record("").size(&stamps) + 20);
    }

    #[test]
    fn a_time_that_is_none_is_left_out() {
        let mut record = record("{}");
        record.sent_at = Some(i64::MAX);
        let item = record.item(&Stamps::new("acme", None).at(Timestamp::from_second(NOW).unwrap()));
        assert!(!item.contains_key("sent_at"));
    }
}
