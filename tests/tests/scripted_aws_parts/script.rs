//! The script: each fault reaches the client as AWS's would.

use std::time::{Duration, Instant};

use aws_sdk_sqs::error::{ProvideErrorMetadata as _, SdkError};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use tests::scripted::{Aws, Cut, Fault, Op, Outcome, QueueSpec, Service, Which};

use super::sqs;

struct Sender {
    client: aws_sdk_sqs::Client,
    url: String,
}

impl Sender {
    async fn new(aws: &Aws) -> Self {
        aws.create_queue(QueueSpec::named("q"));
        Self { client: sqs(aws).await, url: aws.queue_url("q") }
    }

    /// Sends a message with half a second of patience: the code of the error, or the kind of failure.
    async fn send(&self) -> Result<(), String> {
        let timeouts =
            aws_config::timeout::TimeoutConfig::builder().operation_timeout(Duration::from_millis(500)).build();
        let send = self.client.send_message().queue_url(&self.url).message_body("x").customize();
        let sent = send.config_override(aws_sdk_sqs::config::Builder::new().timeout_config(timeouts)).send().await;
        sent.map(drop).map_err(|error| match &error {
            SdkError::TimeoutError(_) => "timeout".to_owned(),
            SdkError::DispatchFailure(_) => "dispatch".to_owned(),
            SdkError::ResponseError(_) => "response".to_owned(),
            other => other.code().unwrap_or("no code").to_owned(),
        })
    }
}

#[tokio::test]
async fn each_fault_reaches_the_client_and_does_its_work_or_not() {
    let cases = [
        (Fault::Throttled, "RequestThrottled", false),
        (Fault::ThrottledOtherwise, "ThrottlingException", false),
        (Fault::InternalError, "InternalFailure", false),
        (Fault::Unavailable, "ServiceUnavailable", false),
        (Fault::Page(503), "no code", false),
        (Fault::Page(404), "no code", false),
        (Fault::Redirect, "no code", false),
        (Fault::Error(400, "KmsDisabled", "scripted"), "KmsDisabled", false),
        (Fault::Truncated, "no code", true),
        (Fault::Trickle(Duration::from_millis(100)), "timeout", true),
        (Fault::AccessDenied, "AccessDenied", false),
        (Fault::ExpiredToken, "ExpiredToken", false),
        (Fault::Gone, "QueueDoesNotExist", false),
        (Fault::GoneByHeader, "AWS.SimpleQueueService.NonExistentQueue", false),
        (Fault::Stall, "timeout", false),
        (Fault::StallAfterWork, "timeout", true),
        (Fault::HalfAnswer, "timeout", true),
        (Fault::CutBefore(Cut::Reset), "dispatch", false),
        (Fault::CutBefore(Cut::Close), "dispatch", false),
        (Fault::CutAfter(Cut::Reset), "dispatch", true),
        (Fault::CutAfter(Cut::Close), "dispatch", true),
    ];
    for (fault, error, done) in cases {
        let aws = Aws::start();
        let sender = Sender::new(&aws).await;
        aws.on(Op::SendMessage).nth(1).fail(fault.clone());
        assert_eq!(sender.send().await, Err(error.to_owned()), "{fault:?}");
        assert_eq!(aws.queue("q").len(), usize::from(done), "{fault:?}");
        assert_eq!(sender.send().await, Ok(()), "the call after {fault:?}");
    }
}

#[tokio::test]
async fn cuts_and_answers_are_in_the_log() {
    let aws = Aws::start();
    let sender = Sender::new(&aws).await;
    aws.on(Op::SendMessage).nth(2).fail(Fault::CutBefore(Cut::Reset));
    aws.on(Op::SendMessage).nth(3).fail(Fault::Stall);
    for _ in 0..3 {
        let _ = sender.send().await;
    }
    aws.wait_until("the client to give up", |aws| aws.calls(Op::SendMessage)[2].outcome == Outcome::Abandoned).await;
    let calls = aws.calls(Op::SendMessage);
    assert_eq!((calls[0].outcome, calls[1].outcome), (Outcome::Answered(200), Outcome::Cut));
    assert_eq!(calls[0].json()["MessageBody"], "x");
    assert_eq!((&*calls[0].target, &*calls[0].access_key, calls[2].number), ("q", "AKIATEST", 3));
}

