//! Deleting: entries that fail, handles that are no good.

use tests::scripted::{Fault, Op, Which};

use super::{QUEUE, TABLE, acme, consumer, drained, put_many, stored};

#[tokio::test(flavor = "multi_thread")]
async fn entries_that_fail_without_our_fault_are_sent_again_alone() {
    let aws = acme(10);
    let events = put_many(&aws, 10);
    aws.on(Op::DeleteMessageBatch).nth(1).fail(Fault::FailEntries {
        which: Which::At(vec![3, 7]),
        code: "InternalError",
        sender_fault: false,
    });
    // A call may take 4 s then: one that is answered late would go out again.
    let _service = consumer(&aws).set("VISIBILITY_TIMEOUT", "30s").start().await;
    drained(&aws, &events).await;
    let deletes = aws.calls(Op::DeleteMessageBatch);
    let failed: Vec<String> = [3, 7].iter().map(|&at| deletes[0].entries()[at]["ReceiptHandle"].to_string()).collect();
    let again: Vec<String> =
        deletes[1..].iter().flat_map(|call| call.entries()).map(|entry| entry["ReceiptHandle"].to_string()).collect();
    assert_eq!(again, failed, "those two again, and nothing else");
    assert_eq!(aws.rows(TABLE).iter().map(|row| row.writes).max(), Some(1), "nothing had to come again");
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_that_fail_for_ever_are_tried_three_more_times_and_left_to_redelivery() {
    let aws = acme(100);
    let events = put_many(&aws, 1);
    let rule = aws.on(Op::DeleteMessageBatch).fail(Fault::FailEntries {
        which: Which::All,
        code: "InternalError",
        sender_fault: false,
    });
    let service = consumer(&aws).set("VISIBILITY_TIMEOUT", "10s").start().await;
    aws.wait_until("the message to be visible again", |aws| {
        aws.count(Op::DeleteMessageBatch) >= 1 && aws.messages(QUEUE)[0].receives >= 2
    })
    .await;
    let calls = aws.calls(Op::DeleteMessageBatch);
    let first = calls[0].entries()[0]["ReceiptHandle"].clone();
    let tries = calls.iter().filter(|call| call.entries()[0]["ReceiptHandle"] == first).count();
    assert!((2..=4).contains(&tries), "{tries} tries of one handle");
    service.process.line("that it failed", |line| line.contains("\"WARN\"") || line.contains("\"ERROR\"")).await;
    rule.lift();
    drained(&aws, &events).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_that_is_no_good_is_logged_as_an_error_and_the_loop_goes_on() {
    let entry = Fault::FailEntries { which: Which::All, code: "ReceiptHandleIsInvalid", sender_fault: true };
    for fault in [Fault::InvalidHandle, entry] {
        let aws = acme(10);
        let events = put_many(&aws, 1);
        let rule = aws.on(Op::DeleteMessageBatch).nth(1).fail(fault.clone());
        let service = consumer(&aws).start().await;
        aws.wait_until("the delete that fails", |_| rule.hits() == 1).await;
        service.process.line("an error", |line| line.contains("\"level\":\"ERROR\"")).await;
        drained(&aws, &events).await;
        assert_eq!(stored(&aws).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_handle_that_is_no_good_does_not_keep_its_neighbours_from_being_deleted() {
    let aws = acme(10);
    let events = put_many(&aws, 9);
    // SQS refuses the whole call for as long as this handle is in it.
    let bad = aws.messages(QUEUE)[4].id.clone();
    let slot = "00000004";
    assert!(bad.starts_with("00000005"), "messages are numbered: {bad}");
    let rule = aws
        .on(Op::DeleteMessageBatch)
        .when(move |asked| String::from_utf8_lossy(asked.body).contains(&format!("AQEB00000001{slot}")))
        .fail(Fault::InvalidHandle);
    let _service = consumer(&aws).set("VISIBILITY_TIMEOUT", "20s").start().await;
    aws.wait_until("eight of nine to be deleted", |aws| aws.queue(QUEUE).len() == 1).await;
    assert_eq!(aws.messages(QUEUE)[0].id, bad);
    assert_eq!(aws.messages(QUEUE)[0].receives, 1, "they were deleted on their first receive");
    rule.lift();
    drained(&aws, &events).await;
}
