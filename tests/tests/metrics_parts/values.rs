//! The numbers themselves, where an operator would look.

use std::time::{Duration, Instant};

use tests::scripted::{Fault, Op};
use tests::service::{Kind, Launch, Service};

use super::{QUEUE, TABLE, acme};

/// The value of a series, its labels in the order they are shown.
async fn value(service: &Service, series: &str) -> Option<f64> {
    let scrape = service.metrics().await;
    scrape.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

/// Waits until a series has a value that is right.
async fn until(service: &Service, series: &str, right: impl Fn(f64) -> bool) {
    let began = Instant::now();
    let mut last = None;
    while began.elapsed() < Duration::from_secs(60) {
        last = value(service, series).await;
        if last.is_some_and(&right) {
            return;
        }
        // A scrape's period: a gauge has no other sign than its value.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{series} is {last:?}\n{}", service.metrics().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_to_aws_are_counted_by_what_came_of_them() {
    let aws = acme();
    let producer = Launch::new(Kind::Producer, &aws, "acme").start().await;
    let calls = |result: &str| format!("aws_calls_total{{operation=\"SendMessageBatch\",result=\"{result}\"}}");
    assert_eq!(value(&producer, &calls("throttled")).await, Some(0.0), "a counter is there before it counts");
    aws.on(Op::SendMessageBatch).nth(1).fail(Fault::Throttled);
    assert_eq!(producer.event("acme", "{}").await.status, 200);
    assert_eq!(value(&producer, &calls("throttled")).await, Some(1.0));
    assert_eq!(value(&producer, &calls("ok")).await, Some(1.0));
    assert_eq!(value(&producer, "publisher_retries_total").await, Some(1.0));
    assert_eq!(value(&producer, "aws_call_duration_seconds_count{operation=\"SendMessageBatch\"}").await, Some(2.0));
    let answered =
        "http_requests_total{service=\"producer\",route=\"/producer\",method=\"POST\",status=\"200\",problem=\"none\"}";
    assert_eq!(value(&producer, answered).await, Some(1.0));
    assert_eq!(value(&producer, "publisher_lane_messages").await, Some(0.0));
    assert_eq!(value(&producer, "publisher_lanes").await, Some(1.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_failed_is_no_failed_call() {
    let aws = acme();
    let payments = Launch::new(Kind::Payments, &aws, "acme").start().await;
    for _ in 0..2 {
        assert_eq!(payments.payment("acme", "key-1").await.status, 202);
    }
    let calls = |result: &str| format!("aws_calls_total{{operation=\"PutItem\",result=\"{result}\"}}");
    assert_eq!(value(&payments, &calls("ok")).await, Some(1.0));
    assert_eq!(value(&payments, &calls("condition_failed")).await, Some(1.0));
    assert_eq!(value(&payments, &calls("refused")).await, Some(0.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_written_goes_on_ageing_and_receiving_shows_as_paused() {
    let aws = acme();
    aws.on(Op::BatchWriteItem).always().fail(Fault::InternalError);
    aws.put_message(QUEUE, "{}", &[("tenant_id", "acme"), ("message_id", "m-1")]);
    let consumer = Launch::new(Kind::Consumer, &aws, "acme").start().await;
    let age = "consumer_oldest_message_age_seconds";
    until(&consumer, age, |age| age > 0.0).await;
    let before = value(&consumer, age).await.unwrap();
    until(&consumer, age, |age| age > before + 0.5).await;
    until(&consumer, "consumer_receiving_paused{because=\"writes\"}", |paused| paused == 1.0).await;
    aws.behave();
    aws.wait_until("the record", |aws| aws.row_count(TABLE) == 1).await;
    until(&consumer, age, |age| age == 0.0).await;
    until(&consumer, "consumer_receiving_paused{because=\"writes\"}", |paused| paused == 0.0).await;
    assert_eq!(value(&consumer, "consumer_records_stored_total").await, Some(1.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_nobody_knows_make_no_series() {
    let aws = acme();
    let producer = Launch::new(Kind::Producer, &aws, "pool-1").listening().await;
    let ask = async |id: String| {
        let url = format!("{}/{id}/producer", producer.url);
        producer.http.post(&url, &[("tenantID", id.as_str())], "{}").await;
        producer.event(&id, "{}").await;
    };
    ask("first".to_owned()).await;
    ask("x".repeat(41)).await;
    let before = producer.metrics().await;
    for id in 0..300 {
        ask(format!("tenant{id}")).await;
    }
    let after = producer.metrics().await;
    let series = |scrape: &str| {
        let names = scrape.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
        names.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    let new: Vec<String> = series(&after).into_iter().filter(|name| !series(&before).contains(name)).collect();
    assert_eq!(new, Vec::<String>::new());
    assert!(!after.contains("tenant1"), "{after}");
}
