//! SQS as the SDK's client sees it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message, MessageAttributeValue,
    MessageSystemAttributeName, QueueAttributeName, SendMessageBatchRequestEntry,
};
use tenancy::aws::Clients;

use crate::aws::EmbeddedAws;
use crate::testing::{clients, embedded_aws};

struct Queue {
    aws: EmbeddedAws,
    clients: Clients,
    url: String,
}

impl Queue {
    async fn new() -> Self {
        Self::with(&[]).await
    }

    async fn with(attributes: &[(QueueAttributeName, &str)]) -> Self {
        let aws = embedded_aws().await;
        let clients = clients(&aws);
        let url = create(&clients, "orders", attributes).await;
        Self { aws, clients, url }
    }

    async fn send(&self, body: &str) {
        self.clients.sqs.send_message().queue_url(&self.url).message_body(body).send().await.unwrap();
    }

    /// What is there now, hidden for `visibility` seconds.
    async fn take(&self, visibility: i32) -> Vec<Message> {
        take(&self.clients, &self.url, visibility).await
    }

    async fn counts(&self) -> [String; 3] {
        let answer =
            self.clients.sqs.get_queue_attributes().queue_url(&self.url).attribute_names(QueueAttributeName::All);
        let all = answer.send().await.unwrap().attributes.unwrap();
        [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ]
        .map(|name| all[&name].clone())
    }
}

async fn create(clients: &Clients, name: &str, attributes: &[(QueueAttributeName, &str)]) -> String {
    let attributes: HashMap<_, _> =
        attributes.iter().map(|(name, value)| (name.clone(), (*value).to_owned())).collect();
    let request = clients.sqs.create_queue().queue_name(name).set_attributes(Some(attributes));
    request.send().await.unwrap().queue_url.unwrap()
}

async fn take(clients: &Clients, url: &str, visibility: i32) -> Vec<Message> {
    let request = clients.sqs_receive.receive_message().queue_url(url).max_number_of_messages(10);
    request.visibility_timeout(visibility).send().await.unwrap().messages.unwrap_or_default()
}

fn bodies(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.body.as_deref().unwrap()).collect()
}

#[tokio::test]
async fn a_queue_s_url_names_the_embedded_endpoint_and_its_arn_the_signed_region() {
    let queue = Queue::new().await;
    assert_eq!(queue.url, format!("{}/123456789012/orders", queue.aws.url()));
    let by_name = queue.clients.sqs.get_queue_url().queue_name("orders").send().await.unwrap();
    assert_eq!(by_name.queue_url.as_deref(), Some(queue.url.as_str()));
    let wanted =
        queue.clients.sqs.get_queue_attributes().queue_url(&queue.url).attribute_names(QueueAttributeName::QueueArn);
    let attributes = wanted.send().await.unwrap().attributes.unwrap();
    assert_eq!(
        attributes,
        [(QueueAttributeName::QueueArn, "arn:aws:sqs:eu-west-1:123456789012:orders".to_owned())].into()
    );
}

