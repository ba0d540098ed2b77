//! Clients that dawdle: each ends at its bound, and nobody else notices.

use std::time::{Duration, Instant};

use tests::scripted::Op;
use tests::service::{Kind, Service};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{QUEUE, acme, launch};

fn address(service: &Service) -> String {
    service.url.trim_start_matches("http://").to_owned()
}

/// What comes until the end, and how long that takes. A reset is an end as well.
async fn until_the_end(mut stream: impl AsyncRead + Unpin) -> (String, Duration) {
    let (start, mut bytes) = (Instant::now(), Vec::new());
    let read = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut bytes)).await;
    assert!(read.is_ok(), "still open after a minute");
    (String::from_utf8_lossy(&bytes).into_owned(), start.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_slow_heads_are_cut_off_at_ten_seconds_and_a_request_beside_them_is_quick() {
    let aws = acme();
    let service = launch(Kind::Producer, &aws).start().await;
    let mut slow = JoinSet::new();
    for n in 0..500 {
        let address = address(&service);
        slow.spawn(async move {
            let start = Instant::now();
            let (read, mut write) = TcpStream::connect(address).await.expect("a connection").into_split();
            let dripping = tokio::spawn(async move {
                // Some say nothing at all; the others have something to say every second, until the other side has had enough.
                let says = if n % 5 > 0 { usize::MAX } else { 0 };
                let bytes = b"POST /producer HTTP/1.1\r\nx: ".iter().chain(std::iter::repeat(&b'y'));
                for byte in bytes.take(says) {
                    if write.write_all(&[*byte]).await.is_err() {
                        break;
                    }
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                // Their half stays open.
                std::future::pending::<()>().await;
            });
            let (told, _) = until_the_end(read).await;
            let took = start.elapsed();
            dripping.abort();
            (told, took)
        });
    }
    let mut asked = 0;
    while !slow.is_empty() && asked < 40 {
        let answer = service.event("acme", "{}").await;
        assert_eq!(answer.status, 200);
        assert!(answer.took < Duration::from_secs(5), "{:?} beside slow heads", answer.took);
        asked += 1;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for (told, took) in slow.join_all().await {
        assert!(told.is_empty() || told.starts_with("HTTP/1.1 408"), "{told}");
        assert!((Duration::from_secs(9)..Duration::from_secs(18)).contains(&took), "{took:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_a_byte_a_second_is_a_408_at_the_request_s_time_and_reaches_no_queue() {
    let aws = acme();
    let service = launch(Kind::Producer, &aws).set("REQUEST_TIMEOUT", "2s").start().await;
    let mut slow = JoinSet::new();
    for _ in 0..50 {
        let address = address(&service);
        slow.spawn(async move {
            let stream = TcpStream::connect(address).await.expect("a connection");
            let (mut read, mut write) = stream.into_split();
            let start = Instant::now();
            let head = "POST /producer HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\ncontent-length: 1000\r\n\r\n";
            write.write_all(head.as_bytes()).await.expect("a head is taken");
            let dripping = tokio::spawn(async move {
                // Until the other side has had enough.
                while write.write_all(b"1").await.is_ok() {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            });
            let mut told = [0; 12];
            read.read_exact(&mut told).await.expect("an answer");
            let took = start.elapsed();
            dripping.abort();
            (String::from_utf8_lossy(&told).into_owned(), took)
        });
    }
    for (told, took) in slow.join_all().await {
        assert_eq!(told, "HTTP/1.1 408");
        assert!((Duration::from_millis(1_900)..Duration::from_secs(9)).contains(&took), "{took:?}");
    }
    assert_eq!((aws.count(Op::SendMessageBatch), aws.queue(QUEUE).len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_closed_connection_ends_within_seconds_and_a_request_that_broke_off_reaches_no_queue() {
    let aws = acme();
    let service = launch(Kind::Producer, &aws).start().await;
    let head = "POST /producer HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\ncontent-length: 2\r\n\r\n";
    for sent in [format!("{head}{{"), "POST /producer HT".to_owned(), String::new()] {
        let mut stream = TcpStream::connect(address(&service)).await.expect("a connection");
        stream.write_all(sent.as_bytes()).await.expect("it is taken");
        stream.shutdown().await.expect("half of it closes");
        let (answer, took) = until_the_end(stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{sent:?}: {answer}");
        assert!(took < Duration::from_secs(8), "{sent:?}: {took:?}");
    }
    assert_eq!((aws.count(Op::SendMessageBatch), aws.queue(QUEUE).len()), (0, 0));
    // After a whole request it means that the client is gone: it may be answered, and the connection ends all the same.
    let mut stream = TcpStream::connect(address(&service)).await.expect("a connection");
    stream.write_all(format!("{head}{{}}").as_bytes()).await.expect("it is taken");
    stream.shutdown().await.expect("half of it closes");
    let (answer, took) = until_the_end(stream).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert_eq!(service.event("acme", "{}").await.status, 200);
}
