//! Batches: each event for itself, in order.

use serde_json::{Value, json};
use tests::http::Answer;
use tests::scripted::{Fault, Op, Which};

use crate::support::{Producer, aws_with, detail, problem};

const QUEUE: &str = "consumer-acme";

fn results(answer: &Answer) -> Vec<Value> {
    let body = answer.json();
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    body["results"].as_array().unwrap().clone()
}

fn ids(results: &[Value]) -> Vec<String> {
    results.iter().map(|result| result["message_id"].as_str().unwrap().to_owned()).collect()
}

/// Body by message id, of all messages.
fn sent(aws: &tests::scripted::Aws) -> std::collections::BTreeMap<String, String> {
    aws.messages(QUEUE).into_iter().map(|message| (message.attributes["message_id"].clone(), message.body)).collect()
}

#[tokio::test]
async fn each_event_of_a_batch_has_its_result_in_order() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let events = [r#"{"a": 1.0}"#, "null", "\"\u{ffff}\"", "[ ]", "12345678901234567890123"];
    let answer = producer.post("/producer/batch", "acme", format!("[{}]", events.join(" , "))).await;
    assert_eq!(answer.status, 200);
    let ids = ids(&results(&answer));
    assert!(ids.is_sorted(), "{ids:?}");
    let sent = sent(&aws);
    let bodies: Vec<&str> = ids.iter().map(|id| sent[id].as_str()).collect();
    assert_eq!(bodies, [r#"{"a": 1.0}"#, "null", r#""\uffff""#, "[ ]", "12345678901234567890123"]);
}

#[tokio::test]
async fn a_thousand_events_go_out_in_full_calls() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let events: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
    let answer = producer.post("/producer/batch", "acme", format!("[{}]", events.join(","))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let sent = sent(&aws);
    let bodies: Vec<&str> = ids(&results(&answer)).iter().map(|id| sent[id].as_str()).collect();
    assert_eq!(bodies, events);
    let calls = aws.count(Op::SendMessageBatch);
    assert!((100..=200).contains(&calls), "{calls}");
}

#[tokio::test]
async fn a_batch_is_an_array_of_1_to_1000_events() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let post = async |body: String| producer.post("/producer/batch", "acme", body).await;
    assert_eq!(problem(&post("[]".to_owned()).await, 422, "unprocessable"), "a batch has 1 to 1000 events, not 0");
    let many = post(format!("[{}1]", "1,".repeat(1_000))).await;
    assert_eq!(problem(&many, 422, "unprocessable"), "a batch has 1 to 1000 events, this one has more");
    for other in [r#"{"event":1}"#, "1", "null"] {
        let answer = post(other.to_owned()).await;
        assert_eq!(problem(&answer, 422, "unprocessable"), "a batch is a JSON array of 1 to 1000 events");
    }
    problem(&post("[1,".to_owned()).await, 400, "body");
    problem(&post(String::new()).await, 400, "body");
    let answer =
        producer.post_with("/producer/batch", &[("tenantID", "acme"), ("content-type", "text/plain")], "[1]").await;
    problem(&answer, 415, "media-type");
    assert!(aws.queue(QUEUE).is_empty());
}

#[tokio::test]
async fn an_event_that_is_too_large_fails_alone() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let answer = producer.post("/producer/batch", "acme", format!("[1,\"{}\",3]", "x".repeat(262_144))).await;
    assert_eq!(answer.status, 207);
    let results = results(&answer);
    assert!(results[0]["message_id"].is_string() && results[2]["message_id"].is_string(), "{results:?}");
    assert_eq!(
        results[1],
        json!({"error": {
            "type": "urn:tenant-plane:problem:too-large",
            "title": "The request is too large",
            "status": 413,
            "detail": "an event with its attributes may have at most 262144 bytes",
            "msg": "The request is too large",
        }})
    );
    assert_eq!(sent(&aws).into_values().collect::<Vec<_>>(), ["1", "3"]);
}

