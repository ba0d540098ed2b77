//! One event: what is answered, and what is in the queue.

use serde_json::json;

use crate::support::{Producer, aws_with, only_message, problem};

const QUEUE: &str = "consumer-acme";

#[tokio::test]
async fn an_event_that_is_answered_is_in_the_tenant_s_queue() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &["--service-version", "prd-20260102T030405Z"]).await;
    let answer = producer.post("/producer", "acme", r#"{"n": 1.0, "b":"\u00e9", "n":2}"#).await;
    let message = only_message(&aws, QUEUE);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "application/json");
    let message_id = answer.json()["message_id"].as_str().unwrap().to_owned();
    assert_eq!(
        answer.json(),
        json!({
            "tenant_id": "acme",
            "environment": "acme",
            "version": "prd-20260102T030405Z",
            "microservice": "producer",
            "message_id": message_id,
        })
    );
    assert_eq!(message.body, r#"{"n": 1.0, "b":"\u00e9", "n":2}"#);
    let attributes: Vec<(&str, &str)> =
        message.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        attributes,
        [
            ("content_type", "application/json"),
            ("message_id", message_id.as_str()),
            ("producer_environment", "acme"),
            ("tenant_id", "acme"),
        ]
    );
}

#[tokio::test]
async fn without_a_key_each_request_is_an_event_of_its_own_and_ids_sort_by_time() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(producer.post("/producer", "acme", "{}").await.json()["message_id"].as_str().unwrap().to_owned());
    }
    assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
    assert_eq!(aws.messages(QUEUE).len(), 5);
}

#[tokio::test]
async fn an_empty_body_is_the_default_event_whatever_its_content_type() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    for headers in [
        &[("tenantID", "acme"), ("tier", "premium")][..],
        &[("tenantID", "acme"), ("content-type", "application/json")],
        &[("tenantID", "acme"), ("content-type", "text/plain")],
        &[("tenantID", "acme"), ("content-type", "application/x-www-form-urlencoded")],
    ] {
        let answer = producer.post_with("/producer", headers, "").await;
        assert_eq!(answer.status, 200, "{headers:?}: {}", answer.text());
    }
    for message in aws.messages(QUEUE) {
        assert_eq!(message.body, r#"{"event":"Event raised!"}"#);
        assert_eq!(message.attributes["content_type"], "application/json");
    }
    assert_eq!(aws.messages(QUEUE).len(), 4);
}

#[tokio::test]
async fn any_json_value_is_kept_byte_for_byte() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let events = [
        r#"{"note":""}"#,
        "12345678901234567890123456789012345678901",
        "0.1",
        "1e400",
        " [ 1 ,\t2 ]\r\n",
        "null",
        "\"\u{1f600}\u{fffd}\"",
        r#""\ud800""#,
    ];
    for event in events {
        assert_eq!(producer.post("/producer", "acme", event).await.status, 200, "{event}");
    }
    let bodies: Vec<String> = aws.messages(QUEUE).into_iter().map(|message| message.body).collect();
    assert_eq!(bodies, events);
}

#[tokio::test]
async fn characters_that_sqs_refuses_are_escaped() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    assert_eq!(producer.post("/producer", "acme", "\"a\u{ffff}b\u{fffe}\"").await.status, 200);
    assert_eq!(only_message(&aws, QUEUE).body, r#""a\uffffb\ufffe""#);
}

#[tokio::test]
async fn what_is_no_json_is_a_400_that_says_where() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let answer = producer.post("/producer", "acme", "{'event': 1}").await;
    assert_eq!(problem(&answer, 400, "body"), "the body is not valid JSON: key must be a string at line 1 column 2");
    for body in [&b"{"[..], b"[1,]", b" ", b"\xff\xfe", b"\"\x01\"", b"1 2"] {
        problem(&producer.post("/producer", "acme", body).await, 400, "body");
    }
    assert!(aws.queue(QUEUE).is_empty());
}

