//! Calls that only ease things: extending, isolating, asking for the depth. Their faults cost no message and no neighbour.

use std::time::Duration;

use tests::matrix::each;
use tests::scripted::{Fault, Op};

use super::{DEAD, QUEUE, TABLE, acme, consumer, drained, put, put_many, stored};

#[tokio::test(flavor = "multi_thread")]
async fn any_fault_of_extending_costs_no_message_and_no_second_row() {
    each(Fault::each_of(Op::ChangeMessageVisibilityBatch), |fault| async move {
        let aws = acme(20);
        let events = put_many(&aws, 12);
        aws.on(Op::ChangeMessageVisibilityBatch).fail(fault);
        // Writes that take longer than half of the visibility timeout, so that there is something to extend.
        aws.on(Op::BatchWriteItem).times(2).fail(Fault::SlowAnswer(Duration::from_millis(1_800)));
        let _service = consumer(&aws).set("VISIBILITY_TIMEOUT", "3s").start().await;
        drained(&aws, &events).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_fault_of_isolating_a_bad_message_leaves_its_neighbours_alone_and_it_ends_as_a_dead_letter() {
    each(Fault::each_of(Op::ChangeMessageVisibilityBatch), |fault| async move {
        let aws = acme(1);
        put(&aws, "good-1", "1");
        aws.put_message(QUEUE, "no tenant", &[]);
        put(&aws, "good-2", "2");
        for op in [Op::ChangeMessageVisibility, Op::ChangeMessageVisibilityBatch] {
            aws.on(op).fail(fault.clone());
        }
        // The good ones, too, would be dead letters if they came a second time, and nothing is extended.
        let _service = consumer(&aws).set("VISIBILITY_TIMEOUT", "10s").start().await;
        aws.wait_until("the good ones and the dead letter", |aws| {
            aws.row_count(TABLE) == 2 && aws.queue(DEAD).len() == 1 && aws.queue(QUEUE).is_empty()
        })
        .await;
        assert_eq!(aws.messages(DEAD)[0].body, "no tenant");
        assert_eq!(stored(&aws).keys().collect::<Vec<_>>(), ["good-1", "good-2"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_fault_of_asking_for_the_depth_costs_no_message_and_no_restart() {
    each(Fault::each_of(Op::GetQueueAttributes), |fault| async move {
        let aws = acme(10);
        let rule = aws.on(Op::GetQueueAttributes).fail(fault);
        let service = consumer(&aws).set("QUEUE_DEPTH_INTERVAL", "1s").start().await;
        aws.wait_until("the depth to be asked for", |_| rule.hits() >= 1).await;
        let events = put_many(&aws, 12);
        drained(&aws, &events).await;
        assert!(service.is_ready().await);
        assert!(!service.process.story().contains("panicked"), "{}", service.process.story());
    })
    .await;
}
