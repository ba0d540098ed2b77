//! What an operator does by hand: dead letters sent back, the records of a tenant that left deleted.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use aws_sdk_sqs::types::{MessageAttributeValue, QueueAttributeName};
use sandbox::plane::layout::Service as Kind;
use tests::command::{Ended, run};

use crate::plane::{Plane, eventually, launch};

/// Runs `consumer ARGUMENTS` for an environment.
async fn consumer(plane: &Plane, environment: &str, arguments: &[&str]) -> Ended {
    run(&launch(Kind::Consumer, &plane.endpoint, environment), arguments).await
}

/// A silo that nobody drains yet: its queue, dead-letter queue, table and parameters. The URLs of both queues.
async fn silo(plane: &Plane, name: &str) -> (String, String) {
    let (sqs, dead_name, queue_name) = (&plane.clients.sqs, format!("consumer-{name}-dlq"), format!("consumer-{name}"));
    let dead = sqs.create_queue().queue_name(&dead_name).send().await.unwrap().queue_url.unwrap();
    let policy =
        format!(r#"{{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:123456789012:{dead_name}","maxReceiveCount":3}}"#);
    let queue = sqs.create_queue().queue_name(&queue_name).attributes(QueueAttributeName::RedrivePolicy, policy);
    let queue = queue.send().await.unwrap().queue_url.unwrap();
    let key = |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap();
    let text = |name: &str| {
        AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build().unwrap()
    };
    let table = plane.clients.dynamodb.create_table().table_name(&queue_name).billing_mode(BillingMode::PayPerRequest);
    let table = table.key_schema(key("tenant_id", KeyType::Hash)).key_schema(key("message_id", KeyType::Range));
    let table = table.attribute_definitions(text("tenant_id")).attribute_definitions(text("message_id"));
    table.send().await.unwrap();
    for (parameter, value) in [
        ("consumer_sqs", format!("arn:aws:sqs:eu-west-1:123456789012:{queue_name}")),
        ("consumer_ddb", format!("arn:aws:dynamodb:eu-west-1:123456789012:table/{queue_name}")),
    ] {
        let put = plane.clients.ssm.put_parameter().name(format!("/{name}/{parameter}")).value(value);
        put.r#type(aws_sdk_ssm::types::ParameterType::String).overwrite(true).send().await.unwrap();
    }
    (queue, dead)
}

pub(crate) async fn dead_letters_are_listed_and_sent_back_and_become_one_record_each(plane: &Plane) {
    let (_, dead) = silo(plane, "operated").await;
    let text = |value: &str| MessageAttributeValue::builder().data_type("String").string_value(value).build().unwrap();
    let mut sqs_ids = HashMap::new();
    for (body, attributes) in [
        ("{\"n\":1}", vec![("tenant_id", "operated"), ("message_id", "m-1"), ("content_type", "application/json")]),
        ("{'n': 2}", vec![("tenant_id", "operated")]),
        ("nobody's", vec![]),
    ] {
        let attributes: HashMap<_, _> =
            attributes.into_iter().map(|(name, value)| (name.to_owned(), text(value))).collect();
        let send = plane.clients.sqs.send_message().queue_url(&dead).message_body(body);
        let sent = send.set_message_attributes(Some(attributes)).send().await.unwrap();
        sqs_ids.insert(body, sent.message_id.unwrap());
    }
    for _ in 0..2 {
        // Twice: the first look hides nothing from the second.
        let ended = consumer(plane, "operated", &["redrive", "list", "--json"]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let mut shown: Vec<_> = ended
            .json()
            .iter()
            .map(|line| (line["message_id"].as_str().unwrap().to_owned(), line["storable"].as_bool().unwrap()))
            .collect();
        shown.sort();
        let mut expected =
            vec![("m-1".to_owned(), true), (sqs_ids["{'n': 2}"].clone(), true), (sqs_ids["nobody's"].clone(), false)];
        expected.sort();
        assert_eq!(shown, expected);
    }
    let ended = consumer(plane, "operated", &["redrive", "send", "--rate", "100/s"]).await;
    assert_eq!(ended.code, Some(1), "nobody's stays: {}{}", ended.out, ended.err);
    assert!(ended.out.starts_with("sent 2 to "), "{}", ended.out);
    let service = launch(Kind::Consumer, &plane.endpoint, "operated").start().await;
    for (key, body) in [("m-1", "{\"n\":1}"), (sqs_ids["{'n': 2}"].as_str(), "{'n': 2}")] {
        let get = plane.clients.dynamodb.get_item().table_name("consumer-operated").consistent_read(true);
        let get = get.key("tenant_id", AttributeValue::S("operated".to_owned()));
        let get = get.key("message_id", AttributeValue::S(key.to_owned()));
        let item = eventually("the record", || async { get.clone().send().await.unwrap().item }).await;
        assert_eq!(item["body"].as_s().unwrap(), body);
    }
    drop(service);
    let ended = consumer(plane, "operated", &["redrive", "list"]).await;
    assert!(ended.out.contains("reason no_tenant") && ended.out.lines().count() == 1, "{}", ended.out);
}

pub(crate) async fn the_records_of_a_tenant_that_left_are_deleted_and_no_neighbour_s(plane: &Plane) {
    let table = plane.table("tenant-1");
    let put = |tenant: &'static str, key: String| {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let put = plane.clients.dynamodb.put_item().table_name(&table).item("tenant_id", text(tenant));
        let put = put.item("message_id", text(&key)).item("body", text("{}"));
        async move { put.send().await.unwrap() }
    };
    for n in 0..230 {
        put("leaver", format!("m-{n:03}")).await;
    }
    put("leaver", "payment#m-000".to_owned()).await;
    put("leaver-2", "m-000".to_owned()).await;
    put("leave", "m-000".to_owned()).await;
    let purge = ["purge", "--tenant", "leaver", "--yes-delete", "leaver", "--rate", "10000/s"];
    let ended = consumer(plane, "pool-1", &purge).await;
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    assert!(ended.out.starts_with("deleted 230 records and 1 payment claim of leaver from "), "{}", ended.out);
    let left = |tenant: &'static str| {
        let query = plane.clients.dynamodb.query().table_name(&table).consistent_read(true);
        let query = query.key_condition_expression("tenant_id = :t");
        let query = query.expression_attribute_values(":t", AttributeValue::S(tenant.to_owned()));
        async move { query.send().await.unwrap().count }
    };
    assert_eq!((left("leaver").await, left("leaver-2").await, left("leave").await), (0, 1, 1));
    // One that is registered is not touched.
    let ended = consumer(plane, "pool-1", &["purge", "--tenant", "tenant-1", "--yes-delete", "tenant-1"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("tenant-1 is still registered"), "{}", ended.err);
}
