//! From the signal to the end of the process, for each service: who comes, who waits for an answer, and who will not go.

use std::time::{Duration, Instant};

use hyper::Method;
use tests::http::{Answer, Http};
use tests::matrix::each;
use tests::scripted::{Fault, Op};
use tests::service::{Kind, Service};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::{acme, launch};

const SERVICES: [Kind; 3] = [Kind::Producer, Kind::Consumer, Kind::Payments];

/// A request that the service needs AWS for, and what it calls for it.
fn work(kind: Kind) -> (Method, &'static str, &'static str, Op, u16) {
    let payment = r#"{"amount":"12.50","currency":"EUR","reference":"order 1"}"#;
    match kind {
        Kind::Producer => (Method::POST, "/producer", "{}", Op::SendMessageBatch, 200),
        Kind::Consumer => (Method::GET, "/consumer/messages", "", Op::Query, 200),
        Kind::Payments => (Method::POST, "/payments", payment, Op::PutItem, 202),
    }
}

/// Such a request, over a connection of its own, as from a client that has none yet.
async fn asked(kind: Kind, url: String) -> Result<Answer, String> {
    let (method, path, body, ..) = work(kind);
    let headers = [("tenantID", "acme"), ("idempotency-key", "once"), ("content-type", "application/json")];
    Http::new().try_send(method, &format!("{url}{path}"), &headers, body).await
}

/// Waits until the service has noticed the signal.
async fn signalled(service: &Service, signal: &str) {
    service.process.signal(signal).await;
    service.process.line("that it stops", |line| line.contains("\"stopping\"")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_signal_a_service_is_unready_at_once_and_serves_on_for_the_drain_delay() {
    let cases = SERVICES.iter().flat_map(|kind| ["TERM", "INT"].map(|signal| (*kind, signal))).collect();
    each(cases, |(kind, signal)| async move {
        let aws = acme();
        let launch =
            launch(kind, &aws).set("RECORD_READS", "on").set("DRAIN_DELAY", "6s").set("SHUTDOWN_TIMEOUT", "12s");
        let mut service = launch.start().await;
        let probe = format!("{}/{}/readiness-probe", service.url, kind.name());
        signalled(&service, signal).await;
        let stopping = Instant::now();
        let mut served = 0;
        while served < 3 || stopping.elapsed() < Duration::from_secs(2) {
            let http = Http::new();
            assert_eq!(http.get(&probe, &[]).await.status, 503);
            assert_eq!(http.get(&format!("{}/readyz", service.admin), &[]).await.status, 503);
            assert_eq!(http.get(&format!("{}/livez", service.admin), &[]).await.status, 200);
            let answer = asked(kind, service.url.clone()).await.expect("an answer during the drain delay");
            assert_eq!((answer.status.as_u16(), answer.header("connection")), (work(kind).4, "close"));
            served += 1;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let (code, took) = service.process.ended().await;
        assert_eq!(code, Some(0), "{}", service.process.story());
        assert!(took < Duration::from_secs(8), "{took:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_stops_refuses_connections_while_it_answers_the_request_under_way() {
    each(SERVICES.to_vec(), |kind| async move {
        let aws = acme();
        let launch =
            launch(kind, &aws).set("RECORD_READS", "on").set("DRAIN_DELAY", "0").set("SHUTDOWN_TIMEOUT", "12s");
        let mut service = launch.start().await;
        let (.., op, status) = work(kind);
        // Without an answer until it is seen that connections are refused; the call is made again after 4 s.
        let stuck = aws.on(op).fail(Fault::Stall);
        let under_way = tokio::spawn(asked(kind, service.url.clone()));
        aws.wait_until("the request's call", |_| stuck.hits() >= 1).await;
        signalled(&service, "TERM").await;
        let address = service.url.trim_start_matches("http://").to_owned();
        // Those that came before the port was closed may be let in.
        while TcpStream::connect(&address).await.is_ok() {
            assert!(!under_way.is_finished(), "connections are taken until the last answer");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!under_way.is_finished(), "connections were refused only after the last answer");
        stuck.lift();
        let answer = under_way.await.expect("no panic").expect("an answer, although the service stops");
        assert_eq!(answer.status, status, "{}", answer.text());
        let (code, took) = service.process.ended().await;
        assert_eq!(code, Some(0), "{}", service.process.story());
        // Some 4 s after the signal and 8 s before the time to stop is over; a consumer's poll may take 7 s of it.
        assert!(took < Duration::from_secs(7), "{took:?}");
    })
    .await;
}

/// A client that asks again and again and takes no answer, until the service has no room for another one and stops reading.
async fn one_that_never_reads(service: &Service) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a small buffer");
    let address = service.url.trim_start_matches("http://").parse().expect("an address");
    let mut stream = socket.connect(address).await.expect("a connection");
    let requests = format!("GET /{}/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n", service.kind.name()).repeat(100);
    let mut at = 0;
    while let Ok(taken) = tokio::time::timeout(Duration::from_secs(2), stream.write(&requests.as_bytes()[at..])).await {
        at = (at + taken.expect("it is open")) % requests.len();
    }
    stream
}

/// A client that begins like this and says no more.
async fn one_that_stops_after(service: &Service, beginning: &str) -> TcpStream {
    let mut stream = TcpStream::connect(service.url.trim_start_matches("http://")).await.expect("a connection");
    stream.write_all(beginning.as_bytes()).await.expect("it is taken");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_is_gone_at_its_shutdown_timeout_whatever_its_clients_do() {
    each(SERVICES.to_vec(), |kind| async move {
        let aws = acme();
        let launch = launch(kind, &aws).set("SHUTDOWN_TIMEOUT", "3s").set("REQUEST_TIMEOUT", "60s");
        let mut service = launch.start().await;
        let (_, path, ..) = work(kind);
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\nidempotency-key: k\r\n");
        let mut clients = vec![
            one_that_never_reads(&service).await,
            one_that_stops_after(&service, "").await,
            one_that_stops_after(&service, "POST /").await,
            one_that_stops_after(&service, &head).await,
            one_that_stops_after(&service, &format!("{head}content-length: 1000\r\n\r\n{{")).await,
            one_that_stops_after(&service, &format!("{head}transfer-encoding: chunked\r\n\r\n3e8\r\n{{")).await,
            one_that_stops_after(&service, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await,
        ];
        let signal = Instant::now();
        service.process.signal("TERM").await;
        service.process.ended().await;
        let (took, limit) = (signal.elapsed(), Duration::from_secs(3));
        assert!(took < limit + Duration::from_secs(4), "{took:?}: {}", service.process.story());
        // It was not that they had gone.
        assert!(took >= limit, "nobody held it up: {took:?}");
        for client in &mut clients {
            let mut rest = Vec::new();
            let end = tokio::time::timeout(Duration::from_secs(5), client.read_to_end(&mut rest)).await;
            assert!(end.is_ok(), "a connection outlives the process");
        }
    })
    .await;
}