#[tokio::test]
async fn a_whole_batch_may_have_max_body_bytes() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &["--max-body-bytes", "300000"]).await;
    let of = |bytes: usize| format!("[\"{}\",\"{}\"]", "x".repeat(150_000), "y".repeat(bytes - 150_000 - 7));
    assert_eq!(producer.post("/producer/batch", "acme", of(300_000)).await.status, 200);
    let answer = producer.post("/producer/batch", "acme", of(300_001)).await;
    assert_eq!(problem(&answer, 413, "too-large"), "a batch may have at most 300000 bytes");
    assert_eq!(aws.queue(QUEUE).len(), 2);
}

#[tokio::test]
async fn an_event_that_sqs_refuses_fails_alone_and_says_nothing_of_aws() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let which = Which::Containing("poison".to_owned());
    aws.on(Op::SendMessageBatch).always().fail(Fault::FailEntries {
        which,
        code: "InvalidMessageContents",
        sender_fault: true,
    });
    let answer = producer.post("/producer/batch", "acme", r#"["good","poison","fine"]"#).await;
    assert_eq!(answer.status, 207);
    let results = results(&answer);
    assert_eq!(results[1]["error"]["status"], 422);
    assert!(!answer.text().contains("InvalidMessageContents"));
    let mut bodies: Vec<String> = sent(&aws).into_values().collect();
    bodies.sort();
    assert_eq!(bodies, [r#""fine""#, r#""good""#]);
}

#[tokio::test]
async fn a_batch_that_cannot_be_sent_in_time_has_a_result_for_each_event() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &["--request-timeout", "500ms"]).await;
    aws.on(Op::SendMessageBatch).always().fail(Fault::Stall);
    let answer = producer.post("/producer/batch", "acme", format!("[{}1]", "1,".repeat(999))).await;
    assert_eq!(answer.status, 207, "{}", answer.text());
    let results = results(&answer);
    assert_eq!(results.len(), 1_000);
    assert!(
        results.iter().all(|result| result["error"]["status"] == 503 && detail(&result["error"]) == "try again in 1 s")
    );
}

#[tokio::test]
async fn a_batch_under_a_key_has_the_same_ids_when_it_is_sent_again() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let post = async || {
        producer.post_with("/producer/batch", &[("tenantID", "acme"), ("Idempotency-Key", "order-1")], "[1,2,3]").await
    };
    let first = ids(&results(&post().await));
    assert_eq!(first[0], "fd4c5c23-75ea-5812-b888-93e8bf1770c3");
    assert_eq!(first.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
    assert_eq!(ids(&results(&post().await)), first);
    // The messages say the same, so that each event is one record.
    let mut sent: Vec<(String, String)> = aws
        .messages(QUEUE)
        .into_iter()
        .map(|message| (message.body, message.attributes["message_id"].clone()))
        .collect();
    sent.sort();
    let twice: Vec<(String, String)> = ["1", "2", "3"]
        .into_iter()
        .zip(&first)
        .flat_map(|(body, id)| vec![(body.to_owned(), id.to_string()); 2])
        .collect();
    assert_eq!(sent, twice);
}

#[tokio::test]
async fn a_batch_leaves_room_in_the_lane_for_single_events() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let slow = aws.on(Op::SendMessageBatch).always().fail(Fault::SlowAnswer(std::time::Duration::from_millis(200)));
    let batches = (0..4).map(|_| producer.post("/producer/batch", "acme", format!("[{}1]", "1,".repeat(999))));
    let singles = async {
        aws.wait_until("the lane to fill", |aws| aws.count(Op::SendMessageBatch) >= 20).await;
        let mut statuses = Vec::new();
        for _ in 0..5 {
            statuses.push(producer.post("/producer", "acme", "{}").await.status.as_u16());
        }
        slow.lift();
        statuses
    };
    let (batches, singles) = tokio::join!(futures_util::future::join_all(batches), singles);
    assert_eq!(singles, [200; 5]);
    assert!(batches.iter().all(|answer| answer.status == 200));
    assert_eq!(aws.queue(QUEUE).len(), 4_005);
}

#[tokio::test]
async fn only_messages_of_json_leave_a_batch_and_their_type_is_that_of_one_event() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let headers = [("tenantID", "acme"), ("content-type", "application/cloudevents-batch+json")];
    assert_eq!(producer.post_with("/producer/batch", &headers, "[{}]").await.status, 200);
    assert_eq!(aws.messages(QUEUE)[0].attributes["content_type"], "application/json");
}
