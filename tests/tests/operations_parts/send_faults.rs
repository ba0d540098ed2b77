//! `consumer redrive send` while AWS misbehaves: no letter is lost, none becomes two records.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tests::matrix::each;
use tests::scripted::{Cut, Fault, Op, Which};
use tests::service::{Kind, Launch};

use super::{DEAD, QUEUE, acme, consumer, keys, letters, started};

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

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_it_while_deletes_are_not_answered_and_says_what_is_sent_and_not_deleted() {
    let aws = acme();
    letters(&aws, 3);
    aws.on(Op::DeleteMessageBatch).fail(Fault::Stall);
    let running = started(&aws, SEND).await;
    aws.wait_until("a delete", |aws| aws.count(Op::DeleteMessageBatch) >= 1).await;
    running.signal("TERM").await;
    let signal = Instant::now();
    let ended = running.ended().await;
    assert!(signal.elapsed() < Duration::from_secs(15), "{:?}", signal.elapsed());
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("sent 3 to ") && ended.out.contains("3 sent but not deleted"), "{}", ended.out);
    assert!(ended.err.contains("sqs:DeleteMessage on ") && ended.err.contains("got no good answer"), "{}", ended.err);
    assert_eq!((aws.queue(QUEUE).len(), aws.queue(DEAD).visible), (3, 3), "they are handed back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_of_which_sqs_gives_out_a_part_is_never_sent_and_later_is_whole() {
    each(vec!["Body"], |part: &'static str| async move {
        let aws = acme();
        letters(&aws, 3);
        let before = aws.messages(DEAD);
        let rule = aws.on(Op::ReceiveMessage).fail(Fault::Without(part));
        let ended = consumer(&aws, "acme", &[SEND, &["--even-if-unstorable"]].concat()).await;
        assert_eq!(ended.code, Some(1), "{part}: {}", ended.out);
        let said = "3 not sent, since SQS gave out only a part of them: run it again in a minute";
        assert!(ended.out.starts_with("sent 0 to ") && ended.out.contains(said), "{part}: {}", ended.out);
        assert_eq!((aws.queue(QUEUE).len(), aws.queue(DEAD).visible), (0, 3), "{part}");
        rule.lift();
        assert_eq!(consumer(&aws, "acme", SEND).await.code, Some(0), "{part}");
        let mut sent = aws.messages(QUEUE);
        sent.sort_by_key(|message| message.attributes["message_id"].clone());
        for (letter, sent) in before.iter().zip(&sent) {
            assert_eq!((&letter.body, &letter.attributes), (&sent.body, &sent.attributes), "{part}");
        }
        assert_eq!((sent.len(), aws.queue(DEAD).len()), (3, 0), "{part}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_that_are_counted_and_do_not_come_make_it_incomplete() {
    let aws = acme();
    letters(&aws, 12);
    let rule = aws.on(Op::ReceiveMessage).answer("{}");
    let ended = consumer(&aws, "acme", SEND).await;
    assert_eq!(ended.code, Some(1));
    let said = format!("sent 0 to {}; 12 of 12 that SQS counted did not come", aws.queue_arn(QUEUE));
    assert!(ended.out.starts_with(&said), "{}", ended.out);
    rule.lift();
    assert_eq!((consumer(&aws, "acme", SEND).await.code, aws.queue(QUEUE).len()), (Some(0), 12));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_that_sqs_does_not_give_is_asked_for_again_and_not_taken_for_none() {
    let aws = acme();
    letters(&aws, 12);
    let rule = aws.on(Op::GetQueueAttributes).for_queue(DEAD).times(2).fail(Fault::Reply(200, "{}".to_owned()));
    let ended = consumer(&aws, "acme", SEND).await;
    assert_eq!((ended.code, aws.queue(QUEUE).len(), rule.hits()), (Some(0), 12, 2), "{}", ended.err);
}
