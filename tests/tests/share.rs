//! Fair share: what a tenant over its limits hears, and what the others notice of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod share_parts;

use std::time::{Duration, Instant};

use tests::http::Answer;
use tests::inside::{Inside, problem};
use tests::scripted::{Aws, Op};

/// A pool with the tenants `acme` and `globex`.
fn pool() -> Aws {
    let aws = Aws::start();
    aws.provision("pool-1");
    for tenant in ["acme", "globex"] {
        aws.register(tenant, "pool-1");
    }
    aws
}

async fn producer(aws: &Aws, settings: &[&str]) -> Inside {
    let service = Inside::start("producer", producer::build, aws, "pool-1", settings).await;
    service.becomes_ready().await;
    service
}

async fn post(service: &Inside, path: &str, tenant: &str, body: &str) -> Answer {
    service.http.post(&service.url(path), &[("tenantID", tenant)], body.to_owned()).await
}

/// In how many seconds a tenant over its limit is told to come back.
#[track_caller]
fn told(answer: &Answer) -> u64 {
    problem(answer, 429, "limited");
    answer.header("retry-after").parse().unwrap()
}

/// The `r` of one limit in the RateLimit field.
fn left(answer: &Answer, limit: &str) -> u64 {
    let field = answer.header("ratelimit");
    let item = field.split(", ").find(|item| item.starts_with(&format!("\"{limit}\";"))).unwrap_or_default();
    item.split(';').find_map(|part| part.strip_prefix("r=")).and_then(|r| r.parse().ok()).unwrap_or(u64::MAX)
}

#[tokio::test]
async fn over_its_limit_a_tenant_is_told_when_to_come_back_and_the_others_are_served() {
    let aws = pool();
    let service = producer(&aws, &["--limit-requests", "1", "--limit-burst", "5s"]).await;
    for count in 0..5 {
        let answer = post(&service, "/producer", "acme", "{}").await;
        assert_eq!((answer.status.as_u16(), answer.header("ratelimit-policy")), (200, "\"requests\";q=5;w=5"));
        assert!((4 - count..=5).contains(&left(&answer, "requests")), "{}", answer.header("ratelimit"));
    }
    let mut refused = post(&service, "/producer", "acme", "{}").await;
    for _ in 0..20 {
        // A slow machine gives a token back in between.
        if refused.status != 200 {
            break;
        }
        refused = post(&service, "/producer", "acme", "{}").await;
    }
    assert_eq!(problem(&refused, 429, "limited"), "try again in 1 s");
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!((left(&refused, "requests"), refused.header("ratelimit-policy")), (0, "\"requests\";q=5;w=5"));
    assert_eq!(post(&service, "/producer", "globex", "{}").await.status, 200);
    // It comes back when told, and is let in.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(post(&service, "/producer", "acme", "{}").await.status, 200);
}

#[tokio::test]
async fn a_batch_of_n_events_counts_as_n_and_what_is_more_than_the_burst_is_owed() {
    let aws = pool();
    let service = producer(&aws, &["--limit-requests", "1", "--limit-burst", "20s"]).await;
    let batch = format!("[{}]", vec!["1"; 100].join(","));
    let answer = post(&service, "/producer/batch", "acme", &batch).await;
    assert_eq!((answer.status.as_u16(), left(&answer, "requests")), (200, 0), "{}", answer.text());
    let sent = aws.messages("consumer-pool-1").len();
    assert_eq!(sent, 100);
    for path in ["/producer", "/producer/batch"] {
        let answer = post(&service, path, "acme", "[1]").await;
        let seconds = told(&answer);
        assert!((60..=81).contains(&seconds), "100 of 20 are owed for 80 s, less what has passed: {seconds}");
    }
    assert_eq!(aws.messages("consumer-pool-1").len(), sent);
}

