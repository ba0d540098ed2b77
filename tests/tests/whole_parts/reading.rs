//! Clients that ask for pages of records and do not take them: memory stays where it was, and others are served.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Empty;
use hyper::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tests::http::{Answer, Http};
use tests::matrix::assert_honest;
use tests::scripted::{Aws, Op};
use tests::service::{Kind, Launch, Service};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

const MIB: usize = 1_048_576;
const TABLE: &str = "consumer-pool-1";
const PATH: &str = "/consumer/messages?limit=100";

/// So many pages are asked for and not taken. Each has three quarters of a megabyte, and takes more while it is made.
const UNTAKEN: usize = 40;

/// How much the process may grow: the 16 MiB of `MAX_BUFFERED_BYTES`, and what an allocator keeps around as much.
const GROWTH: usize = 40 * MIB;

/// A pool in which `acme` has large records and `globex` has one.
async fn pool() -> (Aws, Service) {
    let aws = Aws::builder().without_log().start();
    aws.provision("pool-1");
    for tenant in ["acme", "globex"] {
        aws.register(tenant, "pool-1");
    }
    let large = "z".repeat(250_000);
    for n in 0..8 {
        put(&aws, "acme", &format!("m-{n}"), &large).await;
    }
    put(&aws, "globex", "m-0", "{}").await;
    let service = Launch::new(Kind::Consumer, &aws, "pool-1").set("RECORD_READS", "on").start().await;
    (aws, service)
}

async fn put(aws: &Aws, tenant: &str, key: &str, body: &str) {
    let item = json!({"tenant_id": {"S": tenant}, "message_id": {"S": key}, "body": {"S": body}});
    let target = [("x-amz-target", "DynamoDB_20120810.PutItem"), ("content-type", "application/x-amz-json-1.0")];
    let body = json!({"TableName": TABLE, "Item": item}).to_string();
    assert_eq!(Http::new().post(aws.endpoint(), &target, body).await.status, 200);
}

async fn page(service: &Service, tenant: &str) -> Answer {
    Http::new().get(&format!("{}{PATH}", service.url), &[("tenantID", tenant)]).await
}

/// What the process takes after a page that was read to its end.
async fn settled(service: &Service) -> usize {
    let answer = page(service, "acme").await;
    let records = answer.json()["messages"].as_array().map_or(0, Vec::len);
    assert_eq!((answer.status.as_u16(), records), (200, 3), "a page of large records ends early");
    service.process.usage().resident
}

async fn assert_others_are_served_and_memory_stays(service: &Service, before: usize) {
    let answer = page(service, "globex").await;
    assert_eq!(answer.status, 200, "another tenant: {}", answer.text());
    let now = service.process.usage().resident;
    assert!(now < before + GROWTH, "{before} bytes became {now}");
}

/// Waits until `acme` is served again, as it is when its connections have ended.
async fn assert_served_again(service: &Service) {
    let start = Instant::now();
    while page(service, "acme").await.status != 200 {
        assert!(start.elapsed() < Duration::from_secs(20), "no room after the connections have gone");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_nobody_takes_over_http_1_are_held_within_the_memory_for_them() {
    let (_aws, service) = pool().await;
    let before = settled(&service).await;
    let address = service.url.trim_start_matches("http://").parse().expect("an address");
    let mut asking = JoinSet::new();
    for _ in 0..UNTAKEN {
        asking.spawn(async move {
            let socket = TcpSocket::new_v4().expect("a socket");
            socket.set_recv_buffer_size(4_096).expect("a small buffer");
            let mut stream = socket.connect(address).await.expect("a connection");
            let head = format!("GET {PATH} HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\n\r\n");
            stream.write_all(head.as_bytes()).await.expect("a request is taken");
            let mut first = [0; 12];
            stream.read_exact(&mut first).await.expect("the beginning of an answer");
            (String::from_utf8_lossy(&first[9..]).into_owned(), stream)
        });
    }
    let answers = asking.join_all().await;
    assert!(answers.iter().all(|(status, _)| status == "200" || status == "503"), "a page, or no room");
    assert!(answers.iter().any(|(status, _)| status == "200"));
    assert_others_are_served_and_memory_stays(&service, before).await;
    drop(answers);
    assert_served_again(&service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_behind_a_closed_window_of_http_2_are_held_within_the_memory_for_them() {
    let (_aws, service) = pool().await;
    let before = settled(&service).await;
    let stream = tokio::net::TcpStream::connect(service.url.trim_start_matches("http://")).await.expect("a connection");
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(65_535)
        .initial_connection_window_size(65_535)
        .handshake::<_, Empty<Bytes>>(TokioIo::new(stream))
        .await
        .expect("HTTP/2");
    let driver = tokio::spawn(connection);
    let mut asking = JoinSet::new();
    for _ in 0..UNTAKEN {
        let (mut sender, url) = (sender.clone(), format!("{}{PATH}", service.url));
        asking.spawn(async move {
            let request = Request::get(url).header("tenantID", "acme").body(Empty::new()).expect("a request");
            // Nobody reads a body, so the window never opens again.
            sender.send_request(request).await.expect("the head of an answer")
        });
    }
    let answers = asking.join_all().await;
    let mut statuses = BTreeMap::<u16, usize>::new();
    answers.iter().for_each(|answer| *statuses.entry(answer.status().as_u16()).or_default() += 1);
    let pages = statuses.get(&200).copied().unwrap_or(0);
    // Half of 16 MiB: while one is made, 4 MiB of it have to be free.
    assert!((1..=8).contains(&pages) && statuses.get(&503) == Some(&(UNTAKEN - pages)), "{statuses:?}");
    for answer in answers.iter().filter(|answer| answer.status() == 503) {
        assert_eq!(answer.headers()["retry-after"], "1");
    }
    assert_honest(&page(&service, "acme").await);
    assert_others_are_served_and_memory_stays(&service, before).await;
    drop((answers, sender));
    driver.abort();
    assert_served_again(&service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_whose_answers_lead_nowhere_is_not_asked_over_and_over() {
    let (aws, service) = pool().await;
    let stuck = json!({"Items": [], "Count": 0, "ScannedCount": 0,
        "LastEvaluatedKey": {"tenant_id": {"S": "acme"}, "message_id": {"S": "m-5"}}});
    let rule = aws.on(Op::Query).answer(&stuck.to_string());
    let answer = page(&service, "acme").await;
    assert_honest(&answer);
    assert_eq!((answer.status.as_u16(), rule.hits()), (503, 2));
    rule.lift();
    assert_eq!(page(&service, "acme").await.status, 200);
}
