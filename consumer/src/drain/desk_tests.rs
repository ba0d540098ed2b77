use super::*;
use crate::drain::budget::Budget;
use std::time::Duration;
use tenancy::message::received::Event;

fn record(id: &str, body: &str) -> Record {
    let event = Event {
        tenant: "acme".parse().unwrap(),
        message_id: id.to_owned(),
        producer_environment: None,
        content_type: None,
        body: body.to_owned(),
    };
    Record { event, sent_at: None, parent: None }
}

async fn receipt(sqs_id: &str, handle: &str, receive: u64) -> Receipt {
    Receipt {
        queue: Arc::new("arn:aws:sqs:eu-central-1:123456789012:q".parse().unwrap()),
        handle: handle.to_owned(),
        sqs_id: sqs_id.to_owned(),
        receives: 1,
        sent_at: None,
        hidden_until: Instant::now() + Duration::from_secs(30),
        receive,
        ticket: Budget::new(100, 1_000_000).reserve(1).await.ticket(1),
        traceparent: None,
        span: None,
    }
}

fn handles(receipts: Vec<Receipt>) -> Vec<String> {
    receipts.into_iter().map(|receipt| receipt.handle).collect()
}

fn bodies(batch: &[Arc<Record>]) -> Vec<&str> {
    batch.iter().map(|record| record.event.body.as_str()).collect()
}

#[tokio::test]
async fn two_messages_with_one_key_are_one_write_the_last_wins_and_both_are_deleted() {
    let (mut desk, now) = (Desk::default(), Instant::now());
    desk.add(record("a", "1"), receipt("m1", "h1", 1).await, now);
    desk.add(record("a", "2"), receipt("m2", "h2", 1).await, now);
    let batch = desk.take(25, 1_000);
    assert_eq!(bodies(&batch), ["2"]);
    assert_eq!(handles(desk.finish(&batch[0], now)), ["h1", "h2"]);
    assert_eq!(desk.len(), 0);
}

#[tokio::test]
async fn one_message_twice_in_a_receive_is_one_write_and_both_handles_are_deleted() {
    let (mut desk, now) = (Desk::default(), Instant::now());
    desk.add(record("a", "1"), receipt("m1", "h1", 1).await, now);
    desk.add(record("a", "1"), receipt("m1", "h2", 1).await, now);
    let batch = desk.take(25, 1_000);
    assert_eq!(bodies(&batch), ["1"]);
    assert_eq!(handles(desk.finish(&batch[0], now)), ["h1", "h2"]);
}

#[tokio::test]
async fn a_message_received_again_while_it_is_written_is_deleted_with_its_latest_handle() {
    let (mut desk, now) = (Desk::default(), Instant::now());
    desk.add(record("a", "1"), receipt("m1", "h1", 1).await, now);
    let batch = desk.take(25, 1_000);
    desk.add(record("a", "1"), receipt("m1", "h2", 2).await, now);
    assert!(desk.take(25, 1_000).is_empty(), "it is not written a second time");
    assert_eq!(handles(desk.finish(&batch[0], now)), ["h2"]);
    assert_eq!(desk.len(), 0);
}

#[tokio::test]
async fn another_message_with_the_key_of_one_that_is_written_waits_for_its_own_write() {
    let (mut desk, now) = (Desk::default(), Instant::now());
    desk.add(record("a", "1"), receipt("m1", "h1", 1).await, now);
    let first = desk.take(25, 1_000);
    desk.add(record("a", "2"), receipt("m2", "h2", 2).await, now);
    desk.add(record("a", "3"), receipt("m3", "h3", 3).await, now);
    assert!(desk.take(25, 1_000).is_empty());
    assert_eq!(handles(desk.finish(&first[0], now)), ["h1"]);
    let second = desk.take(25, 1_000);
    assert_eq!(bodies(&second), ["3"]);
    assert_eq!(handles(desk.finish(&second[0], now)), ["h2", "h3"]);
}

#[tokio::test]
async fn a_batch_holds_25_records_or_the_bytes_that_fit() {
    let (mut desk, now) = (Desk::default(), Instant::now());
    for n in 0..30 {
        desk.add(record(&n.to_string(), "x"), receipt(&n.to_string(), "h", 1).await, now);
    }
    assert!(desk.is_full(25, 1_000));
    assert_eq!(desk.take(25, 1_000).len(), 25);
    assert!(!desk.is_full(25, 1_000));
    assert_eq!(desk.take(25, 1_000).len(), 5);

    for n in 0..4 {
        desk.add(record(&format!("large{n}"), &"x".repeat(400)), receipt(&n.to_string(), "h", 1).await, now);
    }
    assert!(desk.is_full(25, 1_000));
    assert_eq!(desk.take(25, 1_000).len(), 2);
    assert_eq!(desk.take(25, 10).len(), 1, "one always fits");
}

#[tokio::test]
async fn same_ids_of_two_tenants_are_two_records() {
    let (mut desk, now) = (Desk::default(), Instant::now());
    let mut other = record("a", "2");
    other.event.tenant = "globex".parse().unwrap();
    desk.add(record("a", "1"), receipt("m1", "h1", 1).await, now);
    desk.add(other, receipt("m2", "h2", 1).await, now);
    assert_eq!(desk.take(25, 1_000).len(), 2);
}

#[tokio::test]
async fn what_nears_its_visibility_timeout_is_extended_once() {
    let (mut desk, now) = (Desk::default(), Instant::now());
    desk.add(record("a", "1"), receipt("m1", "h1", 1).await, now);
    desk.add(record("b", "1"), receipt("m2", "h2", 1).await, now);
    let _writing = desk.take(1, 1_000);
    desk.add(record("a", "2"), receipt("m3", "h3", 2).await, now);
    let second = Duration::from_secs(1);
    assert!(desk.extend(now + 15 * second, now + 60 * second).is_empty());
    let mut due: Vec<_> =
        desk.extend(now + 31 * second, now + 60 * second).into_iter().map(|(_, handle)| handle).collect();
    due.sort_unstable();
    assert_eq!(due, ["h1", "h2", "h3"]);
    assert!(desk.extend(now + 31 * second, now + 60 * second).is_empty());
}

#[tokio::test]
async fn everything_in_hand_can_be_handed_back() {
    let (mut desk, now) = (Desk::default(), Instant::now());
    desk.add(record("a", "1"), receipt("m1", "h1", 1).await, now);
    let _writing = desk.take(1, 1_000);
    desk.add(record("a", "2"), receipt("m2", "h2", 2).await, now);
    desk.add(record("b", "1"), receipt("m3", "h3", 2).await, now);
    let mut all = handles(desk.clear());
    all.sort_unstable();
    assert_eq!(all, ["h1", "h2", "h3"]);
    assert_eq!((desk.len(), desk.oldest()), (0, None));
}
