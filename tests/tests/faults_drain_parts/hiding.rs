//! Calls that only ease things: extending, isolating, reading records. Their faults cost no message and no neighbour.

use std::time::Duration;

use tests::matrix::{assert_honest, assert_in_time, each};
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
        let _service = consumer(&aws).start().await;
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

#[tokio::test(flavor = "multi_thread")]
async fn records_are_read_as_they_are_or_the_answer_is_503() {
    each(Fault::each_of(Op::Query), |fault| async move {
        let aws = acme(10);
        let events = put_many(&aws, 3);
        let service = consumer(&aws).set("RECORD_READS", "on").start().await;
        drained(&aws, &events).await;
        let url = format!("{}/consumer/messages?limit=2", service.url);
        let rule = aws.on(Op::Query).nth(1).fail(fault.clone());
        let answer = service.http.get(&url, &[("tenantID", "acme")]).await;
        assert_in_time(&answer, Duration::from_secs(10));
        // An empty object is a page without items, and nobody can see that it is not true.
        if answer.status == 200 && !matches!(fault, Fault::Reply(..)) {
            assert_eq!(ids(&answer.json()), ["m-0002", "m-0001"]);
        } else if answer.status != 200 {
            assert_eq!(answer.status, 503, "{}", answer.text());
            assert_honest(&answer);
        }
        assert_eq!(rule.hits(), 1);
        let answer = service.http.get(&url, &[("tenantID", "acme")]).await;
        assert_eq!(ids(&answer.json()), ["m-0002", "m-0001"]);
    })
    .await;
}

fn ids(page: &serde_json::Value) -> Vec<String> {
    let records = page
        .as_object()
        .and_then(|page| page.values().find_map(serde_json::Value::as_array))
        .cloned()
        .unwrap_or_default();
    records.iter().map(|record| record["message_id"].as_str().unwrap_or_default().to_owned()).collect()
}