#[tokio::test]
async fn a_batch_is_received_with_its_attributes_and_deleted() {
    let queue = Queue::new().await;
    let text = |value: &str| MessageAttributeValue::builder().data_type("String").string_value(value).build().unwrap();
    let bytes =
        MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new(vec![0, 255])).build().unwrap();
    let entries = (0..10).map(|n| {
        let entry = SendMessageBatchRequestEntry::builder().id(n.to_string()).message_body(format!("event {n}"));
        entry.message_attributes("tenant_id", text("acme")).message_attributes("raw", bytes.clone()).build().unwrap()
    });
    let sent = queue.clients.sqs.send_message_batch().queue_url(&queue.url).set_entries(Some(entries.collect()));
    let sent = sent.send().await.unwrap();
    assert_eq!((sent.successful.len(), sent.failed.len()), (10, 0));
    assert_eq!(sent.successful[0].md5_of_message_body, "2bf382780511e0d692341ee8110f08a5");

    let request = queue.clients.sqs_receive.receive_message().queue_url(&queue.url).max_number_of_messages(10);
    let request =
        request.message_attribute_names("All").message_system_attribute_names(MessageSystemAttributeName::All);
    let messages = request.send().await.unwrap().messages.unwrap();
    assert_eq!(bodies(&messages), (0..10).map(|n| format!("event {n}")).collect::<Vec<_>>());
    assert_eq!(messages[0].message_id.as_deref(), Some(sent.successful[0].message_id.as_str()));
    let attributes = messages[0].message_attributes.as_ref().unwrap();
    assert_eq!(attributes["tenant_id"].string_value.as_deref(), Some("acme"));
    assert_eq!(attributes["raw"].binary_value.as_ref().unwrap().as_ref(), [0, 255]);
    let system = messages[0].attributes.as_ref().unwrap();
    assert_eq!(system[&MessageSystemAttributeName::ApproximateReceiveCount], "1");
    let sent_ms: i64 = system[&MessageSystemAttributeName::SentTimestamp].parse().unwrap();
    assert!((0..60_000).contains(&(super::now_ms() - sent_ms)), "{sent_ms}");
    assert_eq!(queue.counts().await, ["0", "10", "0"]);

    let entries = messages.iter().enumerate().map(|(n, message)| {
        let handle = message.receipt_handle.as_deref().unwrap();
        DeleteMessageBatchRequestEntry::builder().id(n.to_string()).receipt_handle(handle).build().unwrap()
    });
    let deleted = queue.clients.sqs.delete_message_batch().queue_url(&queue.url).set_entries(Some(entries.collect()));
    assert_eq!(deleted.send().await.unwrap().successful.len(), 10);
    assert_eq!(queue.counts().await, ["0", "0", "0"]);
}

#[tokio::test]
async fn attributes_that_were_not_asked_for_are_not_sent() {
    let queue = Queue::new().await;
    let value = MessageAttributeValue::builder().data_type("String").string_value("acme").build().unwrap();
    let send = queue.clients.sqs.send_message().queue_url(&queue.url).message_body("x");
    send.message_attributes("tenant_id", value.clone()).message_attributes("other", value).send().await.unwrap();
    let message = &queue.take(0).await[0];
    assert_eq!((&message.attributes, &message.message_attributes), (&None, &None));
    let one = queue.clients.sqs_receive.receive_message().queue_url(&queue.url).message_attribute_names("tenant_id");
    let messages = one.send().await.unwrap().messages.unwrap();
    assert_eq!(messages[0].message_attributes.as_ref().unwrap().keys().collect::<Vec<_>>(), ["tenant_id"]);
}

#[tokio::test]
async fn a_long_poll_ends_as_soon_as_a_message_arrives() {
    let queue = Queue::new().await;
    let poll = queue.clients.sqs_receive.receive_message().queue_url(&queue.url).wait_time_seconds(20).send();
    let started = Instant::now();
    let (answer, ()) = tokio::join!(poll, async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        queue.send("late").await;
    });
    assert_eq!(bodies(&answer.unwrap().messages.unwrap()), ["late"]);
    assert!((300..10_000).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
}

