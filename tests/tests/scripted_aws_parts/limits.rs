//! Requests that SQS and SSM refuse are refused here, and fail the test.

use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use tests::scripted::{Aws, QueueSpec};

use super::sqs;

fn entry(id: &str, body: &str) -> SendMessageBatchRequestEntry {
    SendMessageBatchRequestEntry::builder().id(id).message_body(body).build().unwrap()
}

#[tokio::test]
async fn batches_outside_the_limits_are_refused() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q").max_message_bytes(1_048_576));
    let (client, url) = (sqs(&aws).await, aws.queue_url("q"));
    let half = "x".repeat(524_289);
    let cases = [
        (vec![], "AWS.SimpleQueueService.EmptyBatchRequest"),
        ((0..11).map(|n| entry(&n.to_string(), "x")).collect(), "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"),
        (vec![entry("a", "x"), entry("a", "y")], "AWS.SimpleQueueService.BatchEntryIdsNotDistinct"),
        (vec![entry("a.b", "x")], "AWS.SimpleQueueService.InvalidBatchEntryId"),
        (vec![entry(&"i".repeat(81), "x")], "AWS.SimpleQueueService.InvalidBatchEntryId"),
        (vec![entry("a", &half), entry("b", &half)], "AWS.SimpleQueueService.BatchRequestTooLong"),
    ];
    for (entries, code) in cases {
        let sent = client.send_message_batch().queue_url(&url).set_entries(Some(entries)).send().await;
        assert_eq!(sent.unwrap_err().into_service_error().meta().code(), Some(code));
        assert_eq!(aws.take_violations().len(), 1, "{code}");
    }
    assert!(aws.queue("q").is_empty());
}

#[tokio::test]
async fn a_message_is_counted_in_bytes_with_its_attributes() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    let (client, url) = (sqs(&aws).await, aws.queue_url("q"));
    // 9 bytes of name, 6 of type, 4 of value.
    let attribute = MessageAttributeValue::builder().data_type("String").string_value("acme").build().unwrap();
    let send = |bytes: usize| {
        let body = "é".repeat(bytes / 2) + &"x".repeat(bytes % 2);
        client
            .send_message()
            .queue_url(&url)
            .message_body(body)
            .message_attributes("tenant_id", attribute.clone())
            .send()
    };
    send(262_144 - 19).await.unwrap();
    let error = send(262_144 - 18).await.unwrap_err().into_service_error();
    assert_eq!(error.meta().code(), Some("InvalidParameterValue"));
    assert_eq!(aws.take_violations().len(), 1);
    assert_eq!(aws.queue("q").len(), 1);
}

#[tokio::test]
async fn attributes_outside_the_rules_are_refused() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    let (client, url) = (sqs(&aws).await, aws.queue_url("q"));
    let attribute =
        |kind: &str, value: &str| MessageAttributeValue::builder().data_type(kind).string_value(value).build().unwrap();
    for (name, kind, value) in [
        ("tier", "String", ""),
        ("AWS.tier", "String", "x"),
        ("a..b", "String", "x"),
        ("a b", "String", "x"),
        ("n", "Text", "x"),
        ("n", "Number", "x"),
        ("n", "String", "\u{FFFF}"),
    ] {
        let sent = client
            .send_message()
            .queue_url(&url)
            .message_body("x")
            .message_attributes(name, attribute(kind, value))
            .send()
            .await;
        assert_eq!(sent.unwrap_err().into_service_error().meta().code(), Some("InvalidParameterValue"), "{name}");
    }
    let mut eleven = client.send_message().queue_url(&url).message_body("x");
    for n in 0..11 {
        eleven = eleven.message_attributes(format!("a{n}"), attribute("String", "x"));
    }
    eleven.send().await.unwrap_err();
    assert_eq!(aws.take_violations().len(), 8);
}

#[tokio::test]
async fn numbers_outside_their_range_are_refused() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    let receive = sqs(&aws).await.receive_message().queue_url(aws.queue_url("q"));
    receive.clone().max_number_of_messages(11).send().await.unwrap_err();
    receive.clone().wait_time_seconds(21).send().await.unwrap_err();
    receive.visibility_timeout(43_201).send().await.unwrap_err();
    let messages: Vec<_> = aws.take_violations().into_iter().map(|violation| violation.message).collect();
    assert_eq!(
        messages[0],
        "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."
    );
    assert_eq!(messages.len(), 3);
}

#[tokio::test]
#[should_panic(expected = "AWS would refuse 1 requests")]
async fn a_violation_fails_the_test_at_its_end() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    sqs(&aws).await.receive_message().queue_url(aws.queue_url("q")).wait_time_seconds(21).send().await.unwrap_err();
}
