//! Older producers and consumers on the same queues and tables as ours, and what nobody can store.

use std::collections::HashMap;

use aws_sdk_sqs::types::{MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName};
use sandbox::plane::layout::Service as Kind;
use serde_json::json;

use crate::plane::{Plane, eventually, launch};

fn text(value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type("String").string_value(value).build().unwrap()
}

impl Plane {
    /// Sends as a program of its own would, and gives the id that SQS gave.
    async fn send(&self, queue: &str, body: &str, attributes: &[(&str, &str)]) -> String {
        let attributes: HashMap<_, _> =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
        let send = self
            .clients
            .sqs
            .send_message()
            .queue_url(queue)
            .message_body(body)
            .set_message_attributes(Some(attributes));
        send.send().await.unwrap().message_id.unwrap()
    }
}

pub(crate) async fn a_message_of_an_older_producer_is_stored_under_its_sqs_id(plane: &Plane) {
    for (tenant, environment) in [("tenant-1", "pool-1"), ("tenant-3", "tenant-3")] {
        // Python's str() of a dict: no JSON.
        let body = "{'tenant_id': 'x', 'event': 'Event raised!'}";
        let attributes = [("tenant_id", tenant), ("producer_environment", environment)];
        let id = plane.send(&plane.queue(tenant), body, &attributes).await;
        let record = plane.record(tenant, &id).await;
        assert_eq!((record["body"].as_str(), record["producer_environment"].as_str()), (body, environment));
        assert_eq!(record["consumer_environment"], environment);
        assert!(!record.contains_key("content_type"), "nobody said what it is");
    }
}

pub(crate) async fn an_older_consumer_finds_what_it_reads_in_our_messages(plane: &Plane) {
    // A tenant whose queue nobody but this test drains.
    let queue = plane.clients.sqs.create_queue().queue_name("consumer-solo").send().await.unwrap().queue_url.unwrap();
    for (name, value) in [
        ("/solo/consumer_sqs", "arn:aws:sqs:eu-west-1:123456789012:consumer-solo"),
        ("/solo/consumer_ddb", "arn:aws:dynamodb:eu-west-1:123456789012:table/consumer-solo"),
    ] {
        let put = plane.clients.ssm.put_parameter().name(name).value(value);
        put.r#type(aws_sdk_ssm::types::ParameterType::String).overwrite(true).send().await.unwrap();
    }
    let service = launch(Kind::Producer, &plane.endpoint, "solo").start().await;
    let answer = service.event("solo", r#"{"n":1}"#).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let receive = plane.clients.sqs_receive.receive_message().queue_url(&queue).wait_time_seconds(5);
    let receive =
        receive.message_attribute_names("All").message_system_attribute_names(MessageSystemAttributeName::All);
    let messages = receive.send().await.unwrap().messages.unwrap();
    let [message] = &messages[..] else { panic!("{} messages", messages.len()) };
    assert_eq!(message.body(), Some(r#"{"n":1}"#));
    let attributes: HashMap<_, _> =
        message.message_attributes().unwrap().iter().map(|(k, v)| (k.as_str(), v.string_value().unwrap())).collect();
    let said = answer.json();
    let expected = [
        ("tenant_id", "solo"),
        ("producer_environment", "solo"),
        ("message_id", said["message_id"].as_str().unwrap()),
        ("content_type", "application/json"),
    ];
    assert_eq!(attributes, expected.into());
}

pub(crate) async fn what_cannot_be_stored_goes_to_the_dead_letter_queue_and_its_neighbours_are_stored(plane: &Plane) {
    let queue = plane.queue("tenant-2");
    // One receive, then five seconds hidden, then the dead-letter queue.
    let redrive = json!({"deadLetterTargetArn": "arn:aws:sqs:eu-west-1:123456789012:consumer-tenant-2-dlq", "maxReceiveCount": "1"});
    let set = plane.clients.sqs.set_queue_attributes().queue_url(&queue);
    set.attributes(QueueAttributeName::RedrivePolicy, redrive.to_string()).send().await.unwrap();
    let good = [("tenant_id", "tenant-2"), ("producer_environment", "pool-1")];
    let first = plane.send(&queue, "first", &good).await;
    let mut bad = vec![plane.send(&queue, "no attributes", &[]).await];
    bad.push(plane.send(&queue, "another tenant's", &[("tenant_id", "tenant-3")]).await);
    bad.push(plane.send(&queue, "no tenant", &[("tenant_id", "Acme!")]).await);
    let last = plane.send(&queue, "last", &good).await;
    for (id, body) in [(&first, "first"), (&last, "last")] {
        assert_eq!(plane.record("tenant-2", id).await["body"], body);
    }
    let dead = plane.queue_url("consumer-tenant-2-dlq");
    let all_there = || async {
        let attributes = plane.clients.sqs.get_queue_attributes().queue_url(&dead);
        let attributes =
            attributes.attribute_names(QueueAttributeName::ApproximateNumberOfMessages).send().await.unwrap();
        let count = attributes.attributes.unwrap()[&QueueAttributeName::ApproximateNumberOfMessages].clone();
        (count == "3").then_some(())
    };
    eventually("three messages in the dead-letter queue", all_there).await;
    for id in bad {
        for tenant in ["tenant-2", "tenant-3"] {
            assert_eq!(plane.look_up(tenant, &id).await, None);
        }
    }
}
