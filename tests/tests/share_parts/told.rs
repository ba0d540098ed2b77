//! What a tenant is told over its limits is true, and what it sends counts, however it is sent.

use std::time::Duration;

use tests::inside::{Inside, problem};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::{left, pool, post, producer, told};

#[tokio::test]
async fn a_batch_is_let_in_when_its_tenant_comes_back_as_told_also_where_it_is_more_than_a_burst() {
    let aws = pool();
    let service = producer(&aws, &["--limit-requests", "1", "--limit-burst", "1s"]).await;
    let batch = "[1,2,3,4,5,6]";
    assert_eq!(post(&service, "/producer/batch", "acme", batch).await.status, 200);
    let refused = post(&service, "/producer/batch", "acme", batch).await;
    let seconds = told(&refused);
    assert!((1..=6).contains(&seconds), "six of one are owed for five seconds, and one more is needed: {seconds}");
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    assert_eq!(post(&service, "/producer/batch", "acme", batch).await.status, 200);
}

#[tokio::test]
async fn a_request_that_is_refused_for_its_bytes_counts_as_none() {
    let aws = pool();
    let limits = ["--limit-requests", "1", "--limit-bytes", "1000", "--limit-burst", "30s"];
    let service = producer(&aws, &limits).await;
    let large = format!("\"{}\"", "x".repeat(100_000));
    assert_eq!(post(&service, "/producer", "acme", &large).await.status, 200);
    for _ in 0..100 {
        let refused = post(&service, "/producer", "acme", "1").await;
        problem(&refused, 429, "limited");
        assert!(left(&refused, "requests") >= 28, "{}", refused.header("ratelimit"));
    }
}

#[tokio::test]
async fn the_time_to_come_back_is_that_of_the_limit_that_takes_longest() {
    let aws = pool();
    let limits = ["--limit-requests", "1", "--limit-bytes", "1000", "--limit-burst", "1s"];
    let service = producer(&aws, &limits).await;
    let large = format!("\"{}\"", "x".repeat(30_000));
    let batch = format!("[{large}]");
    assert_eq!(post(&service, "/producer/batch", "acme", &batch).await.status, 200);
    let refused = post(&service, "/producer", "acme", "1").await;
    let seconds = told(&refused);
    assert!((20..=30).contains(&seconds), "30 kB are owed for 29 s: {seconds}");
    // Without a body only requests count.
    let refused = loop {
        let answer = service.get("/producer", &[("tenantID", "acme")]).await;
        if answer.status == 429 {
            break answer;
        }
    };
    assert_eq!(refused.header("retry-after"), "1");
}

/// Sends what it is given and says what came back, or breaks off after it.
async fn raw(service: &Inside, tenant: &str, path: &str, body: &str, to_its_end: bool) -> String {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntenantID: {tenant}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
    if !to_its_end {
        return String::new();
    }
    let mut told = Vec::new();
    let _ = stream.read_to_end(&mut told).await;
    String::from_utf8_lossy(&told).split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn bytes_count_as_they_come_also_of_a_body_that_is_too_large_or_breaks_off() {
    let aws = pool();
    let limits = ["--limit-bytes", "1000", "--limit-burst", "1s", "--request-timeout", "10s"];
    let service = producer(&aws, &limits).await;
    let piece = format!("c350\r\n\"{}\r\n", "x".repeat(49_999));
    assert_eq!(raw(&service, "acme", "/producer", &piece.repeat(8), true).await, "413");
    let refused = post(&service, "/producer", "acme", "1").await;
    let seconds = told(&refused);
    assert!(seconds > 200, "what came before it was too large is owed: {seconds}");
    // Nothing is read of who owes: nobody has to wait for the rest of it.
    assert_eq!(raw(&service, "acme", "/producer/batch", &piece, true).await, "429");

    raw(&service, "globex", "/producer/batch", &piece, false).await;
    let owed = async {
        loop {
            let answer = service.get("/producer", &[("tenantID", "globex")]).await;
            if left(&answer, "bytes") == 0 {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), owed).await.expect("what came before it broke off is owed");
    problem(&post(&service, "/producer", "globex", "1").await, 429, "limited");
}
