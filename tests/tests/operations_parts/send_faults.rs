//! `consumer redrive send` while AWS misbehaves: no letter is lost, none becomes two records.

use std::collections::BTreeSet;

use tests::matrix::each;
use tests::scripted::{Cut, Fault, Op, Which};
use tests::service::{Kind, Launch};

use super::{DEAD, QUEUE, acme, consumer, keys, letters};

const SEND: &[&str] = &["redrive", "send", "--rate", "10000/s"];

fn failed_first(sender_fault: bool) -> Fault {
    let code = if sender_fault { "InvalidMessageContents" } else { "InternalError" };
    Fault::FailEntries { which: Which::First(1), code, sender_fault }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_sqs_refuses_stays_a_dead_letter_alone() {
    let aws = acme();
    letters(&aws, 10);
    aws.on(Op::SendMessageBatch).nth(1).fail(failed_first(true));
    let ended = consumer(&aws, "acme", SEND).await;
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.out.contains("sent 9 to ") && ended.out.contains("1 failed and stay in the dead-letter queue"),
        "{}",
        ended.out
    );
    assert!(ended.err.contains("not sent, InvalidMessageContents: This entry failed."), "{}", ended.err);
    assert_eq!((keys(&aws, DEAD), aws.queue(DEAD).visible), (vec!["m-000".to_owned()], 1));
    assert_eq!(aws.queue(QUEUE).len(), 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_pass_is_tried_again_until_all_is_sent() {
    let faults = [
        failed_first(false),
        Fault::Throttled,
        Fault::ThrottledOtherwise,
        Fault::Unavailable,
        Fault::Page(503),
        Fault::CutBefore(Cut::Reset),
        Fault::CutBefore(Cut::Close),
    ];
    each(faults.map(|fault| (Op::SendMessageBatch, fault)).to_vec(), |(op, fault): (Op, Fault)| async move {
        let aws = acme();
        letters(&aws, 10);
        aws.on(op).times(2).fail(fault.clone());
        let ended = consumer(&aws, "acme", SEND).await;
        assert_eq!(ended.code, Some(0), "{fault:?}: {}{}", ended.out, ended.err);
        assert_eq!((aws.queue(QUEUE).len(), aws.queue(DEAD).len()), (10, 0), "{fault:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_off_after_the_send_it_is_sent_twice_and_stored_once() {
    let faults = [
        (Op::SendMessageBatch, Fault::CutAfter(Cut::Reset)),
        (Op::SendMessageBatch, Fault::CutAfter(Cut::Close)),
        (Op::SendMessageBatch, Fault::ForgetEntries { which: Which::First(3), done: true }),
        (Op::SendMessageBatch, Fault::ReplyAfterWork(500, "not JSON".to_owned())),
        (Op::DeleteMessageBatch, Fault::CutBefore(Cut::Reset)),
        (Op::DeleteMessageBatch, Fault::CutAfter(Cut::Reset)),
        (Op::DeleteMessageBatch, failed_first(false)),
    ];
    each(faults.to_vec(), |(op, fault): (Op, Fault)| async move {
        let aws = acme();
        letters(&aws, 5);
        // A letter without a key of its own: only the key that it is given keeps the two apart from two records.
        aws.put_message(DEAD, "{}", &[("tenant_id", "acme")]);
        aws.on(op).nth(1).fail(fault.clone());
        let ended = consumer(&aws, "acme", SEND).await;
        assert_eq!(ended.code, Some(0), "{fault:?}: {}{}", ended.out, ended.err);
        assert!(aws.queue(DEAD).is_empty(), "{fault:?}");
        assert!(aws.queue(QUEUE).len() >= 6, "{fault:?}");
        let _service = Launch::new(Kind::Consumer, &aws, "acme").start().await;
        aws.wait_until("an empty queue", |aws| aws.queue(QUEUE).is_empty()).await;
        assert_eq!(aws.row_count("consumer-acme"), 6, "{op:?} {fault:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_and_not_deleted_is_said_and_sent_again_onto_the_same_record() {
    let aws = acme();
    letters(&aws, 4);
    let rule = aws.on(Op::DeleteMessageBatch).fail(failed_first(true));
    let ended = consumer(&aws, "acme", SEND).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("sent 4 to ") && ended.out.contains("1 sent but not deleted"), "{}", ended.out);
    rule.lift();
    assert_eq!((aws.queue(DEAD).visible, aws.queue(DEAD).in_flight), (1, 0));
    let ended = consumer(&aws, "acme", SEND).await;
    assert_eq!((ended.code, aws.queue(QUEUE).len()), (Some(0), 5), "{}", ended.out);
    let distinct: BTreeSet<String> = keys(&aws, QUEUE).into_iter().collect();
    assert_eq!(distinct.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_sqs_that_stays_away_ends_it_with_everything_where_it_was() {
    let aws = acme();
    letters(&aws, 10);
    aws.on(Op::SendMessageBatch).fail(Fault::Throttled);
    let ended = consumer(&aws, "acme", SEND).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.starts_with("sent 0 to ") && ended.out.contains("10 failed"), "{}", ended.out);
    let said =
        format!("consumer: {} takes no more calls: try again later, or with a lower --rate", aws.queue_arn(QUEUE));
    assert!(ended.err.contains(&said), "{}", ended.err);
    assert_eq!((aws.queue(DEAD).visible, aws.queue(DEAD).in_flight), (10, 0));
    assert!(aws.count(Op::SendMessageBatch) <= 10, "{}", aws.count(Op::SendMessageBatch));
}
