//! Room: what one tenant, or one queue, has of a pool's process is never all of it.

use std::time::Duration;

use tests::http::Http;
use tests::inside::problem;
use tests::scripted::{Fault, Op};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::{pool, post, producer};

/// A JSON array of so many bytes, in events that one message holds.
fn batch(bytes: usize) -> String {
    let event = format!("\"{}\"", "x".repeat(99_998));
    let mut text = format!("[{}", vec![event; bytes / 100_001].join(","));
    let rest = bytes - text.len() - 2;
    text.push_str(&format!(",{}]", "1".repeat(rest.max(1))));
    text
}

#[tokio::test]
async fn what_is_announced_and_not_sent_takes_no_room_from_others() {
    let aws = pool();
    let small = ["--max-body-bytes", "1048576", "--max-buffered-bytes", "1048576", "--request-timeout", "12s"];
    let service = producer(&aws, &small).await;
    let mut dawdling = JoinSet::new();
    for body in ["content-length: 1000000\r\n\r\n[", "transfer-encoding: chunked\r\n\r\n1\r\n[\r\n"].repeat(15) {
        let head = format!("POST /producer/batch HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntenantID: acme\r\n{body}");
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        dawdling.spawn(async move {
            let mut told = Vec::new();
            let _ = stream.read_to_end(&mut told).await;
            String::from_utf8_lossy(&told).chars().take(12).collect::<String>()
        });
    }
    let large = batch(900_000);
    let mut served = 0;
    while served < 50 && dawdling.try_join_next().is_none() {
        assert_eq!(post(&service, "/producer/batch", "globex", &large).await.status, 200);
        served += 1;
    }
    assert!(served > 0);
    for told in dawdling.join_all().await {
        assert_eq!(told, "HTTP/1.1 408");
    }
}

#[tokio::test]
async fn batches_for_a_queue_that_does_not_answer_leave_memory_to_the_others() {
    let aws = pool();
    aws.provision("initech");
    let memory = ["--max-body-bytes", "1048576", "--max-buffered-bytes", "4194304", "--request-timeout", "16s"];
    let service = producer(&aws, &memory).await;
    assert_eq!(post(&service, "/producer", "initech", "{}").await.status, 200);
    aws.on(Op::SendMessageBatch).for_queue("consumer-initech").fail(Fault::Stall);
    let mut waiting = JoinSet::new();
    for _ in 0..5 {
        let (url, body) = (service.url("/producer/batch"), batch(1_000_000));
        waiting.spawn(async move { Http::new().post(&url, &[("tenantID", "initech")], body).await });
    }
    // Three fit into three quarters of four; the others are told at once, while those wait.
    for _ in 0..2 {
        let refused = waiting.join_next().await.unwrap().unwrap();
        assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, "1"), "{}", refused.text());
        problem(&refused, 503, "unavailable");
        assert!(refused.took < Duration::from_secs(8), "{:?}", refused.took);
    }
    assert_eq!(post(&service, "/producer/batch", "globex", &batch(900_000)).await.status, 200);
    assert_eq!(waiting.len(), 3);
    for answer in waiting.join_all().await {
        assert_eq!(answer.status, 207);
        assert!(answer.json()["results"].as_array().unwrap().iter().all(|result| result["error"]["status"] == 503));
    }
}

#[tokio::test]
async fn requests_for_a_queue_that_does_not_answer_leave_places_to_the_others() {
    let aws = pool();
    aws.provision("initech");
    let service = producer(&aws, &["--max-requests", "40", "--request-timeout", "16s"]).await;
    assert_eq!(post(&service, "/producer", "initech", "{}").await.status, 200);
    aws.on(Op::SendMessageBatch).for_queue("consumer-initech").fail(Fault::Stall);
    let mut waiting = JoinSet::new();
    for number in 0..60 {
        let (url, path) = (service.url(""), ["/producer", "/producer/batch"][number % 2]);
        waiting
            .spawn(async move { Http::new().post(&format!("{url}{path}"), &[("tenantID", "initech")], "[1]").await });
    }
    for _ in 0..30 {
        let refused = waiting.join_next().await.unwrap().unwrap();
        problem(&refused, 503, "unavailable");
        assert!(refused.took < Duration::from_secs(8), "{:?}", refused.took);
    }
    for _ in 0..20 {
        assert_eq!(post(&service, "/producer", "globex", "{}").await.status, 200);
    }
    assert_eq!(waiting.len(), 30);
}