#[tokio::test]
async fn a_body_under_another_content_type_than_json_is_a_415() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    for other in ["text/plain", "application/x-www-form-urlencoded", "application/xml", "json"] {
        let answer = producer.post_with("/producer", &[("tenantID", "acme"), ("content-type", other)], "{}").await;
        problem(&answer, 415, "media-type");
    }
    assert!(aws.queue(QUEUE).is_empty());
    let kinds = ["application/json; charset=utf-8", "application/cloudevents+json"];
    for json in kinds {
        assert_eq!(
            producer.post_with("/producer", &[("tenantID", "acme"), ("content-type", json)], "{}").await.status,
            200
        );
    }
    assert_eq!(producer.post_with("/producer", &[("tenantID", "acme")], "{}").await.status, 200);
    let sent: Vec<String> =
        aws.messages(QUEUE).into_iter().map(|message| message.attributes["content_type"].clone()).collect();
    assert_eq!(sent, [kinds[0], kinds[1], "application/json"]);
}

#[tokio::test]
async fn a_retry_under_the_same_key_is_the_same_message_id() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let post = async |key: &'static str| {
        let answer =
            producer.post_with("/producer", &[("tenantID", "acme"), ("Idempotency-Key", key)], r#"{"a":1}"#).await;
        answer.json()["message_id"].as_str().unwrap().to_owned()
    };
    // Written down: a client's retry may span a deployment.
    assert_eq!(post("order-1").await, "fd4c5c23-75ea-5812-b888-93e8bf1770c3");
    assert_eq!(post("order-1").await, "fd4c5c23-75ea-5812-b888-93e8bf1770c3");
    let other = post("order-2").await;
    assert_ne!(other, "fd4c5c23-75ea-5812-b888-93e8bf1770c3");
    // It is what the message says that becomes the record's key.
    let sent: Vec<String> =
        aws.messages(QUEUE).into_iter().map(|message| message.attributes["message_id"].clone()).collect();
    assert_eq!(sent, ["fd4c5c23-75ea-5812-b888-93e8bf1770c3", "fd4c5c23-75ea-5812-b888-93e8bf1770c3", other.as_str()]);
}

#[tokio::test]
async fn an_idempotency_key_is_1_to_255_visible_ascii_characters_and_stands_once() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let long = "k".repeat(256);
    for keys in [&[""][..], &["a b"], &["é"], &[&long], &["a", "b"]] {
        let headers: Vec<(&str, &str)> =
            [("tenantID", "acme")].into_iter().chain(keys.iter().map(|key| ("Idempotency-Key", *key))).collect();
        problem(&producer.post_with("/producer", &headers, "{}").await, 400, "parameter");
        problem(&producer.post_with("/producer/batch", &headers, "[1]").await, 400, "parameter");
    }
    assert!(aws.queue(QUEUE).is_empty());
    let answer =
        producer.post_with("/producer", &[("tenantID", "acme"), ("Idempotency-Key", &"k".repeat(255))], "{}").await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn of_a_request_s_headers_only_a_sampled_trace_travels_with_the_event() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    for parent in [sampled, unsampled, "nonsense", ""] {
        let mut headers = vec![("tenantID", "acme"), ("traceparent", parent), ("tracestate", "a=b")];
        let names: Vec<String> = (1..=12).map(|number| format!("x-extra-{number}")).collect();
        headers.extend(names.iter().map(|name| (name.as_str(), "value")));
        assert_eq!(producer.post_with("/producer", &headers, "{}").await.status, 200);
    }
    let sent: Vec<_> = aws.messages(QUEUE).into_iter().map(|message| message.attributes).collect();
    // Its parent is the client's span, or one of ours in the same trace.
    assert_eq!(sent[0]["traceparent"].get(..36), sampled.get(..36));
    assert_eq!(sent[0].len(), 5);
    for attributes in &sent[1..] {
        assert_eq!(
            attributes.keys().collect::<Vec<_>>(),
            ["content_type", "message_id", "producer_environment", "tenant_id"]
        );
    }
}

#[tokio::test]
async fn the_identity_and_the_probe_answer_without_a_tenant() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &["--service-version", "7"]).await;
    let identity = producer.get("/producer", &[]).await;
    assert_eq!(identity.status, 200);
    assert_eq!(
        identity.json(),
        json!({"tenant_id": null, "environment": "acme", "version": "7", "microservice": "producer"})
    );
    let identity = producer.get("/producer", &[("tenantID", "acme")]).await;
    assert_eq!(identity.json()["tenant_id"], "acme");
    assert_eq!(producer.get("/producer/readiness-probe", &[]).await.json(), json!({"Status": "OK"}));
}
