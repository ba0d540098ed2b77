//! Writing: partial results, outages, keys that meet, values that must not change.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tests::matrix::each;
use tests::scripted::{Chaos, Fault, Op, Which};

use super::{DEAD, QUEUE, TABLE, acme, consumer, drained, put, put_many, stored};

#[tokio::test(flavor = "multi_thread")]
async fn unprocessed_items_are_written_before_their_messages_are_deleted() {
    let aws = acme(10);
    let events = put_many(&aws, 10);
    aws.on(Op::BatchWriteItem).nth(1).fail(Fault::Unprocessed(Which::First(2)));
    // A call may take 4 s then: one that is answered late would go out again.
    let _service = consumer(&aws).set("VISIBILITY_TIMEOUT", "30s").start().await;
    drained(&aws, &events).await;
    let writes = aws.calls(Op::BatchWriteItem);
    let written: usize = writes.iter().map(|call| call.entries().len()).sum();
    assert_eq!(written, 12, "the two unprocessed items go out again, and nothing else");
    let left: BTreeSet<String> = writes[0].entries()[..2]
        .iter()
        .map(|entry| entry["PutRequest"]["Item"]["message_id"]["S"].as_str().unwrap_or_default().to_owned())
        .collect();
    let again = writes[1..].iter().find(|call| {
        let ids: BTreeSet<String> = call
            .entries()
            .iter()
            .map(|entry| entry["PutRequest"]["Item"]["message_id"]["S"].as_str().unwrap_or_default().to_owned())
            .collect();
        left.is_subset(&ids)
    });
    let again = again.expect("a second write of the two");
    // Ten messages came in one receive; those of the two are deleted after the second write was answered.
    let last_delete = aws.calls(Op::DeleteMessageBatch).last().map(|call| call.arrived);
    assert!(last_delete > again.ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_messages_of_one_id_are_one_record_and_both_leave_the_queue() {
    let aws = acme(10);
    put(&aws, "same", "{\"v\":1}");
    put(&aws, "same", "{\"v\":2}");
    let _service = consumer(&aws).start().await;
    aws.wait_until("both to be deleted", |aws| aws.queue(QUEUE).is_empty()).await;
    let stored = stored(&aws);
    assert_eq!(stored.keys().collect::<Vec<_>>(), ["same"]);
    assert!(["{\"v\":1}", "{\"v\":2}"].contains(&stored["same"].as_str()));
    assert!(aws.queue(DEAD).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_messages_go_out_in_batches_of_at_most_twenty_five_distinct_keys() {
    let aws = acme(10);
    let events = put_many(&aws, 30);
    for n in 0..30 {
        put(&aws, &format!("m-{n:04}"), &format!("{{\"n\":{n}}}"));
    }
    let _service = consumer(&aws).start().await;
    drained(&aws, &events).await;
    assert!(aws.calls(Op::BatchWriteItem).iter().all(|call| (1..=25).contains(&call.entries().len())));
    assert!(aws.calls(Op::DeleteMessageBatch).iter().all(|call| (1..=10).contains(&call.entries().len())));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_stored_as_they_were_sent() {
    let bodies = [
        "{\"note\":\"\"}",
        "12345678901234567890123456789012345678901",
        "0.1",
        "1e400",
        "[0.10, 1E5, -0]",
        "\"\\ud83d\"",
        "{'python': 'dict', 'n': None}",
        " { \"spaces\" : 1 } ",
        "\u{1F600}\u{10FFFF}é\t\r\n",
    ];
    let aws = acme(10);
    let events: BTreeMap<String, String> =
        bodies.iter().enumerate().map(|(n, body)| (format!("m-{n}"), (*body).to_owned())).collect();
    for (id, body) in &events {
        put(&aws, id, body);
    }
    let _service = consumer(&aws).start().await;
    drained(&aws, &events).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_has_the_attributes_that_its_message_has_and_no_empty_ones() {
    let aws = acme(10);
    aws.put_message(QUEUE, "{}", &[("tenant_id", "acme"), ("message_id", "m-1")]);
    let _service = consumer(&aws).start().await;
    aws.wait_until("the record", |aws| aws.row_count(TABLE) == 1 && aws.queue(QUEUE).is_empty()).await;
    let row = aws.rows(TABLE)[0].clone();
    assert!(row.attributes.values().all(|value| !value.is_empty()), "{row:?}");
    assert!(!row.attributes.contains_key("tier") && !row.attributes.contains_key("producer_environment"), "{row:?}");
    assert_eq!((row.get("tenant_id"), row.get("consumer_environment"), row.get("body")), ("acme", "acme", "{}"));
    let (timestamp, sent_at) = (row.get("timestamp"), row.get("sent_at"));
    assert!(timestamp.len() == 24 && timestamp.ends_with("+0000"), "{timestamp}");
    assert!(sent_at.len() == 24 && sent_at.ends_with('Z'), "{sent_at}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_slower_than_the_visibility_timeout_gets_each_row_once() {
    let aws = acme(20);
    let events = put_many(&aws, 5);
    aws.on(Op::BatchWriteItem).times(2).fail(Fault::Late(Duration::from_secs(3)));
    let _service = consumer(&aws).set("VISIBILITY_TIMEOUT", "2s").start().await;
    drained(&aws, &events).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_comes_again_while_it_is_written_is_deleted_by_its_latest_handle() {
    let aws = acme(20);
    let events = put_many(&aws, 1);
    // Nothing is extended, so that the message comes a second time while it is being written, which lasts as long as
    // the test likes: the first try is given up after 1.5 s, the next ones after 3 s and 6 s.
    aws.on(Op::ChangeMessageVisibilityBatch).fail(Fault::AccessDenied);
    let writes = aws.on(Op::BatchWriteItem).fail(Fault::StallAfterWork);
    let _service = consumer(&aws).set("VISIBILITY_TIMEOUT", "3s").start().await;
    aws.wait_until("a second receive of the message", |aws| aws.messages(QUEUE)[0].receives >= 2).await;
    assert_eq!(aws.count(Op::DeleteMessageBatch), 0, "it was received again while it was written");
    writes.lift();
    drained(&aws, &events).await;
    // A handle ends with the number of its receive.
    let entries = aws.calls(Op::DeleteMessageBatch).into_iter().flat_map(|call| call.entries());
    let deleted: Vec<String> =
        entries.map(|entry| entry["ReceiptHandle"].as_str().unwrap_or_default().to_owned()).collect();
    assert!(!deleted.is_empty(), "it was deleted");
    assert!(deleted.iter().all(|handle| !handle.ends_with("00000001")), "the first is outdated: {deleted:?}");
    assert_eq!(aws.row_count(TABLE), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_down_for_several_visibility_timeouts_costs_no_message() {
    each(vec![Fault::Unavailable, Fault::Throttled, Fault::Gone, Fault::AccessDenied], |fault| async move {
        let aws = acme(10);
        let events = put_many(&aws, 40);
        let rules = [aws.on(Op::BatchWriteItem).fail(fault.clone()), aws.on(Op::PutItem).fail(fault.clone())];
        let _service = consumer(&aws).set("VISIBILITY_TIMEOUT", "4s").start().await;
        aws.wait_until("a write that fails", |_| rules[0].hits() >= 1).await;
        aws.holds_within(Duration::from_secs(16), |aws| {
            assert_eq!(aws.queue(QUEUE).len(), 40, "{fault:?}: a message left the queue");
            false
        })
        .await;
        assert_eq!((aws.row_count(TABLE), aws.count(Op::DeleteMessageBatch)), (0, 0));
        let most = aws.messages(QUEUE).iter().map(|message| message.receives).max();
        // One each, and one more where a machine was too busy to extend in time; four or five if nothing was done.
        assert!(most < Some(4), "{fault:?}: receives were used up: {most:?}");
        rules.iter().for_each(tests::scripted::Scripted::lift);
        drained(&aws, &events).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_messages_with_a_third_of_writes_throttled_are_two_hundred_rows() {
    let aws = acme(10);
    let events = put_many(&aws, 200);
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    aws.chaos(Some(Chaos::seeded(seed).with(Op::BatchWriteItem, Fault::Throttled, 0.3).with(
        Op::BatchWriteItem,
        Fault::Unprocessed(Which::First(5)),
        0.3,
    )));
    let _service = consumer(&aws).start().await;
    drained(&aws, &events).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_partial_result_is_not_multiplied_by_retries_of_the_sdk() {
    let aws = acme(10);
    let events = put_many(&aws, 10);
    aws.on(Op::BatchWriteItem).nth(1).fail(Fault::Unprocessed(Which::All));
    // A call may take 4 s then: one that is answered late would go out again.
    let _service = consumer(&aws).set("VISIBILITY_TIMEOUT", "30s").start().await;
    drained(&aws, &events).await;
    assert_eq!(aws.count(Op::BatchWriteItem), 2);
}
