//! Every call that the consumer makes, with every fault that it can meet.

use std::time::Duration;

use tests::matrix::each;
use tests::scripted::{Fault, Op};

use super::{acme, assert_nothing_lost, consumer, drained, put_many, stored};

fn calls_and_faults() -> Vec<(Op, Fault)> {
    [Op::ReceiveMessage, Op::BatchWriteItem, Op::DeleteMessageBatch]
        .into_iter()
        .flat_map(|op| Fault::each_of(op).into_iter().map(move |fault| (op, fault)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_fault_of_any_call_loses_nothing_and_stores_everything_once() {
    each(calls_and_faults(), |(op, fault)| async move {
        let aws = acme(10);
        let events = put_many(&aws, 25);
        aws.on(op).nth(1).fail(fault);
        let _service = consumer(&aws).start().await;
        drained(&aws, &events).await;
        let (receives, writes) = (aws.count(Op::ReceiveMessage), aws.count(Op::BatchWriteItem));
        assert!(writes <= 20 && receives <= 80, "{writes} writes and {receives} receives for 25 messages");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_fails_for_seconds_deletes_nothing_unwritten_and_makes_no_dead_letter() {
    each(calls_and_faults(), |(op, fault)| async move {
        // A poll whose answer is lost has used up a receive of its messages: those are AWS's to give up.
        let uses_up = op == Op::ReceiveMessage && fault.loses_a_receive();
        let aws = acme(if uses_up { 100 } else { 10 });
        let events = put_many(&aws, 25);
        let rule = aws.on(op).fail(fault.clone());
        let service = consumer(&aws).set("VISIBILITY_TIMEOUT", "3s").start().await;
        aws.wait_until("two calls that fail", |_| rule.hits() >= 2).await;
        // An outage longer than the visibility timeout.
        let calls_before = aws.count(op);
        aws.holds_within(Duration::from_secs(4), |aws| {
            assert_nothing_lost(aws, &events);
            false
        })
        .await;
        let calls = aws.count(op) - calls_before;
        assert!(calls <= 80, "{calls} calls in 4 s of outage");
        rule.lift();
        drained(&aws, &events).await;
        let lines = service.process.lines().len();
        assert!(lines <= 400, "{lines} lines of log");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_fault_of_the_first_read_of_parameters_delays_draining_and_no_more() {
    each(Fault::each_of(Op::GetParameters), |fault| async move {
        let aws = acme(10);
        let events = put_many(&aws, 5);
        aws.on(Op::GetParameters).nth(1).fail(fault);
        let _service = consumer(&aws).start().await;
        drained(&aws, &events).await;
        let reads = aws.count(Op::GetParameters) + aws.count(Op::GetParameter);
        assert!(reads <= 4, "{reads} reads");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_role_that_reads_parameters_one_by_one_any_fault_of_it_delays_draining_and_no_more() {
    each(Fault::each_of(Op::GetParameter), |fault| async move {
        let aws = acme(10);
        let events = put_many(&aws, 5);
        aws.on(Op::GetParameters).fail(Fault::AccessDenied);
        aws.on(Op::GetParameter).nth(1).fail(fault);
        let _service = consumer(&aws).start().await;
        drained(&aws, &events).await;
        let reads = aws.count(Op::GetParameter);
        assert!(reads <= 8, "{reads} reads");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_role_that_has_only_put_item_any_fault_of_it_loses_nothing() {
    let mut faults = Fault::each_of(Op::PutItem);
    // An empty object is all that success says. Nothing at all, or an error's name, is no success.
    let named = r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"scripted"}"#;
    faults.extend([(200, ""), (204, ""), (200, named)].map(|(status, body)| Fault::Reply(status, body.to_owned())));
    each(faults, |fault| async move {
        let aws = acme(10);
        let events = put_many(&aws, 12);
        aws.on(Op::BatchWriteItem).fail(Fault::AccessDenied);
        aws.on(Op::PutItem).nth(1).fail(fault);
        let service = consumer(&aws).start().await;
        drained(&aws, &events).await;
        assert_eq!(stored(&aws).len(), 12);
        let falls_back = |line: &str| line.contains("BatchWriteItem") && line.contains("PutItem");
        // The records may be there before the line has come through the pipe.
        service.process.line("that it falls back", falls_back).await;
        let said = service.process.lines().iter().filter(|line| falls_back(line)).count();
        assert_eq!(said, 1, "it says once that it falls back:\n{}", service.process.story());
    })
    .await;
}
