//! Queues behave as SQS's standard queues do.

use std::time::{Duration, Instant};

use aws_sdk_sqs::types::{MessageAttributeValue, MessageSystemAttributeName, SendMessageBatchRequestEntry};
use tests::scripted::{Aws, Op, QueueSpec};

use super::sqs;

fn text(value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type("String").string_value(value).build().unwrap()
}

#[tokio::test]
async fn what_is_sent_is_received_with_its_attributes_and_digests() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    let (client, url) = (sqs(&aws).await, aws.queue_url("q"));
    let sent = client
        .send_message()
        .queue_url(&url)
        .message_body("{\"a\":\"\\u00e9 \u{1F600}\"}")
        .message_attributes("tenant_id", text("acme"))
        .message_attributes("message_id", text("m-1"))
        .message_group_id("acme")
        .send()
        .await
        .unwrap();
    let received = client
        .receive_message()
        .queue_url(&url)
        .message_attribute_names("All")
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .send()
        .await
        .unwrap();
    let message = &received.messages()[0];
    assert_eq!(message.body(), Some("{\"a\":\"\\u00e9 \u{1F600}\"}"));
    assert_eq!(message.message_id(), sent.message_id());
    assert_eq!(message.md5_of_body(), sent.md5_of_message_body());
    assert_eq!(message.md5_of_message_attributes(), sent.md5_of_message_attributes());
    assert_eq!(message.message_attributes().unwrap()["tenant_id"].string_value(), Some("acme"));
    let system = message.attributes().unwrap();
    assert_eq!(system[&MessageSystemAttributeName::ApproximateReceiveCount], "1");
    assert_eq!(system[&MessageSystemAttributeName::MessageGroupId], "acme");
    assert!(system[&MessageSystemAttributeName::SentTimestamp].parse::<u64>().unwrap() > 1_700_000_000_000);
    assert_eq!((aws.queue("q").visible, aws.queue("q").in_flight), (0, 1));
}

#[tokio::test]
async fn a_receive_shows_only_the_attributes_it_asks_for() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    aws.put_message("q", "body", &[("tenant_id", "acme"), ("other", "x")]);
    let (client, url) = (sqs(&aws).await, aws.queue_url("q"));
    let receive = client.receive_message().queue_url(&url).visibility_timeout(0);
    let none = receive.clone().send().await.unwrap();
    assert_eq!(none.messages()[0].message_attributes().map_or(0, std::collections::HashMap::len), 0);
    assert_eq!(none.messages()[0].attributes().map_or(0, std::collections::HashMap::len), 0);
    let one = receive.message_attribute_names("tenant_id").send().await.unwrap();
    let attributes = one.messages()[0].message_attributes().unwrap();
    assert_eq!(attributes.keys().collect::<Vec<_>>(), ["tenant_id"]);
}

#[tokio::test]
async fn a_long_poll_wakes_when_a_message_arrives() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    let (client, url) = (sqs(&aws).await, aws.queue_url("q"));
    let poll = tokio::spawn(client.receive_message().queue_url(&url).wait_time_seconds(20).send());
    aws.wait_until("the poll", |aws| aws.count(Op::ReceiveMessage) == 1).await;
    let start = Instant::now();
    client.send_message().queue_url(&url).message_body("late").send().await.unwrap();
    let received = poll.await.unwrap().unwrap();
    assert_eq!(received.messages()[0].body(), Some("late"));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[tokio::test]
async fn an_empty_poll_ends_after_its_wait() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    let start = Instant::now();
    let received =
        sqs(&aws).await.receive_message().queue_url(aws.queue_url("q")).wait_time_seconds(1).send().await.unwrap();
    assert_eq!(received.messages().len(), 0);
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn what_is_not_deleted_comes_again_and_at_last_goes_to_the_dead_letter_queue() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("dead"));
    aws.create_queue(QueueSpec::named("q").redrive("dead", 2).visibility(Duration::from_secs(1)));
    aws.put_message("q", "poison", &[]);
    let (client, url) = (sqs(&aws).await, aws.queue_url("q"));
    let receive = client
        .receive_message()
        .queue_url(&url)
        .wait_time_seconds(5)
        .message_system_attribute_names(MessageSystemAttributeName::All);
    for receives in ["1", "2"] {
        let received = receive.clone().send().await.unwrap();
        let count = &received.messages()[0].attributes().unwrap()[&MessageSystemAttributeName::ApproximateReceiveCount];
        assert_eq!(count, receives);
    }
    assert_eq!(receive.wait_time_seconds(2).send().await.unwrap().messages().len(), 0);
    assert_eq!(aws.messages("dead")[0].body, "poison");
    assert!(aws.queue("q").is_empty());
}

