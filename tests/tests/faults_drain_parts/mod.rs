mod alive;
mod between;
mod deleting;
mod hiding;
mod matrix;
mod poison;
mod reading;
mod receiving;
mod stopping;
mod writing;

use std::collections::BTreeMap;

use tests::scripted::{Aws, QueueSpec, TableSpec};
use tests::service::{Kind, Launch};

pub(crate) const QUEUE: &str = "consumer-acme";
pub(crate) const DEAD: &str = "consumer-acme-dlq";
pub(crate) const TABLE: &str = "consumer-acme";

/// An AWS with the tenant `acme`, whose queue gives messages up after `max_receives` receives.
pub(crate) fn acme(max_receives: u32) -> Aws {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named(DEAD));
    let queue = aws.create_queue(QueueSpec::named(QUEUE).redrive(DEAD, max_receives));
    let table = aws.create_table(TableSpec::named(TABLE));
    aws.set_parameter("/acme/consumer_sqs", &queue);
    aws.set_parameter("/acme/consumer_ddb", &table);
    aws
}

/// The consumer of `acme`. Its time to stop is short, and with it its polls: 2 s, given up after 7 s.
pub(crate) fn consumer(aws: &Aws) -> Launch {
    Launch::new(Kind::Consumer, aws, "acme").set("SHUTDOWN_TIMEOUT", "5s").set("VISIBILITY_TIMEOUT", "5s")
}

/// Puts an event into the queue as the producer does.
pub(crate) fn put(aws: &Aws, id: &str, body: &str) {
    let attributes = [
        ("tenant_id", "acme"),
        ("message_id", id),
        ("producer_environment", "acme"),
        ("content_type", "application/json"),
    ];
    aws.put_message(QUEUE, body, &attributes);
}

/// Puts `count` events; their bodies by id.
pub(crate) fn put_many(aws: &Aws, count: usize) -> BTreeMap<String, String> {
    let events: BTreeMap<_, _> = (0..count).map(|n| (format!("m-{n:04}"), format!("{{\"n\":{n}}}"))).collect();
    for (id, body) in &events {
        put(aws, id, body);
    }
    events
}

/// The bodies of the records by id.
pub(crate) fn stored(aws: &Aws) -> BTreeMap<String, String> {
    aws.rows(TABLE).into_iter().map(|row| (row.sort.clone(), row.get("body").to_owned())).collect()
}

/// Whether an event is lost: neither in the queue nor in the table. The queue is looked at first, since it is emptied last.
pub(crate) fn assert_nothing_lost(aws: &Aws, events: &BTreeMap<String, String>) {
    let queued: Vec<String> =
        aws.messages(QUEUE).into_iter().map(|message| message.attributes["message_id"].clone()).collect();
    let dead: Vec<String> =
        aws.messages(DEAD).into_iter().map(|message| message.attributes["message_id"].clone()).collect();
    let stored = stored(aws);
    for id in events.keys() {
        assert!(
            queued.contains(id) || stored.contains_key(id),
            "{id} is lost (in the dead-letter queue: {})\n{}",
            dead.contains(id),
            aws.story()
        );
    }
}

/// Waits until everything is stored and the queue is empty; nothing may be lost meanwhile, or end as a dead letter.
pub(crate) async fn drained(aws: &Aws, events: &BTreeMap<String, String>) {
    aws.wait_until("the queue to be drained", |aws| {
        assert_nothing_lost(aws, events);
        aws.queue(QUEUE).is_empty() && aws.row_count(TABLE) >= events.len()
    })
    .await;
    assert_eq!(&stored(aws), events);
    assert!(aws.queue(DEAD).is_empty(), "{:?}", aws.messages(DEAD));
}
