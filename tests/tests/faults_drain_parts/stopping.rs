//! Stopping: no receive after the signal, nothing hidden, nothing written but not deleted.

use std::collections::BTreeMap;
use std::time::Duration;

use tests::scripted::{Aws, Fault, Op, Outcome};
use tests::service::{Kind, Launch, Service};

use super::{DEAD, QUEUE, TABLE, acme, assert_nothing_lost, consumer, put, put_many, stored};

/// Sends a signal and waits until the service says that it stops.
async fn told_to_stop(service: &Service, signal: &str) {
    service.process.signal(signal).await;
    service.process.line("that it stops", |line| line.contains("\"stopping\"")).await;
}

fn no_poll_was_cut_off(aws: &Aws) -> bool {
    aws.calls(Op::ReceiveMessage).iter().all(|call| call.outcome == Outcome::Answered(200))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_arrives_in_the_last_poll_is_stored_before_the_end() {
    let aws = acme(3);
    // The poll of 20 s that is open at the signal is let end; the message arrives in it.
    let mut service = Launch::new(Kind::Consumer, &aws, "acme").start().await;
    aws.wait_until("a poll", |aws| aws.count(Op::ReceiveMessage) >= 1).await;
    told_to_stop(&service, "TERM").await;
    put(&aws, "last", "1");
    let (code, _) = service.process.ended().await;
    assert_eq!(code, Some(0), "{}", service.process.story());
    assert_eq!(stored(&aws).keys().collect::<Vec<_>>(), ["last"]);
    assert!(aws.queue(QUEUE).is_empty());
    assert!(no_poll_was_cut_off(&aws));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_receive_starts_after_the_signal() {
    for signal in ["TERM", "INT"] {
        let aws = acme(3);
        let mut service = consumer(&aws).set("SHUTDOWN_TIMEOUT", "20s").start().await;
        let mut events = put_many(&aws, 300);
        aws.wait_until("some records", |aws| aws.row_count(TABLE) >= 20).await;
        told_to_stop(&service, signal).await;
        let before = aws.count(Op::ReceiveMessage);
        let late: BTreeMap<String, String> = (0..1_000).map(|n| (format!("late-{n:04}"), n.to_string())).collect();
        late.iter().for_each(|(id, body)| put(&aws, id, body));
        events.extend(late);
        let (code, took) = service.process.ended().await;
        assert_eq!(code, Some(0), "{}", service.process.story());
        assert!(took < Duration::from_secs(25), "{took:?}");
        // Some may start while the word gets around; pollers that go on would need a hundred for what is there.
        let late = aws.count(Op::ReceiveMessage) - before;
        assert!(late <= 40, "{late} receives after SIG{signal}");
        assert_nothing_lost(&aws, &events);
        assert_eq!(aws.queue(QUEUE).in_flight, 0, "messages are left hidden");
        let left = aws.queue(QUEUE).visible;
        assert_eq!(
            aws.row_count(TABLE) + left,
            events.len(),
            "what is stored was not deleted, or what was deleted is not stored"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_pollers_stop_together_within_one_poll() {
    let aws = acme(3);
    // A poll of 20 s, which would be given up 6 s after its end.
    let mut service = Launch::new(Kind::Consumer, &aws, "acme").start().await;
    aws.wait_until("a poll", |aws| aws.count(Op::ReceiveMessage) >= 1).await;
    let (code, took) = service.stop().await;
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(26), "a poll has 20 s: {took:?}");
    assert!(no_poll_was_cut_off(&aws));
    assert_eq!(aws.count(Op::ReceiveMessage), 1, "one poll, and none after it");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_is_deleted_before_the_end() {
    let aws = acme(3);
    let rule = aws.on(Op::BatchWriteItem).fail(Fault::SlowAnswer(Duration::from_millis(1_000)));
    put_many(&aws, 4);
    let launch = consumer(&aws).set("SHUTDOWN_TIMEOUT", "10s").set("VISIBILITY_TIMEOUT", "30s");
    let mut service = launch.start().await;
    aws.wait_until("the write", |_| rule.hits() >= 1).await;
    let (code, _) = service.stop().await;
    assert_eq!(code, Some(0));
    assert_eq!(stored(&aws).len(), 4);
    assert!(aws.queue(QUEUE).is_empty(), "{:?}", aws.queue(QUEUE));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_before_the_end_is_handed_back() {
    let aws = acme(5);
    let rule = aws.on(Op::BatchWriteItem).fail(Fault::Unavailable);
    put_many(&aws, 12);
    // Longer than the test waits for them.
    let mut service = consumer(&aws).set("VISIBILITY_TIMEOUT", "10m").start().await;
    aws.wait_until("a write that fails", |_| rule.hits() >= 1).await;
    let (code, took) = service.stop().await;
    assert_eq!(code, Some(0), "{}", service.process.story());
    assert!(took <= Duration::from_secs(10), "{took:?}");
    // The calls that hand them back may have been sent and not been dealt with yet.
    aws.wait_until("them to be handed back", |aws| aws.queue(QUEUE).visible == 12).await;
    assert_eq!(aws.queue(QUEUE).len(), 12);
    assert!(aws.queue(DEAD).is_empty());
}
