//! SQS that is slow, refuses, or is gone; and the end of the process.

use std::time::Duration;

use tests::scripted::{Fault, Op, QueueSpec, Which};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Producer, aws_with, only_message, problem};

const QUEUE: &str = "consumer-acme";

#[tokio::test]
async fn an_event_that_sqs_throttles_or_drops_at_first_is_sent_again_before_the_answer() {
    for fault in [Fault::Throttled, Fault::InternalError, Fault::Unavailable, Fault::Page(503)] {
        let aws = aws_with("acme");
        let producer = Producer::start(&aws, "acme", &[]).await;
        let first = aws.on(Op::SendMessageBatch).nth(1).fail(fault.clone());
        assert_eq!(producer.post("/producer", "acme", "{}").await.status, 200, "{fault:?}");
        assert_eq!(first.hits(), 1);
        assert_eq!(aws.queue(QUEUE).len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn an_entry_that_sqs_did_not_take_is_sent_again_before_the_answer() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let entry = Fault::FailEntries { which: Which::All, code: "InternalError", sender_fault: false };
    aws.on(Op::SendMessageBatch).nth(1).fail(entry);
    assert_eq!(producer.post("/producer", "acme", "{}").await.status, 200);
    only_message(&aws, QUEUE);
}

#[tokio::test]
async fn what_aws_cannot_take_now_is_a_503_that_says_when_to_come_back_and_nothing_of_aws() {
    for fault in [Fault::AccessDenied, Fault::InternalError, Fault::Throttled, Fault::ExpiredToken] {
        let aws = aws_with("acme");
        let producer = Producer::start(&aws, "acme", &["--request-timeout", "500ms"]).await;
        aws.on(Op::SendMessageBatch).always().fail(fault.clone());
        let answer = producer.post("/producer", "acme", "{}").await;
        assert_eq!(problem(&answer, 503, "unavailable"), "try again in 1 s", "{fault:?}");
        assert_eq!(answer.header("retry-after"), "1");
        for word in ["Access", "sqs", "SQS", "arn:", "consumer-acme", "throttl"] {
            assert!(!answer.text().contains(word), "{fault:?}: {}", answer.text());
        }
        // It recovers by itself.
        aws.behave();
        let recovered = async { while producer.post("/producer", "acme", "{}").await.status != 200 {} };
        tokio::time::timeout(Duration::from_secs(30), recovered).await.expect("sends again");
    }
}

#[tokio::test]
async fn a_call_that_is_never_answered_ends_with_the_request_s_time() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &["--request-timeout", "400ms"]).await;
    aws.on(Op::SendMessageBatch).always().fail(Fault::Stall);
    let answer = producer.post("/producer", "acme", "{}").await;
    problem(&answer, 503, "unavailable");
    assert!(answer.took < Duration::from_secs(6), "{:?}", answer.took);
}

#[tokio::test]
async fn a_tenant_s_queue_that_was_replaced_is_found_without_a_restart() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    assert_eq!(producer.post("/producer", "acme", "{}").await.status, 200);
    aws.delete_queue(QUEUE);
    let next = aws.create_queue(QueueSpec::named("consumer-acme-2"));
    aws.set_parameter("/acme/consumer_sqs", &next);
    let moved = async {
        while producer.post("/producer", "acme", "{}").await.status != 200 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), moved).await.expect("found");
    assert_eq!(only_message(&aws, "consumer-acme-2").body, r#"{}"#);
}

#[tokio::test]
async fn it_is_not_ready_before_its_own_parameter_exists_and_is_soon_after() {
    let aws = tests::scripted::Aws::start();
    let producer = Producer::start_unready(&aws, "acme", &[]).await;
    let probe = producer.get("/producer/readiness-probe", &[]).await;
    assert_eq!((probe.status.as_u16(), probe.text().as_str()), (503, r#"{"Status":"NotReady"}"#));
    problem(&producer.post("/producer", "acme", "{}").await, 503, "unavailable");
    aws.provision("acme");
    producer.becomes_ready().await;
    assert_eq!(producer.post("/producer", "acme", "{}").await.status, 200);
}

#[tokio::test]
async fn a_start_while_ssm_is_slow_or_throttled_waits_and_does_not_end() {
    for fault in [Fault::Late(Duration::from_millis(800)), Fault::Throttled, Fault::AccessDenied] {
        let aws = aws_with("acme");
        let slow = aws.on(Op::GetParameters).times(2).fail(fault.clone());
        let producer = Producer::start_unready(&aws, "acme", &[]).await;
        assert_eq!(producer.get("/producer/readiness-probe", &[]).await.status, 503, "{fault:?}");
        producer.becomes_ready().await;
        assert!(slow.hits() >= 1);
        assert!(producer.stop().await, "{fault:?}");
    }
}

#[tokio::test]
async fn at_the_signal_running_requests_are_answered_and_idle_connections_end() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let mut silent = TcpStream::connect(producer.address).await.unwrap();
    let mut kept = TcpStream::connect(producer.address).await.unwrap();
    kept.write_all(b"GET /producer/readiness-probe HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut some = [0; 4_096];
    assert!(kept.read(&mut some).await.unwrap() > 0);

    aws.on(Op::SendMessageBatch).nth(1).fail(Fault::SlowAnswer(Duration::from_millis(700)));
    let mut running = TcpStream::connect(producer.address).await.unwrap();
    running
        .write_all(b"POST /producer HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\ncontent-length: 0\r\n\r\n")
        .await
        .unwrap();
    aws.wait_until("the send to begin", |aws| aws.count(Op::SendMessageBatch) == 1).await;
    let address = producer.address;
    let start = std::time::Instant::now();
    let ended = tokio::spawn(producer.stop());

    let mut answer = String::new();
    running.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("connection: close"), "{answer}");
    assert_eq!(kept.read(&mut some).await.unwrap(), 0);
    assert_eq!(silent.read(&mut some).await.unwrap(), 0);
    assert!(ended.await.unwrap());
    assert!(start.elapsed() < Duration::from_secs(9), "{:?}", start.elapsed());
    assert!(TcpStream::connect(address).await.is_err());
    assert_eq!(aws.queue(QUEUE).len(), 1);
}

#[tokio::test]
async fn a_client_that_left_does_not_keep_an_event_under_way_from_the_queue() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    aws.on(Op::SendMessageBatch).nth(1).fail(Fault::Late(Duration::from_millis(500)));
    let mut client = TcpStream::connect(producer.address).await.unwrap();
    let request = b"POST /producer HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\ncontent-length: 0\r\n\r\n";
    client.write_all(request).await.unwrap();
    aws.wait_until("the send to begin", |aws| aws.count(Op::SendMessageBatch) == 1).await;
    drop(client);
    aws.wait_until("the event to arrive", |aws| aws.queue(QUEUE).len() == 1).await;
    assert!(producer.stop().await);
}
