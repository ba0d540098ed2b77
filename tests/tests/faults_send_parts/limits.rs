//! What SQS would refuse never reaches it: the scripted AWS fails each of these tests on a request outside its limits.

use serde_json::Value;
use tests::scripted::{Aws, QueueSpec, SeenMessage};

use super::producer;

/// Bytes as SQS counts them: every attribute of ours is a string.
fn size(message: &SeenMessage) -> usize {
    let attributes = message.attributes.iter().map(|(name, value)| name.len() + "String".len() + value.len());
    message.body.len() + attributes.sum::<usize>()
}

#[tokio::test]
async fn characters_that_sqs_refuses_are_escaped_and_the_event_stays_the_same() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = producer(&aws).start().await;
    let event = "{\"a\":\"x\u{FFFF}y\u{FFFE}z\",\"b\":\"\\u0001\",\"n\":1e400,\"\u{FFFF}\":0.10}";
    let answer = service.event("acme", event).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = aws.messages("consumer-acme")[0].body.clone();
    assert_eq!(body, "{\"a\":\"x\\uffffy\\ufffez\",\"b\":\"\\u0001\",\"n\":1e400,\"\\uffff\":0.10}");
}

#[tokio::test]
async fn the_limit_counts_bytes_with_attributes_and_holds_to_the_byte() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = producer(&aws).start().await;
    assert_eq!(service.event("acme", "\"\"").await.status, 200);
    let overhead = size(&aws.messages("consumer-acme")[0]) - 2;
    let of = |bytes: usize| {
        let text = bytes - overhead - 2;
        format!("\"{}{}\"", "é".repeat(text / 2), "x".repeat(text % 2))
    };
    for bytes in [262_143, 262_144] {
        let answer = service.event("acme", &of(bytes)).await;
        assert_eq!(answer.status, 200, "{bytes}: {}", answer.text());
        let messages = aws.messages("consumer-acme");
        assert_eq!(messages.iter().map(size).max(), Some(bytes));
    }
    let answer = service.event("acme", &of(262_145)).await;
    assert_eq!(answer.status, 413);
    assert_eq!(answer.json()["detail"], "an event with its attributes may have at most 262144 bytes");
    assert_eq!(aws.queue("consumer-acme").len(), 3);
}

#[tokio::test]
async fn an_event_just_below_the_limit_alone_is_refused_by_us_and_never_by_sqs() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = producer(&aws).start().await;
    let answer = service.event("acme", &format!("\"{}\"", "x".repeat(262_144 - 22))).await;
    assert_eq!(answer.status, 413, "with its attributes it is above the limit");
    assert!(aws.queue("consumer-acme").is_empty());
}

#[tokio::test]
async fn a_hundred_thousand_emoji_are_too_large_by_default_and_fit_when_the_limit_says_so() {
    let emoji = format!("\"{}\"", "\u{1F600}".repeat(97_000));
    let aws = Aws::start();
    aws.provision("acme");
    aws.create_queue(QueueSpec::named("consumer-acme").max_message_bytes(1_048_576));
    let service = producer(&aws).start().await;
    assert_eq!(service.event("acme", &emoji).await.status, 413);
    let service = producer(&aws).set("MAX_MESSAGE_BYTES", "390000").start().await;
    assert_eq!(service.event("acme", &emoji).await.status, 200);
    assert_eq!(aws.messages("consumer-acme")[0].body, emoji);
}

#[tokio::test]
async fn an_empty_body_is_the_default_event() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = producer(&aws).start().await;
    let answer = service
        .http
        .send(
            hyper::Method::POST,
            &format!("{}/producer", service.url),
            &[("tenantID", "acme"), ("content-type", "text/plain")],
            "",
        )
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(aws.messages("consumer-acme")[0].body, r#"{"event":"Event raised!"}"#);
}

#[tokio::test]
async fn headers_do_not_become_attributes_and_an_empty_tier_is_refused() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = producer(&aws).start().await;
    let url = format!("{}/producer", service.url);
    let extra: Vec<(String, String)> = (0..12).map(|n| (format!("x-extra-{n}"), "v".to_owned())).collect();
    let mut headers: Vec<(&str, &str)> = extra.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    headers.push(("tenantID", "acme"));
    headers.push(("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    assert_eq!(service.http.post(&url, &headers, "{}").await.status, 200);
    let attributes = aws.messages("consumer-acme")[0].attributes.clone();
    let names: Vec<&str> = attributes.keys().map(String::as_str).collect();
    assert_eq!(names, ["content_type", "message_id", "producer_environment", "tenant_id", "traceparent"]);
    assert!(attributes["traceparent"].contains("4bf92f3577b34da6a3ce929d0e0e4736"));
    headers.push(("tier", ""));
    assert_eq!(service.http.post(&url, &headers, "{}").await.status, 400);
    assert_eq!(aws.queue("consumer-acme").len(), 1);
}

#[tokio::test]
async fn large_events_in_one_batch_are_sent_in_calls_that_sqs_takes() {
    let aws = Aws::start();
    aws.provision("acme");
    // As SQS was before August 2025, and as MAX_MESSAGE_BYTES promises.
    aws.max_batch_bytes(262_144);
    let service = producer(&aws).start().await;
    let events: Vec<String> = (0..40).map(|n| format!("\"{}{n:02}\"", "x".repeat(60_000))).collect();
    let body = format!("[{}]", events.join(","));
    let answer = service.http.post(&format!("{}/producer/batch", service.url), &[("tenantID", "acme")], body).await;
    assert_eq!(answer.status, 200, "{}", &answer.text()[..300.min(answer.text().len())]);
    // Each at least once: a send that a busy machine answers late is sent again.
    let stored: std::collections::BTreeSet<String> =
        aws.messages("consumer-acme").into_iter().map(|message| message.body).collect();
    assert_eq!(stored.len(), 40);
    assert!(events.iter().all(|event| stored.contains(event)));
    assert_eq!(answer.json()["results"].as_array().map(Vec::len), Some(40));
    let ids: Vec<Value> = answer.json()["results"].as_array().cloned().unwrap_or_default();
    assert!(ids.iter().all(|result| result["message_id"].is_string()));
}
