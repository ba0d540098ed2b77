//! Stopping: no receive after the signal, nothing hidden, nothing written but not deleted.

use std::time::{Duration, Instant};

use tests::scripted::{Fault, Op, Outcome};
use tests::service::{Kind, Launch};

use super::{DEAD, QUEUE, TABLE, acme, assert_nothing_lost, consumer, put, put_many, stored};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_arrives_in_the_last_poll_is_stored_before_the_end() {
    let aws = acme(3);
    // The poll of 20 s that is open at the signal is let end; the message arrives in it.
    let mut service = Launch::new(Kind::Consumer, &aws, "acme").start().await;
    aws.wait_until("a poll", |aws| aws.count(Op::ReceiveMessage) >= 1).await;
    service.process.signal("TERM").await;
    service
        .process
        .line("that it stops", |line| line.to_ascii_lowercase().contains("stop") || line.contains("drain"))
        .await;
    put(&aws, "last", "1");
    let (code, _) = service.process.ended().await;
    assert_eq!(code, Some(0), "{}", service.process.story());
    assert_eq!(stored(&aws).keys().collect::<Vec<_>>(), ["last"]);
    assert!(aws.queue(QUEUE).is_empty());
    assert!(
        aws.calls(Op::ReceiveMessage).iter().all(|call| call.outcome == Outcome::Answered(200)),
        "a poll was cut off"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_receive_starts_after_the_signal() {
    for signal in ["TERM", "INT"] {
        let aws = acme(3);
        let mut service = consumer(&aws).start().await;
        let events = put_many(&aws, 300);
        aws.wait_until("some records", |aws| aws.row_count(TABLE) >= 20).await;
        service.process.signal(signal).await;
        let signalled = Instant::now();
        let (code, took) = service.process.ended().await;
        assert_eq!(code, Some(0), "{}", service.process.story());
        assert!(took < Duration::from_secs(6), "{took:?}");
        // The signal takes a moment to arrive, more on a busy machine; a poller that goes on would go on for seconds.
        let late = aws
            .calls(Op::ReceiveMessage)
            .iter()
            .filter(|call| call.arrived > signalled + Duration::from_secs(1))
            .count();
        assert_eq!(late, 0, "receives after SIG{signal}");
        assert_nothing_lost(&aws, &events);
        assert_eq!(aws.queue(QUEUE).in_flight, 0, "messages are left hidden");
        let left = aws.queue(QUEUE).visible;
        assert_eq!(
            aws.row_count(TABLE) + left,
            300,
            "what is stored was not deleted, or what was deleted is not stored"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_pollers_stop_together_within_one_poll() {
    let aws = acme(3);
    let mut service = consumer(&aws).start().await;
    aws.wait_until("a poll", |aws| aws.count(Op::ReceiveMessage) >= 2).await;
    let (code, took) = service.stop().await;
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_millis(3_500), "a poll has 2 s: {took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_is_deleted_before_the_end() {
    let aws = acme(3);
    let rule = aws.on(Op::BatchWriteItem).fail(Fault::SlowAnswer(Duration::from_millis(1_000)));
    put_many(&aws, 4);
    let mut service = consumer(&aws).start().await;
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
    let mut service = consumer(&aws).set("VISIBILITY_TIMEOUT", "60s").start().await;
    aws.wait_until("a write that fails", |_| rule.hits() >= 1).await;
    let (code, took) = service.stop().await;
    assert_eq!(code, Some(0), "{}", service.process.story());
    assert!(took <= Duration::from_secs(6), "{took:?}");
    assert_eq!((aws.queue(QUEUE).visible, aws.queue(QUEUE).in_flight), (12, 0), "handed back, not hidden for a minute");
    assert!(aws.queue(DEAD).is_empty());
}
