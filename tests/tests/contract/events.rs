//! Events: from POST to record.

use serde_json::{Value, json};

use crate::plane::Plane;

const TIERS: [(&str, &str, &str, &str); 3] = [
    ("tenant-1", "basic", "pool-1", "pool-1"),
    ("tenant-2", "advanced", "pool-1", "tenant-2"),
    ("tenant-3", "premium", "tenant-3", "tenant-3"),
];

pub(crate) async fn an_event_of_each_tier_becomes_the_record_that_the_documentation_says(plane: &Plane) {
    for (tenant, tier, producer, consumer) in TIERS {
        let body = format!(r#"{{"order":4711,"tier":"{tier}"}}"#);
        let answer = plane.post(tenant, "/producer", &[("tier", tier)], body.clone()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let said = answer.json();
        let message_id = said["message_id"].as_str().unwrap().to_owned();
        let expected = json!({
            "tenant_id": tenant, "environment": producer, "version": "0.1.0", "microservice": "producer", "message_id": message_id,
        });
        assert_eq!(said, expected);
        let mut record = plane.record(tenant, &message_id).await;
        let timestamp = record.remove("timestamp").unwrap();
        assert!(is_like(&timestamp, "0000-00-00T00:00:00+0000"), "{timestamp}");
        let sent_at = record.remove("sent_at").unwrap();
        assert!(is_like(&sent_at, "0000-00-00T00:00:00.000Z"), "{sent_at}");
        let expected = [
            ("tenant_id", tenant),
            ("message_id", &message_id),
            ("producer_environment", producer),
            ("consumer_environment", consumer),
            ("body", &body),
            ("content_type", "application/json"),
        ];
        assert_eq!(record, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }
}

/// Whether a text has a digit for each `0` of the pattern and is the same elsewhere.
fn is_like(text: &str, pattern: &str) -> bool {
    let fits = |(c, p): (char, char)| if p == '0' { c.is_ascii_digit() } else { c == p };
    text.len() == pattern.len() && text.chars().zip(pattern.chars()).all(fits)
}

pub(crate) async fn a_post_as_older_scripts_send_it_is_taken(plane: &Plane) {
    for (tenant, tier, ..) in TIERS {
        // As curl and Python's requests send a POST without a body.
        for headers in [&[("tier", tier)][..], &[("Tier", tier), ("content-type", "application/x-www-form-urlencoded")]]
        {
            let answer = plane.ask("POST", tenant, "/producer", headers, "").await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            let record = plane.record(tenant, answer.json()["message_id"].as_str().unwrap()).await;
            assert_eq!(record["body"], r#"{"event":"Event raised!"}"#);
        }
    }
}

pub(crate) async fn any_json_is_stored_byte_for_byte_but_for_what_sqs_refuses(plane: &Plane) {
    for (sent, stored) in [
        (r#"{"b":1,"a":2,"b":3}"#, r#"{"b":1,"a":2,"b":3}"#),
        ("12345678901234567890123456789012345678901", "12345678901234567890123456789012345678901"),
        ("[0.1, 1e400, -0]", "[0.1, 1e400, -0]"),
        (r#"{"note":""}"#, r#"{"note":""}"#),
        (r#""\ud800 & <b> \"x\"""#, r#""\ud800 & <b> \"x\"""#),
        ("\"\u{1f600}\u{fffd}\u{10ffff}\"", "\"\u{1f600}\u{fffd}\u{10ffff}\""),
        ("\"\u{ffff}\u{fffe}\"", r#""\uffff\ufffe""#),
        (" \r\n\t[1]\n", " \r\n\t[1]\n"),
        ("null", "null"),
    ] {
        let answer = plane.post("tenant-3", "/producer", &[], sent).await;
        assert_eq!(answer.status, 200, "{sent}: {}", answer.text());
        let record = plane.record("tenant-3", answer.json()["message_id"].as_str().unwrap()).await;
        assert_eq!(record["body"], stored);
    }
}

pub(crate) async fn the_same_key_is_the_same_record(plane: &Plane) {
    let post = |tenant| plane.post(tenant, "/producer", &[("Idempotency-Key", "order-4711")], r#"{"n":1}"#);
    let id = |answer: tests::http::Answer| answer.json()["message_id"].as_str().unwrap().to_owned();
    let (first, again, other) = (id(post("tenant-2").await), id(post("tenant-2").await), id(post("tenant-1").await));
    assert_eq!(first, again);
    assert_ne!(first, other, "another tenant's key is another key");
    assert_eq!(plane.record("tenant-2", &first).await["body"], r#"{"n":1}"#);
}

pub(crate) async fn the_largest_event_is_stored_and_one_byte_more_is_refused(plane: &Plane) {
    // tenant_id 9+6+8, producer_environment 20+6+8, message_id 10+6+36, content_type 12+6+16
    let attributes = 23 + 34 + 52 + 34;
    let emoji = "\u{1f600}".repeat((262_144 - attributes - 2) / 4);
    let filler = "x".repeat(262_144 - attributes - 2 - emoji.len());
    let largest = format!("\"{emoji}{filler}\"");
    let answer = plane.post("tenant-3", "/producer", &[], largest.clone()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let record = plane.record("tenant-3", answer.json()["message_id"].as_str().unwrap()).await;
    assert!(record["body"] == largest, "the body is not what was sent");
    let answer = plane.post("tenant-3", "/producer", &[], format!("\"{emoji}{filler}x\"")).await;
    assert_eq!(answer.status, 413);
    assert_eq!(answer.json()["detail"], "an event with its attributes may have at most 262144 bytes");
    assert_eq!(answer.header("content-type"), "application/problem+json");
}

pub(crate) async fn a_batch_gets_its_results_in_order_and_a_bad_event_fails_alone(plane: &Plane) {
    // moto takes about a millisecond and a half a message, and a batch has a request's time.
    let count = if plane.backend == crate::plane::Backend::Moto { 100 } else { 1_000 };
    let events: Vec<String> = (0..count).map(|n| format!(r#"{{"n": {n}}}"#)).collect();
    let answer = plane.post("tenant-1", "/producer/batch", &[], format!("[{}]", events.join(","))).await;
    assert_eq!(answer.status, 200, "{:.300}", answer.text());
    let results = answer.json()["results"].as_array().unwrap().clone();
    assert_eq!(results.len(), count);
    for n in [0, count / 2, count - 1] {
        let record = plane.record("tenant-1", results[n]["message_id"].as_str().unwrap()).await;
        assert_eq!(record["body"], events[n]);
    }
    let too_large = format!("\"{}\"", "x".repeat(262_144));
    let answer = plane.post("tenant-1", "/producer/batch", &[], format!("[1,{too_large},3]")).await;
    assert_eq!(answer.status, 207);
    let results = answer.json()["results"].clone();
    assert!(results[0]["message_id"].is_string() && results[2]["message_id"].is_string(), "{results}");
    assert!(results[1]["message_id"].is_null() && !results[1]["error"].is_null(), "{results}");
    for (body, status) in [("[]", 422), ("{}", 422), ("[1,", 400), ("", 400)] {
        assert_eq!(plane.post("tenant-1", "/producer/batch", &[], body).await.status, status, "{body}");
    }
    let many = Value::from(vec![1; 1_001]).to_string();
    assert_eq!(plane.post("tenant-1", "/producer/batch", &[], many).await.status, 422);
}