#[tokio::test]
async fn bytes_are_limited_whether_their_number_is_declared_or_not() {
    let aws = pool();
    let service = producer(&aws, &["--limit-bytes", "1000", "--limit-burst", "1s"]).await;
    let event = format!("\"{}\"", "x".repeat(20_000));
    let answer = post(&service, "/producer", "acme", &event).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("ratelimit-policy"), "\"bytes\";q=1000;qu=\"content-bytes\";w=1");
    let refused = post(&service, "/producer", "acme", &event).await;
    let seconds = told(&refused);
    assert!((10..=20).contains(&seconds), "{seconds}");
    // What has no body costs no bytes.
    assert_eq!(service.get("/producer", &[("tenantID", "acme")]).await.status, 200);
    let chunked = |tenant: &str| {
        format!(
            "POST /producer HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntenantID: {tenant}\r\ntransfer-encoding: chunked\r\n\r\n\
             4e22\r\n\"{}\"\r\n0\r\n\r\n",
            "x".repeat(20_000)
        )
    };
    let status = async |tenant: &str| {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut stream = tokio::net::TcpStream::connect(service.address).await.unwrap();
        stream.write_all(chunked(tenant).as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(status("globex").await, "200");
    assert_eq!(status("globex").await, "429");
}

#[tokio::test]
async fn a_tier_header_lifts_no_limit_and_a_setting_does() {
    let aws = pool();
    let limits = ["--limit-requests", "1", "--limit-burst", "1s", "--limit-overrides", "globex=1000000"];
    let service = producer(&aws, &limits).await;
    // It owes for a minute what it has sent.
    let batch = format!("[{}]", vec!["1"; 60].join(","));
    assert_eq!(post(&service, "/producer/batch", "acme", &batch).await.status, 200);
    for tier in [None, Some("basic"), None, Some("basic"), Some("basic"), None, Some("basic")] {
        let mut headers = vec![("tenantID", "acme")];
        headers.extend(tier.map(|tier| ("tier", tier)));
        let answer = service.get("/producer", &headers).await;
        assert_eq!(answer.status, 429, "{tier:?}");
    }
    for _ in 0..50 {
        let answer = service.get("/producer", &[("tenantID", "globex")]).await;
        assert_eq!((answer.status.as_u16(), answer.header("ratelimit-policy")), (200, "\"requests\";q=1000000;w=1"));
    }
}

#[tokio::test]
async fn ids_that_are_not_registered_and_requests_without_one_have_no_bucket() {
    let aws = pool();
    let service = producer(&aws, &["--limit-requests", "1", "--limit-burst", "1s"]).await;
    for _ in 0..5 {
        let answer = service.get("/producer", &[]).await;
        assert_eq!((answer.status.as_u16(), answer.header("ratelimit")), (200, ""));
        let answer = service.get("/producer", &[("tenantID", "nobody")]).await;
        problem(&answer, 404, "tenant-unknown");
        assert_eq!(answer.header("ratelimit"), "");
        assert_eq!(service.get("/producer/readiness-probe", &[("tenantID", "acme")]).await.status, 200);
    }
}

#[tokio::test]
async fn payments_and_reads_are_limited_too() {
    let aws = pool();
    let limits = ["--limit-requests", "1", "--limit-burst", "1s", "--record-reads", "on"];
    let payments = Inside::start("payments", payments::build, &aws, "pool-1", &limits).await;
    let consumer = Inside::start("consumer", consumer::build, &aws, "pool-1", &limits).await;
    for (service, path) in
        [(&payments, "/payments/fd4c5c23-75ea-5812-b888-93e8bf1770c3"), (&consumer, "/consumer/messages")]
    {
        service.becomes_ready().await;
        let began = Instant::now();
        let mut statuses = Vec::new();
        for _ in 0..10 {
            statuses.push(service.get(path, &[("tenantID", "acme")]).await.status.as_u16());
        }
        let passed = statuses.iter().filter(|status| **status != 429).count();
        let allowed = 2 + usize::try_from(began.elapsed().as_secs()).unwrap();
        assert!((1..=allowed).contains(&passed), "{path}: {statuses:?} in {:?}", began.elapsed());
    }
    assert_eq!(aws.count(Op::SendMessageBatch), 0);
}
