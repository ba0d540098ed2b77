//! Any request: a client's error or a success, within its time; and the next request is served.

use proptest::prelude::*;
use tests::service::{Kind, Service};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::{acme, launch};
use super::{RUNTIME, runner};

/// A request as bytes.
#[derive(Clone, Debug)]
struct Asked {
    bytes: Vec<u8>,
    /// It is plain where it ends and that no other one follows, so it has to be answered. Of one that does not say so, or says it
    /// twice, only the end of the connection is certain.
    framed: bool,
}

/// Names of headers that say where a request ends.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

/// A request that is nearly right, so that it gets far, with anything in any place.
fn any_request() -> impl Strategy<Value = Asked> {
    let method = prop::sample::select(vec!["POST", "GET", "PUT", "post", "P\u{d6}ST", ""]);
    let path = prop_oneof![
        6 => prop::sample::select(vec![
            "/producer", "/producer/batch", "/payments", "/payments/x", "/consumer/messages?cursor=x", "/producer/readiness-probe",
        ]).prop_map(str::to_owned),
        1 => "/[ -~]{0,30}",
        1 => "/producer%[0-9a-z]{0,4}",
    ];
    let name = prop::sample::select(vec![
        "tenantID",
        "tier",
        "Idempotency-Key",
        "traceparent",
        "content-type",
        "content-length",
        "transfer-encoding",
        "x",
        "host",
    ]);
    let value = prop_oneof![
        4 => prop::sample::select(vec!["acme", "basic", "application/json", "chunked", "2", "0", "-1", "key", "99999999999999999999"])
            .prop_map(|text| text.as_bytes().to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    let header = (name, value);
    let body = prop_oneof![
        3 => Just(b"{}".to_vec()),
        1 => Just(br#"{"amount":"1.00","currency":"EUR","reference":"r"}"#.to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..200),
    ];
    (method, path, prop::collection::vec(header, 0..6), body, any::<bool>()).prop_map(
        |(method, path, headers, body, right)| {
            let mut request = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
            if right {
                let length = body.len();
                request.extend_from_slice(
                    format!("host: x\r\nconnection: close\r\ntenantID: acme\r\ncontent-length: {length}\r\n")
                        .as_bytes(),
                );
            }
            for (name, value) in &headers {
                request.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
            }
            request.extend_from_slice(b"\r\n");
            request.extend_from_slice(&body);
            Asked { bytes: request, framed: right && headers.iter().all(|(name, _)| !FRAMING.contains(name)) }
        },
    )
}

/// The status of each answer until the connection ends.
async fn statuses(service: &Service, asked: &Asked) -> Vec<u16> {
    let mut stream = TcpStream::connect(service.url.trim_start_matches("http://")).await.expect("a connection");
    // It may be refused half way.
    let _ = stream.write_all(&asked.bytes).await;
    if !asked.framed {
        // Else it may be waited for. Whoever closes its half is taken for gone, and need not be answered.
        let _ = stream.shutdown().await;
    }
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(std::time::Duration::from_secs(30), stream.read_to_end(&mut bytes)).await;
    assert!(read.is_ok(), "open for half a minute after {:?}", String::from_utf8_lossy(&asked.bytes));
    let text = String::from_utf8_lossy(&bytes);
    text.split("HTTP/1.1 ").skip(1).filter_map(|answer| answer.get(..3)?.parse().ok()).collect()
}

#[test]
fn any_request_is_a_success_or_a_client_s_error_and_the_next_one_is_served() {
    let aws = acme();
    let services = RUNTIME.block_on(async {
        [
            launch(Kind::Producer, &aws).start().await,
            launch(Kind::Payments, &aws).set("RECORD_READS", "on").start().await,
            launch(Kind::Consumer, &aws).set("RECORD_READS", "on").start().await,
        ]
    });
    let requests = prop::collection::vec(any_request(), 1..40);
    let tried = runner(12).run(&requests, |requests| {
        for service in &services {
            let all = RUNTIME.block_on(async {
                let mut all = Vec::new();
                for request in &requests {
                    all.push(statuses(service, request).await);
                }
                all
            });
            for (request, statuses) in requests.iter().zip(all) {
                let fine = statuses.iter().all(|status| (200..500).contains(status));
                let answered = !request.framed || !statuses.is_empty();
                prop_assert!(fine && answered, "{:?} for {:?}", statuses, String::from_utf8_lossy(&request.bytes));
            }
            let next = RUNTIME.block_on(async {
                match service.kind {
                    Kind::Producer => service.event("acme", "{}").await.status,
                    Kind::Payments => service.payment("acme", "next").await.status,
                    Kind::Consumer => {
                        let url = format!("{}/consumer/messages", service.url);
                        service.http.get(&url, &[("tenantID", "acme")]).await.status
                    }
                }
            });
            prop_assert!(next.is_success(), "{}", next);
        }
        Ok(())
    });
    tried.unwrap_or_else(|failed| panic!("{failed}"));
    let story = services.map(|service| service.process.story()).join("\n");
    assert!(!story.contains("panicked"), "{story}");
}
