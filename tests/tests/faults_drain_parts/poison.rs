//! Messages that cannot be stored: isolated, logged once per receive without their body, carried to the dead-letter queue.

use tests::scripted::Op;

use super::{DEAD, QUEUE, TABLE, acme, consumer, put, stored};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_a_tenant_does_not_hold_up_its_neighbours() {
    // Whatever comes a second time ends as a dead letter.
    let aws = acme(1);
    put(&aws, "good-1", "1");
    aws.put_message(QUEUE, "{\"secret\":\"no tenant\"}", &[("message_id", "bad")]);
    put(&aws, "good-2", "2");
    let service = consumer(&aws).set("VISIBILITY_TIMEOUT", "30s").start().await;
    aws.wait_until("the end of all", |aws| aws.queue(QUEUE).is_empty()).await;
    assert_eq!(stored(&aws).keys().collect::<Vec<_>>(), ["good-1", "good-2"], "stored on their first receive");
    assert_eq!(aws.queue(DEAD).len(), 1);
    assert_eq!(aws.messages(DEAD)[0].body, "{\"secret\":\"no tenant\"}");
    let id = aws.messages(DEAD)[0].id.clone();
    service.process.line("about the bad one", |line| line.contains(&id)).await;
    let about: Vec<String> = service.process.lines().into_iter().filter(|line| line.contains(&id)).collect();
    assert_eq!(about.len(), 1, "once per receive: {about:#?}");
    assert!(!service.process.lines().join("\n").contains("secret"), "its body is in the log");
    assert!(stored(&aws).len() == 2 && aws.queue(QUEUE).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_bad_messages_write_nothing_and_delete_nothing() {
    let aws = acme(1);
    for tenant in ["", "other", "ACME", "pool-1", "a b", "../acme", "acme/x", "awsome", "default", "-acme"] {
        let attributes: &[(&str, &str)] = if tenant.is_empty() { &[] } else { &[("tenant_id", tenant)] };
        aws.put_message(QUEUE, "{}", attributes);
    }
    let _service = consumer(&aws).start().await;
    aws.wait_until("ten dead letters", |aws| aws.queue(DEAD).len() == 10).await;
    assert_eq!((aws.count(Op::BatchWriteItem), aws.count(Op::DeleteMessageBatch), aws.row_count(TABLE)), (0, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_larger_than_an_item_is_isolated_and_a_strange_id_gives_way_to_the_queue_s() {
    let aws = acme(1);
    put(&aws, "large", &"x".repeat(409_600));
    let long = "i".repeat(1_025);
    put(&aws, &long, "long id");
    aws.put_raw_message(QUEUE, "number id", r#"{"tenant_id":{"DataType":"String","StringValue":"acme"},"message_id":{"DataType":"Number","StringValue":"7"}}"#);
    aws.put_message(QUEUE, "{'event': 'no id'}", &[("tenant_id", "acme")]);
    // Those that can be stored would be dead letters if they came a second time.
    let _service = consumer(&aws).set("VISIBILITY_TIMEOUT", "30s").start().await;
    aws.wait_until("three rows and a dead letter", |aws| aws.row_count(TABLE) == 3 && aws.queue(DEAD).len() == 1).await;
    aws.wait_until("an empty queue", |aws| aws.queue(QUEUE).is_empty()).await;
    assert_eq!(aws.messages(DEAD)[0].attributes["message_id"], "large");
    let bodies: Vec<String> = stored(&aws).into_values().collect();
    assert_eq!(bodies, ["long id", "number id", "{'event': 'no id'}"]);
    assert!(
        stored(&aws).keys().all(|id| id.ends_with(|c: char| c.is_ascii_digit()) && id.len() == 36),
        "{:?}",
        stored(&aws)
    );
}
