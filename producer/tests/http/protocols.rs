//! HTTP/1.1 and HTTP/2 on one port: the same answers, whichever is spoken and however header names are written.

use http::{Method, Version};
use tests::http::Http;

use crate::support::{Producer, aws_with, problem};

const QUEUE: &str = "consumer-acme";

/// As clients write the header over HTTP/1.1. HTTP/2 has lower case only, and so have requests that a proxy took as HTTP/2 and
/// hands on as HTTP/1.1.
const NAMES: [&str; 5] = ["tenantID", "TENANTID", "tenantid", "TenantID", "TenantId"];

#[tokio::test]
async fn the_tenant_is_found_over_http_2_as_over_http_1_however_its_header_is_written() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let event = "{\"order\":4711}";
    let mut told = Vec::new();
    for name in NAMES {
        let request = format!(
            "POST /producer HTTP/1.1\r\nhost: x\r\n{name}: acme\r\ncontent-length: {}\r\n\r\n{event}",
            event.len()
        );
        let (status, body) = producer.raw(request.as_bytes(), 1).await.remove(0);
        assert_eq!(status, 200, "{name}: {body}");
        told.push(serde_json::from_str(&body).unwrap());
    }
    let answer = Http::http2().post(&producer.url("/producer"), &[("tenantid", "acme")], event).await;
    assert_eq!((answer.status.as_u16(), answer.version), (200, Version::HTTP_2), "{}", answer.text());
    told.push(answer.json());
    for answer in &told {
        let mut answer: serde_json::Value = answer.clone();
        assert!(answer["message_id"].is_string(), "{answer}");
        answer["message_id"].take();
        assert_eq!(answer["tenant_id"], "acme");
        assert_eq!(
            (&answer["environment"], &answer["microservice"]),
            (&told[0]["environment"], &told[0]["microservice"])
        );
    }
    let messages = aws.messages(QUEUE);
    assert_eq!(messages.len(), NAMES.len() + 1);
    for message in messages {
        assert_eq!((message.body.as_str(), message.attributes["tenant_id"].as_str()), (event, "acme"));
    }
}

#[tokio::test]
async fn over_http_2_the_same_wrongs_get_the_same_answers() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let (url, http1, http2) = (producer.url("/producer"), Http::new(), Http::http2());
    let cases = [
        (&[][..], 400, "tenant-header"),
        (&[("tenantid", "Acme")], 400, "tenant-header"),
        (&[("tenantid", "acme"), ("tenantid", "acme")], 400, "tenant-header"),
        (&[("tenantid", "acme,other")], 400, "tenant-header"),
        (&[("tenantid", "acme"), ("tier", "gold")], 400, "tier-header"),
        (&[("tenantid", "other")], 403, "tenant-not-served"),
    ];
    for (headers, status, kind) in cases {
        let details = [http1.post(&url, headers, "{}").await, http2.post(&url, headers, "{}").await]
            .map(|answer| problem(&answer, status, kind));
        assert_eq!(details[0], details[1], "{headers:?}");
    }
    assert!(aws.queue(QUEUE).is_empty());
}

#[tokio::test]
async fn over_http_2_an_event_that_is_too_large_or_unread_ends_its_own_stream_alone() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let http = Http::http2();
    let post = async |tenant: &'static str, bytes: usize| {
        let body = format!("\"{}\"", "x".repeat(bytes - 2));
        http.send(Method::POST, &producer.url("/producer"), &[("tenantid", tenant)], body).await
    };
    // More than the windows of all streams hold, so that what nobody reads has to be given back.
    for _ in 0..5 {
        let large = post("acme", 262_145).await;
        assert_eq!(problem(&large, 413, "too-large"), "an event with its attributes may have at most 262144 bytes");
        assert_eq!(large.header("connection"), "");
        problem(&post("other", 200_000).await, 403, "tenant-not-served");
        assert_eq!(post("acme", 200_000).await.status, 200);
    }
    assert_eq!(aws.queue(QUEUE).len(), 5);
}