#[tokio::test]
async fn only_the_handle_of_the_latest_receive_deletes() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    aws.put_message("q", "again", &[]);
    let (client, url) = (sqs(&aws).await, aws.queue_url("q"));
    let receive = client.receive_message().queue_url(&url).visibility_timeout(0);
    let first = receive.clone().send().await.unwrap().messages()[0].receipt_handle().unwrap().to_owned();
    let second = receive.send().await.unwrap().messages()[0].receipt_handle().unwrap().to_owned();
    client.delete_message().queue_url(&url).receipt_handle(first).send().await.unwrap();
    assert_eq!(aws.queue("q").len(), 1);
    client.delete_message().queue_url(&url).receipt_handle(second).send().await.unwrap();
    assert_eq!(aws.queue("q").len(), 0);
    let error =
        client.delete_message().queue_url(&url).receipt_handle("none").send().await.unwrap_err().into_service_error();
    assert!(error.is_receipt_handle_is_invalid(), "{error:?}");
}

#[tokio::test]
async fn a_changed_visibility_hides_for_longer_or_hands_back_at_once() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    aws.put_message("q", "x", &[]);
    let (client, url) = (sqs(&aws).await, aws.queue_url("q"));
    let received = client.receive_message().queue_url(&url).visibility_timeout(1).send().await.unwrap();
    let handle = received.messages()[0].receipt_handle().unwrap();
    let change = client.change_message_visibility().queue_url(&url).receipt_handle(handle);
    change.clone().visibility_timeout(60).send().await.unwrap();
    assert!(!aws.holds_within(Duration::from_millis(1_500), |aws| aws.queue("q").visible == 1).await, "extended");
    change.clone().visibility_timeout(0).send().await.unwrap();
    assert_eq!(aws.queue("q").visible, 1);
    let error = change.visibility_timeout(5).send().await.unwrap_err().into_service_error();
    assert!(error.is_message_not_inflight(), "{error:?}");
}

#[tokio::test]
async fn a_batch_is_answered_entry_by_entry() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    let entry =
        |id: &str, body: &str| SendMessageBatchRequestEntry::builder().id(id).message_body(body).build().unwrap();
    let sent = sqs(&aws)
        .await
        .send_message_batch()
        .queue_url(aws.queue_url("q"))
        .entries(entry("0", "good"))
        .entries(entry("1", "bad\u{1}"))
        .send()
        .await
        .unwrap();
    assert_eq!((sent.successful().len(), sent.successful()[0].id()), (1, "0"));
    let failed = &sent.failed()[0];
    assert_eq!((failed.id(), failed.code(), failed.sender_fault()), ("1", "InvalidMessageContents", true));
    assert_eq!(aws.take_violations()[0].code, "InvalidMessageContents");
    assert_eq!(aws.queue("q").len(), 1);
}

#[tokio::test]
async fn a_poll_whose_client_has_gone_hides_what_arrives() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q").visibility(Duration::from_secs(1)));
    let (client, url) = (sqs(&aws).await, aws.queue_url("q"));
    let poll = tokio::spawn(client.receive_message().queue_url(&url).wait_time_seconds(20).send());
    aws.wait_until("the poll", |aws| aws.count(Op::ReceiveMessage) == 1).await;
    poll.abort();
    aws.wait_until("the end of the connection", |aws| aws.open_connections() == 0).await;
    client.send_message().queue_url(&url).message_body("x").send().await.unwrap();
    aws.wait_until("the dead poll to take it", |aws| aws.messages("q")[0].receives == 1).await;
    aws.wait_until("the end of its visibility timeout", |aws| aws.queue("q").visible == 1).await;
}

#[tokio::test]
async fn a_queue_that_is_gone_is_told_in_both_spellings() {
    let aws = Aws::start();
    let error =
        sqs(&aws).await.send_message().queue_url(aws.queue_url("none")).message_body("x").send().await.unwrap_err();
    assert!(error.into_service_error().is_queue_does_not_exist());
}
