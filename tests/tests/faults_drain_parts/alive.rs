//! `/livez` of a running consumer: it fails when no poll ends any more, and only then.

use std::time::{Duration, Instant};

use tests::inside::Inside;
use tests::matrix::each;
use tests::scripted::{Aws, Fault, Op, Service};

use super::{QUEUE, acme, drained, put_many};

/// A consumer of `acme` that counts as dead after so long without the end of a poll; its polls are given up after 25 s.
async fn consumer_with(aws: &Aws, longest_silence: Duration) -> Inside {
    let build = |mut settings: consumer::Settings, clients| {
        settings.longest_silence = longest_silence;
        consumer::build(settings, clients)
    };
    let consumer = Inside::start("consumer", build, aws, "acme", &[]).await;
    consumer.becomes_ready().await;
    consumer
}

async fn livez(consumer: &Inside) -> u16 {
    consumer.http.get(&format!("http://{}/livez", consumer.admin), &[]).await.status.as_u16()
}

/// Waits until `/livez` answers so.
async fn livez_becomes(consumer: &Inside, status: u16) {
    let began = Instant::now();
    while livez(consumer).await != status {
        assert!(began.elapsed() < Duration::from_secs(60), "/livez is not {status} after a minute");
        // A probe's period: the probe has no other sign than its answer.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn livez_is_503_while_a_poll_does_not_end_and_200_again_after_it_has() {
    let longest_silence = Duration::from_secs(8);
    let aws = acme(10);
    let polls = aws.on(Op::ReceiveMessage).fail(Fault::Stall);
    let began = Instant::now();
    let consumer = consumer_with(&aws, longest_silence).await;
    aws.wait_until("the poll that does not end", |_| polls.hits() >= 1).await;
    assert_eq!(livez(&consumer).await, 200, "it has only just begun");
    livez_becomes(&consumer, 503).await;
    assert!(began.elapsed() >= longest_silence, "after {:?}", began.elapsed());
    assert_eq!(polls.hits(), 1);
    polls.lift();
    livez_becomes(&consumer, 200).await;
    let events = put_many(&aws, 3);
    drained(&aws, &events).await;
    assert_eq!(livez(&consumer).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn livez_is_200_while_the_queue_is_gone_and_cannot_be_looked_up() {
    // Pauses are at most 1, 2, 4, 8 and 16 s long and at least half of that: one of more than 8 s begins after 7.5 s at
    // the earliest, so that without a delay none lasts for 11 s before the watch ends.
    let (longest_silence, watched) = (Duration::from_secs(16), Duration::from_secs(18));
    each(vec!["its parameter is gone, too", "SSM is down, too"], |how| async move {
        let aws = acme(10);
        let consumer = consumer_with(&aws, longest_silence).await;
        aws.wait_until("a poll", |aws| aws.count(Op::ReceiveMessage) >= 1).await;
        if how.starts_with("SSM") {
            aws.on_service(Service::Ssm).fail(Fault::Unavailable);
        } else {
            aws.delete_parameter("/acme/consumer_sqs");
        }
        let lookups = aws.count_service(Service::Ssm);
        aws.delete_queue(QUEUE);
        aws.wait_until("a lookup of the queue", |aws| aws.count_service(Service::Ssm) > lookups).await;
        let (began, polls) = (Instant::now(), aws.count(Op::ReceiveMessage));
        while began.elapsed() < watched {
            assert_eq!(livez(&consumer).await, 200, "{how}: after {:?}", began.elapsed());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // Where SSM cannot tell, the queue that was known is tried, with pauses that grow.
        let most = if how.starts_with("SSM") { 12 } else { 0 };
        let more = aws.count(Op::ReceiveMessage) - polls;
        assert!(more <= most, "{how}: {more} polls of a queue that is gone");
    })
    .await;
}