#[tokio::test]
async fn entries_fail_or_are_forgotten_as_scripted() {
    let aws = Aws::start();
    let sender = Sender::new(&aws).await;
    let entries: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|id| SendMessageBatchRequestEntry::builder().id(*id).message_body(*id).build().unwrap())
        .collect();
    let send = sender.client.send_message_batch().queue_url(&sender.url).set_entries(Some(entries));
    aws.on(Op::SendMessageBatch).nth(1).fail(Fault::FailEntries {
        which: Which::At(vec![1]),
        code: "InternalError",
        sender_fault: false,
    });
    aws.on(Op::SendMessageBatch).nth(2).fail(Fault::ForgetEntries { which: Which::Containing("c".into()), done: true });
    let first = send.clone().send().await.unwrap();
    assert_eq!(first.successful().iter().map(|entry| entry.id()).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(
        (first.failed()[0].id(), first.failed()[0].code(), first.failed()[0].sender_fault()),
        ("b", "InternalError", false)
    );
    let second = send.send().await.unwrap();
    assert_eq!((second.successful().len(), second.failed().len()), (2, 0));
    assert_eq!(aws.queue("q").len(), 5);
}

#[tokio::test]
async fn duplicates_come_within_one_receive_and_only_the_second_handle_deletes() {
    let aws = Aws::start();
    let sender = Sender::new(&aws).await;
    aws.put_message("q", "twice", &[]);
    aws.on(Op::ReceiveMessage).nth(1).fail(Fault::Duplicates);
    let received =
        sender.client.receive_message().queue_url(&sender.url).max_number_of_messages(10).send().await.unwrap();
    let [one, two] = received.messages() else { panic!("{received:?}") };
    assert_eq!(one.message_id(), two.message_id());
    for (message, left) in [(one, 1), (two, 0)] {
        sender
            .client
            .delete_message()
            .queue_url(&sender.url)
            .receipt_handle(message.receipt_handle().unwrap())
            .send()
            .await
            .unwrap();
        assert_eq!(aws.queue("q").len(), left);
    }
}

#[tokio::test]
async fn a_raw_answer_is_sent_as_it_stands() {
    let aws = Aws::start();
    let sender = Sender::new(&aws).await;
    aws.put_message("q", "hidden", &[]);
    for body in ["{}", r#"{"Messages":null}"#, r#"{"Messages":[]}"#] {
        let rule = aws.on(Op::ReceiveMessage).answer(body);
        let received = sender.client.receive_message().queue_url(&sender.url).send().await.unwrap();
        assert_eq!((received.messages().len(), rule.hits()), (0, 1), "{body}");
        rule.lift();
    }
}

#[tokio::test]
async fn latency_and_late_answers_take_their_time() {
    let aws = Aws::start();
    let sender = Sender::new(&aws).await;
    aws.latency(Service::Sqs, Duration::from_millis(50));
    let start = Instant::now();
    sender.send().await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(50));
    aws.on(Op::SendMessage).fail(Fault::SlowAnswer(Duration::from_millis(150)));
    let start = Instant::now();
    sender.send().await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_pace_throttles_what_is_too_fast() {
    let aws = Aws::start();
    let sender = Sender::new(&aws).await;
    aws.throttle_above(Service::Sqs, 5);
    let mut sent = 0;
    for _ in 0..10 {
        sent += usize::from(sender.send().await.is_ok());
    }
    assert!((5..10).contains(&sent), "{sent}");
}

#[tokio::test]
async fn connections_go_silent_or_are_refused_and_come_back() {
    let aws = Aws::start();
    let sender = Sender::new(&aws).await;
    sender.send().await.unwrap();
    aws.silence_connections();
    assert_eq!(sender.send().await, Err("timeout".to_owned()));
    sender.send().await.unwrap();
    aws.go_down().await;
    assert_eq!(sender.send().await, Err("dispatch".to_owned()));
    aws.come_back().await;
    sender.send().await.unwrap();
    assert_eq!(aws.connections_opened(), 3);
}
