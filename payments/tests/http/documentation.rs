//! What `docs/http-api.md` says is what happens.

use crate::support::{Payments, aws_with, record};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/http-api.md");

/// The first block of JSON after a text, and what follows it.
fn block<'a>(document: &'a str, after: &str) -> (&'a str, &'a str) {
    let (_, section) = document.split_once(after).unwrap();
    section.split_once("```json\n").and_then(|(_, rest)| rest.split_once("\n```")).unwrap()
}

#[tokio::test]
async fn the_documented_payment_is_answered_sent_and_shown_as_documented() {
    let aws = aws_with("tenant-2");
    let settings = ["--record-reads", "on", "--service-version", "prd-20260102T030405Z"];
    let payments = Payments::start(&aws, "tenant-2", &settings).await;
    let document = std::fs::read_to_string(DOCUMENT).unwrap();
    let (_, section) = document.split_once("## POST /payments\n").unwrap();
    let (request, _) = section.split_once("-d '").and_then(|(_, rest)| rest.split_once("'\n```")).unwrap();
    let (answer, rest) = block(section, "-d '");
    let given = payments.pay("tenant-2", "invoice-7", request).await;
    assert_eq!((given.status.as_u16(), given.text().as_str()), (202, answer));
    let (event, _) = block(rest, "The event is a message");
    assert_eq!(aws.messages("consumer-tenant-2")[0].body, event);

    let id = given.json()["payment_id"].as_str().unwrap().to_owned();
    record(&aws, "tenant-2", &id).await;
    let (shown, _) = block(&document, "## GET /payments/{payment_id}\n");
    let mut shown: serde_json::Value = serde_json::from_str(shown).unwrap();
    let given = payments.shown("tenant-2", &id).await;
    shown["created_at"] = given.json()["created_at"].clone();
    assert_eq!((given.status.as_u16(), given.json()), (200, shown));
}
