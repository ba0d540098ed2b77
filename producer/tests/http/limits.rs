//! How large an event may be, and requests that are made to hurt.

use std::time::Duration;

use tests::scripted::{Op, QueueSpec};

use crate::support::{Producer, aws_with, only_message, problem};

const QUEUE: &str = "consumer-acme";

/// What an event's attributes count for tenant and environment `acme`: name, type and value of four.
const ATTRIBUTES: usize = (9 + 6 + 4) + (20 + 6 + 4) + (10 + 6 + 36) + (12 + 6 + 16);

/// A JSON string of so many bytes.
fn event_of(bytes: usize) -> String {
    format!("\"{}\"", "x".repeat(bytes - 2))
}

#[tokio::test]
async fn the_limit_counts_body_and_attributes_to_the_byte() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let largest = 262_144 - ATTRIBUTES;
    assert_eq!(producer.post("/producer", "acme", event_of(largest)).await.status, 200);
    assert_eq!(only_message(&aws, QUEUE).body.len(), largest);
    for bytes in [largest + 1, 262_144, 262_145, 25_000_000] {
        let answer = producer.post("/producer", "acme", event_of(bytes)).await;
        assert_eq!(problem(&answer, 413, "too-large"), "an event with its attributes may have at most 262144 bytes");
    }
    assert_eq!(aws.queue(QUEUE).len(), 1);
}

#[tokio::test]
async fn the_limit_follows_the_setting_up_to_what_a_record_can_hold() {
    let aws = aws_with("acme");
    // As the Terraform module makes it: SQS's own limit is never below the producer's.
    aws.create_queue(QueueSpec::named(QUEUE).max_message_bytes(1_048_576));
    let producer = Producer::start(&aws, "acme", &["--max-message-bytes", "390000"]).await;
    assert_eq!(producer.post("/producer", "acme", event_of(390_000 - ATTRIBUTES)).await.status, 200);
    let answer = producer.post("/producer", "acme", event_of(390_000 - ATTRIBUTES + 1)).await;
    assert_eq!(problem(&answer, 413, "too-large"), "an event with its attributes may have at most 390000 bytes");
    assert_eq!(aws.queue(QUEUE).len(), 1);
}

#[tokio::test]
async fn characters_of_several_bytes_count_as_what_they_are() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let emoji = |count: usize| format!("\"{}\"", "\u{1f600}".repeat(count));
    assert_eq!(producer.post("/producer", "acme", emoji(65_000)).await.status, 200);
    problem(&producer.post("/producer", "acme", emoji(65_536)).await, 413, "too-large");
    problem(&producer.post("/producer", "acme", emoji(100_000)).await, 413, "too-large");
}

#[tokio::test]
async fn an_event_that_grows_past_the_limit_by_its_escapes_is_a_413_and_no_refusal_of_sqs() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &["--max-message-bytes", "1024"]).await;
    // Three bytes each as sent, six each as SQS takes them.
    problem(&producer.post("/producer", "acme", format!("\"{}\"", "\u{ffff}".repeat(200))).await, 413, "too-large");
    assert_eq!(producer.post("/producer", "acme", format!("\"{}\"", "\u{ffff}".repeat(100))).await.status, 200);
}

#[tokio::test]
async fn a_body_that_never_ends_is_given_up_without_a_call_to_sqs() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &["--request-timeout", "300ms"]).await;
    let request = b"POST /producer HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\ncontent-length: 1000\r\n\r\n{\"half\":";
    let answers = producer.raw(request, 1).await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].0, 408, "{answers:?}");
    assert!(answers[0].1.contains("\"type\":\"urn:tenant-plane:problem:slow-request\""), "{answers:?}");
    assert_eq!(aws.count(Op::SendMessageBatch), 0);
}

#[tokio::test]
async fn hostile_requests_get_a_client_s_error_and_the_next_one_is_fine() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(producer.post("/producer", "acme", deep.clone()).await.status, 200);
    assert_eq!(producer.post("/producer/batch", "acme", format!("[{deep}]")).await.status, 200);
    for (path, body) in [
        ("/producer", "\u{feff}{}".to_owned()),
        ("/producer", "\0".repeat(1_000)),
        ("/producer", "{\"a\":".repeat(50_000)),
        ("/producer/batch", "[".repeat(1_000_000)),
        ("/producer/batch", format!("[{}1]", "1,".repeat(5_000_000))),
        ("/producer/batch", "{}".to_owned()),
        ("/producer/batch", "[]]".to_owned()),
    ] {
        let answer = producer.post(path, "acme", body.clone()).await;
        assert!(
            (400..500).contains(&answer.status.as_u16()),
            "{path} {:.40}: {} {}",
            body,
            answer.status,
            answer.text()
        );
        assert_eq!(answer.header("content-type"), "application/problem+json");
    }
    assert_eq!(producer.post("/producer", "acme", "{}").await.status, 200);
}

#[tokio::test]
async fn slow_clients_delay_nobody_else() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let mut slow = Vec::new();
    for _ in 0..200 {
        let stream = tokio::net::TcpStream::connect(producer.address).await.unwrap();
        stream
            .try_write(b"POST /producer HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\ncontent-length: 1000\r\n\r\n{")
            .unwrap();
        slow.push(stream);
    }
    let answer = producer.post("/producer", "acme", "{}").await;
    assert_eq!(answer.status, 200);
    assert!(answer.took < Duration::from_secs(5), "{:?}", answer.took);
}
