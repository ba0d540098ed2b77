//! What `docs/http-api.md` says is what happens.

use std::time::Duration;

use tenancy::problem::Problem;

use crate::support::{Producer, aws_with};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/http-api.md");

#[test]
fn every_problem_is_documented_with_its_status_and_nothing_else_is() {
    let text = String::new;
    let all = [
        Problem::Tenant(text()),
        Problem::Tier(text()),
        Problem::Parameter(text()),
        Problem::Body(text()),
        Problem::NoToken,
        Problem::Token(""),
        Problem::TokenTenant(""),
        Problem::NotServed,
        Problem::UnknownTenant,
        Problem::NotFound,
        Problem::Method,
        Problem::Slow,
        Problem::TierConflict,
        Problem::TooLarge(0, ""),
        Problem::MediaType,
        Problem::Unprocessable(text()),
        Problem::Limited(Duration::ZERO),
        Problem::Internal,
        Problem::UNAVAILABLE,
    ];
    let problems: Vec<String> =
        all.iter().map(|problem| format!("{} {}", problem.status().as_u16(), problem.kind())).collect();
    let document = std::fs::read_to_string(DOCUMENT).unwrap();
    let documented: Vec<String> = document
        .lines()
        .filter_map(|line| {
            let (status, rest) = line.strip_prefix("| ")?.split_once(" | `")?;
            let (kind, _) = rest.split_once("` | ")?;
            status.parse::<u16>().ok().map(|status| format!("{status} {kind}"))
        })
        .collect();
    assert_eq!(documented, problems);
}

#[tokio::test]
async fn the_documented_requests_are_answered_as_documented() {
    let aws = aws_with("pool-1");
    aws.register("tenant-1", "pool-1");
    let producer = Producer::start(&aws, "pool-1", &["--service-version", "prd-20260102T030405Z"]).await;
    let document = std::fs::read_to_string(DOCUMENT).unwrap();
    let (_, section) = document.split_once("## POST /producer\n").unwrap();
    let (request, rest) = section.split_once("-d '").and_then(|(_, rest)| rest.split_once("'\n```")).unwrap();
    let (answer, _) = rest.split_once("```json\n").and_then(|(_, rest)| rest.split_once("\n```")).unwrap();
    let headers = [("tenantID", "tenant-1"), ("Content-Type", "application/json"), ("Idempotency-Key", "order-4711")];
    let given = producer.post_with("/producer", &headers, request.to_owned()).await;
    assert_eq!((given.status.as_u16(), given.text().as_str()), (200, answer));

    let (_, section) = document.split_once("## POST /producer/batch\n").unwrap();
    let (request, _) = section.split_once("-d '").and_then(|(_, rest)| rest.split_once("'\n```")).unwrap();
    assert_eq!(producer.post_with("/producer/batch", &headers, request.to_owned()).await.status, 200);
    assert_eq!(aws.queue("consumer-pool-1").len(), 4);
}