#[tokio::test]
async fn an_empty_long_poll_lasts_as_long_as_asked_and_then_has_no_messages() {
    let queue = Queue::new().await;
    let started = Instant::now();
    let answer = queue.clients.sqs_receive.receive_message().queue_url(&queue.url).wait_time_seconds(1).send().await;
    assert_eq!(answer.unwrap().messages, None);
    assert!((1_000..10_000).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_long_poll_brings_what_becomes_visible_again_meanwhile() {
    let queue = Queue::new().await;
    queue.send("again").await;
    assert_eq!(queue.take(1).await.len(), 1);
    assert_eq!(queue.take(1).await.len(), 0, "hidden");
    let started = Instant::now();
    let answer = queue.clients.sqs_receive.receive_message().queue_url(&queue.url).wait_time_seconds(20).send().await;
    assert_eq!(bodies(&answer.unwrap().messages.unwrap()), ["again"]);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[tokio::test]
async fn open_long_polls_end_empty_when_told_to_hurry() {
    let queue = Queue::new().await;
    let poll = queue.clients.sqs_receive.receive_message().queue_url(&queue.url).wait_time_seconds(20).send();
    let started = Instant::now();
    let (answer, ()) = tokio::join!(poll, async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        queue.aws.end_long_polls();
    });
    assert_eq!(answer.unwrap().messages, None);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_message_received_with_visibility_zero_is_visible_and_counted_so() {
    let queue = Queue::new().await;
    queue.send("peek").await;
    assert_eq!(bodies(&queue.take(0).await), ["peek"]);
    assert_eq!(queue.counts().await, ["1", "0", "0"]);
    assert_eq!(bodies(&queue.take(30).await), ["peek"]);
}

#[tokio::test]
async fn visibility_is_changed_alone_and_in_batches_and_one_bad_entry_fails_alone() {
    let queue = Queue::new().await;
    queue.send("a").await;
    queue.send("b").await;
    let messages = queue.take(30).await;
    let handles: Vec<&str> = messages.iter().map(|message| message.receipt_handle.as_deref().unwrap()).collect();
    let entry = |id: &str, handle: &str| {
        let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(id).receipt_handle(handle);
        entry.visibility_timeout(0).build().unwrap()
    };
    let change = queue.clients.sqs.change_message_visibility_batch().queue_url(&queue.url);
    let changed = change.entries(entry("good", handles[0])).entries(entry("bad", "nonsense")).send().await.unwrap();
    assert_eq!(changed.successful.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(changed.failed.len(), 1);
    assert_eq!((changed.failed[0].id.as_str(), changed.failed[0].code.as_str()), ("bad", "ReceiptHandleIsInvalid"));
    assert_eq!(queue.counts().await, ["1", "1", "0"]);

    let again = queue.take(30).await;
    assert_eq!(bodies(&again), ["a"]);
    let change = queue.clients.sqs.change_message_visibility().queue_url(&queue.url).visibility_timeout(0);
    let stale = change.clone().receipt_handle(handles[0]).send().await.unwrap_err();
    assert_eq!(stale.code(), Some("InvalidParameterValue"), "the message was received again since");
    change.receipt_handle(again[0].receipt_handle.as_deref().unwrap()).send().await.unwrap();
    assert_eq!(bodies(&queue.take(30).await), ["a"]);
}

#[tokio::test]
async fn a_stale_handle_deletes_nothing_and_the_latest_one_does() {
    let queue = Queue::new().await;
    queue.send("a").await;
    let first = queue.take(0).await;
    let second = queue.take(30).await;
    let delete = |message: &Message| {
        let handle = message.receipt_handle.as_deref().unwrap();
        queue.clients.sqs.delete_message().queue_url(&queue.url).receipt_handle(handle).send()
    };
    delete(&first[0]).await.unwrap();
    assert_eq!(queue.counts().await, ["0", "1", "0"]);
    delete(&second[0]).await.unwrap();
    delete(&second[0]).await.unwrap();
    assert_eq!(queue.counts().await, ["0", "0", "0"]);
}

#[tokio::test]
async fn a_message_received_too_often_moves_to_the_dead_letter_queue_and_wakes_who_waits_there() {
    let aws = embedded_aws().await;
    let clients = clients(&aws);
    let dead = create(&clients, "orders-dlq", &[]).await;
    let policy = r#"{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:123456789012:orders-dlq","maxReceiveCount":"2"}"#;
    let url = create(&clients, "orders", &[(QueueAttributeName::RedrivePolicy, policy)]).await;
    clients.sqs.send_message().queue_url(&url).message_body("poison").send().await.unwrap();
    assert_eq!(take(&clients, &url, 0).await.len(), 1);
    assert_eq!(take(&clients, &url, 0).await.len(), 1);
    let poll = clients.sqs_receive.receive_message().queue_url(&dead).wait_time_seconds(20);
    let poll = poll.message_system_attribute_names(MessageSystemAttributeName::DeadLetterQueueSourceArn).send();
    let (moved, received) = tokio::join!(poll, async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        take(&clients, &url, 0).await
    });
    assert_eq!(received, [], "the third receive finds nothing");
    let moved = moved.unwrap().messages.unwrap();
    assert_eq!(bodies(&moved), ["poison"]);
    let source = &moved[0].attributes.as_ref().unwrap()[&MessageSystemAttributeName::DeadLetterQueueSourceArn];
    assert_eq!(source, "arn:aws:sqs:eu-west-1:123456789012:orders");
}

#[tokio::test]
async fn a_redrive_policy_to_a_queue_that_does_not_exist_is_refused() {
    let queue = Queue::new().await;
    let policy = r#"{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:123456789012:nowhere","maxReceiveCount":2}"#;
    let set = queue.clients.sqs.set_queue_attributes().queue_url(&queue.url);
    let error = set.attributes(QueueAttributeName::RedrivePolicy, policy).send().await.unwrap_err();
    assert_eq!(error.code(), Some("InvalidParameterValue"));
    assert!(error.message().unwrap().ends_with("Dead letter target does not exist."), "{error:?}");
}

#[tokio::test]
async fn a_queue_that_does_not_exist_is_an_error_of_that_name_everywhere() {
    let aws = embedded_aws().await;
    let clients = clients(&aws);
    let url = format!("{}/123456789012/nowhere", aws.url());
    let send = clients.sqs.send_message().queue_url(&url).message_body("x").send().await.unwrap_err();
    assert!(send.into_service_error().is_queue_does_not_exist());
    let receive = clients.sqs_receive.receive_message().queue_url(&url).wait_time_seconds(20).send().await.unwrap_err();
    assert!(receive.into_service_error().is_queue_does_not_exist());
    let named = clients.sqs.get_queue_url().queue_name("nowhere").send().await.unwrap_err();
    assert!(named.into_service_error().is_queue_does_not_exist());
}

#[tokio::test]
async fn a_long_poll_on_a_queue_that_is_deleted_meanwhile_fails() {
    let queue = Queue::new().await;
    let poll = queue.clients.sqs_receive.receive_message().queue_url(&queue.url).wait_time_seconds(20).send();
    let (answer, ()) = tokio::join!(poll, async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        queue.clients.sqs.delete_queue().queue_url(&queue.url).send().await.unwrap();
    });
    assert!(answer.unwrap_err().into_service_error().is_queue_does_not_exist());
}

#[tokio::test]
async fn an_entry_that_aws_would_refuse_fails_alone() {
    let queue = Queue::with(&[(QueueAttributeName::MaximumMessageSize, "1024")]).await;
    let entry =
        |id: &str, body: String| SendMessageBatchRequestEntry::builder().id(id).message_body(body).build().unwrap();
    let send = queue.clients.sqs.send_message_batch().queue_url(&queue.url);
    let send = send.entries(entry("fits", "x".repeat(1024))).entries(entry("long", "x".repeat(1025)));
    let sent = send.entries(entry("odd", "\u{ffff}".to_owned())).send().await.unwrap();
    assert_eq!(sent.successful.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["fits"]);
    let failed: Vec<_> =
        sent.failed.iter().map(|entry| (entry.id.as_str(), entry.code.as_str(), entry.sender_fault)).collect();
    assert_eq!(failed, [("long", "InvalidParameterValue", true), ("odd", "InvalidMessageContents", true)]);
}

#[tokio::test]
async fn regions_do_not_see_each_other_s_queues() {
    let queue = Queue::new().await;
    let elsewhere = crate::testing::clients_in(&queue.aws, "cn-north-1");
    let error = elsewhere.sqs.send_message().queue_url(&queue.url).message_body("x").send().await.unwrap_err();
    assert!(error.into_service_error().is_queue_does_not_exist());
}
