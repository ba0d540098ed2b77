//! Receiving: empty answers, broken polls, a queue that is not there.

use std::time::{Duration, Instant};

use tests::matrix::each;
use tests::scripted::{Aws, Cut, Fault, Op, Outcome, QueueSpec};
use tests::service::{Kind, Launch};

use super::{DEAD, QUEUE, acme, consumer, drained, put, put_many};

#[tokio::test(flavor = "multi_thread")]
async fn every_spelling_of_nothing_means_nothing() {
    for body in ["{}", r#"{"Messages":null}"#, r#"{"Messages":[]}"#] {
        let aws = acme(10);
        aws.on(Op::ReceiveMessage).times(3).answer(body);
        // A call may take 4 s then: one that is answered late would go out again.
        let service = consumer(&aws).set("VISIBILITY_TIMEOUT", "30s").start().await;
        aws.wait_until("three empty answers", |aws| aws.count(Op::ReceiveMessage) > 3).await;
        let events = put_many(&aws, 1);
        drained(&aws, &events).await;
        assert_eq!((aws.count(Op::BatchWriteItem), aws.count(Op::DeleteMessageBatch)), (1, 1), "{body}");
        assert!(!service.process.story().contains("\"level\":\"ERROR\""), "{}", service.process.story());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_queue_is_polled_by_one_poller_whose_empty_answers_are_no_errors() {
    let aws = acme(10);
    let service = consumer(&aws).start().await;
    aws.wait_until("five polls", |aws| aws.count(Op::ReceiveMessage) >= 5).await;
    let calls = aws.calls(Op::ReceiveMessage);
    for call in &calls {
        let json = call.json();
        assert_eq!(
            (&json["MaxNumberOfMessages"], &json["WaitTimeSeconds"], &json["VisibilityTimeout"]),
            (&10.into(), &2.into(), &5.into())
        );
    }
    // One after another: each begins when the one before has ended.
    for pair in calls.windows(2).skip(1) {
        let ended = pair[0].ended.expect("the next poll began only after the one before");
        assert!(pair[1].arrived >= ended, "two polls at once on an idle queue");
    }
    let log = service.process.lines().join("\n");
    assert!(!log.contains("\"WARN\"") && !log.contains("\"ERROR\""), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn by_default_a_poll_waits_twenty_seconds_and_outlives_every_other_timeout() {
    let aws = acme(10);
    let service = Launch::new(Kind::Consumer, &aws, "acme").start().await;
    aws.wait_until("the first poll to end", |aws| {
        aws.calls(Op::ReceiveMessage).iter().any(|call| call.ended.is_some())
    })
    .await;
    let poll = aws.calls(Op::ReceiveMessage)[0].clone();
    assert_eq!(poll.json()["WaitTimeSeconds"], 20);
    assert_eq!(poll.outcome, Outcome::Answered(200));
    let took = poll.ended.map(|ended| ended.duration_since(poll.arrived)).unwrap_or_default();
    assert!(took >= Duration::from_secs(20), "{took:?}");
    assert!(!service.process.story().contains("\"ERROR\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_without_a_byte_for_22_seconds_is_idle_and_no_stalled_stream() {
    // Longer than the time without data that the SDK's own watch over streams allows, and within the poll's 25 s.
    let aws = acme(10);
    aws.on(Op::ReceiveMessage).nth(1).fail(Fault::SlowAnswer(Duration::from_secs(2)));
    let service = Launch::new(Kind::Consumer, &aws, "acme").start().await;
    aws.wait_until("the poll after it", |aws| aws.count(Op::ReceiveMessage) >= 2).await;
    let poll = aws.calls(Op::ReceiveMessage)[0].clone();
    assert_eq!(poll.outcome, Outcome::Answered(200), "{}", service.process.story());
    let took = poll.ended.map(|ended| ended.duration_since(poll.arrived)).unwrap_or_default();
    assert!(took >= Duration::from_secs(22), "{took:?}");
    let log = service.process.lines().join("\n");
    assert!(!log.contains("\"WARN\"") && !log.contains("\"ERROR\""), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_that_is_reset_is_logged_and_polled_again() {
    let aws = acme(10);
    aws.on(Op::ReceiveMessage).nth(3).fail(Fault::CutBefore(Cut::Reset));
    let service = consumer(&aws).start().await;
    aws.wait_until("the poll after the third", |aws| aws.count(Op::ReceiveMessage) >= 4).await;
    let events = put_many(&aws, 3);
    drained(&aws, &events).await;
    service.process.line("that it failed", |line| line.contains("\"WARN\"") || line.contains("\"ERROR\"")).await;
    let said = service.process.log().iter().filter(|line| line["level"] == "WARN" || line["level"] == "ERROR").count();
    assert_eq!(said, 1, "{}", service.process.story());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_that_falls_silent_is_given_up_and_polled_again() {
    let aws = acme(10);
    let _service = consumer(&aws).start().await;
    aws.wait_until("a poll", |aws| aws.count(Op::ReceiveMessage) >= 1).await;
    aws.silence_connections();
    let events = put_many(&aws, 3);
    drained(&aws, &events).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_at_once_are_met_with_pauses_and_end_by_themselves() {
    let faults = [Fault::Gone, Fault::GoneByHeader, Fault::AccessDenied].map(Some);
    each([&faults[..], &[None]].concat(), |fault| async move {
        let aws = acme(10);
        let service = consumer(&aws).start().await;
        // Its probe says so before its log does, and this line is none of those that are counted.
        service.process.line("that it is ready", |line| line.contains("\"ready\"")).await;
        aws.wait_until("a poll", |aws| aws.count(Op::ReceiveMessage) >= 1).await;
        let rule = fault.clone().map(|fault| aws.on(Op::ReceiveMessage).fail(fault));
        if rule.is_none() {
            aws.go_down().await;
        }
        let (calls, before) = (aws.count(Op::ReceiveMessage), service.process.lines().len());
        aws.holds_within(Duration::from_secs(10), |_| false).await;
        let calls = aws.count(Op::ReceiveMessage) - calls;
        // Pauses of 0.5 s at least, and twice as long each time.
        assert!(calls <= 8, "{calls} calls in 10 s of {fault:?}");
        match rule {
            Some(rule) => rule.lift(),
            None => aws.come_back().await,
        }
        let events = put_many(&aws, 3);
        // The longest pause is 20 s.
        let told = Instant::now();
        drained(&aws, &events).await;
        assert!(told.elapsed() < Duration::from_secs(30), "{fault:?}: {:?}", told.elapsed());
        // Tries that reach nobody are seen by their metric alone.
        let metrics = service.metrics().await;
        let counted = metrics.lines().filter(|line| line.starts_with("consumer_receive_errors_total{"));
        let tries: f64 = counted.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum();
        let lines = service.process.lines().split_off(before);
        let said = lines.iter().filter(|line| line.contains("the queue could not be read")).count();
        assert!((2.0..=tries).contains(&(said as f64)), "{said} lines for {tries} tries of {fault:?}:\n{lines:#?}");
        assert_eq!(said, lines.len(), "each line is about a try:\n{lines:#?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_starts_before_its_queue_exists_waits_for_it_quietly() {
    let aws = Aws::start();
    let service = consumer(&aws).listening().await;
    aws.wait_until("two looks at the parameters", |aws| aws.count(Op::GetParameters) >= 2).await;
    assert!(!service.is_ready().await);
    aws.provision("acme");
    service.until_ready().await;
    let events = put_many(&aws, 3);
    drained(&aws, &events).await;
    assert!(service.process.lines().len() <= 30, "{}", service.process.story());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_queue_is_drained_without_a_restart() {
    let aws = acme(10);
    let _service = consumer(&aws).start().await;
    put(&aws, "before", "1");
    aws.wait_until("the first record", |aws| aws.row_count(super::TABLE) == 1).await;
    let arn = aws.create_queue(QueueSpec::named("consumer-acme-2").redrive(DEAD, 3));
    aws.set_parameter("/acme/consumer_sqs", &arn);
    aws.put_message("consumer-acme-2", "2", &[("tenant_id", "acme"), ("message_id", "after")]);
    aws.delete_queue(QUEUE);
    aws.wait_until("the second record", |aws| aws.row_count(super::TABLE) == 2).await;
    aws.wait_until("its deletion", |aws| aws.queue("consumer-acme-2").is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_message_twice_in_one_receive_is_one_record_and_leaves_the_queue() {
    let aws = acme(10);
    let events = put_many(&aws, 4);
    aws.on(Op::ReceiveMessage).times(2).fail(Fault::Duplicates);
    let _service = consumer(&aws).start().await;
    drained(&aws, &events).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_answers_empty_without_waiting_is_not_polled_without_pause() {
    let aws = acme(10);
    let rule = aws.on(Op::ReceiveMessage).answer("{}");
    let _service = consumer(&aws).start().await;
    aws.wait_until("a poll", |_| rule.hits() >= 1).await;
    let calls = aws.count(Op::ReceiveMessage);
    aws.holds_within(Duration::from_secs(5), |_| false).await;
    let calls = aws.count(Op::ReceiveMessage) - calls;
    // One every half a second; without a pause it would be thousands.
    assert!((2..=40).contains(&calls), "{calls} calls in 5 s");
    rule.lift();
    let events = put_many(&aws, 3);
    drained(&aws, &events).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_whose_answer_is_lost_and_a_consumer_that_is_killed_use_up_a_receive_each() {
    // The third receive is allowed, or it is one too many.
    each(vec![(3, 1), (2, 0)], |(receives, stored)| async move {
        let aws = acme(receives);
        put_many(&aws, 1);
        aws.on(Op::ReceiveMessage).nth(1).fail(Fault::CutAfter(Cut::Reset));
        let writes = aws.on(Op::BatchWriteItem).fail(Fault::Stall);
        // Half of it is longer than the poll of a consumer that is killed goes on, which would take it once more.
        let killed = consumer(&aws).set("VISIBILITY_TIMEOUT", "15s").start().await;
        aws.wait_until("the message to be written", |_| writes.hits() >= 1).await;
        assert_eq!(aws.messages(QUEUE)[0].receives, 2, "once for nobody, once for the one who writes it");
        drop(killed);
        writes.lift();
        let _next = consumer(&aws).start().await;
        aws.wait_until("the end of the message", |aws| aws.queue(QUEUE).is_empty()).await;
        assert_eq!((aws.row_count(super::TABLE), aws.queue(DEAD).len()), (stored, 1 - stored));
    })
    .await;
}
