//! Tables behave as DynamoDB's do.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, ReturnValuesOnConditionCheckFailure, WriteRequest};
use tests::scripted::{Aws, TableSpec};

use super::dynamodb;

fn s(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn item(tenant: &str, message: &str) -> HashMap<String, AttributeValue> {
    HashMap::from([("tenant_id".into(), s(tenant)), ("message_id".into(), s(message)), ("body".into(), s("{}"))])
}

fn put(tenant: &str, message: &str) -> WriteRequest {
    WriteRequest::builder()
        .put_request(PutRequest::builder().set_item(Some(item(tenant, message))).build().unwrap())
        .build()
}

#[tokio::test]
async fn a_condition_keeps_what_is_there_and_shows_it() {
    let aws = Aws::start();
    aws.create_table(TableSpec::named("t"));
    let put = dynamodb(&aws)
        .await
        .put_item()
        .table_name("t")
        .set_item(Some(item("acme", "payment#1")))
        .condition_expression("attribute_not_exists(tenant_id)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    put.clone().send().await.unwrap();
    let error = put.item("body", s("other")).send().await.unwrap_err().into_service_error();
    let aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(failed) = error else {
        panic!("{error:?}");
    };
    assert_eq!(failed.item().unwrap()["body"], s("{}"));
    assert_eq!((aws.rows("t")[0].get("body"), aws.rows("t")[0].writes), ("{}", 1));
}

#[tokio::test]
async fn a_query_pages_backwards_through_one_partition() {
    let aws = Aws::start();
    aws.create_table(TableSpec::named("t"));
    let client = dynamodb(&aws).await;
    for (tenant, message) in [("acme", "1"), ("acme", "2"), ("acme", "3"), ("acme", "payment#1"), ("other", "9")] {
        client.put_item().table_name("t").set_item(Some(item(tenant, message))).send().await.unwrap();
    }
    let query = client
        .query()
        .table_name("t")
        .key_condition_expression("tenant_id = :t AND message_id < :p")
        .expression_attribute_values(":t", s("acme"))
        .expression_attribute_values(":p", s("payment#"))
        .scan_index_forward(false)
        .limit(2);
    let first = query.clone().send().await.unwrap();
    let ids = |items: &[HashMap<String, AttributeValue>]| {
        items.iter().map(|item| item["message_id"].as_s().unwrap().clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(first.items()), ["3", "2"]);
    let second = query.set_exclusive_start_key(first.last_evaluated_key().cloned()).send().await.unwrap();
    assert_eq!(ids(second.items()), ["1"]);
    assert_eq!(second.last_evaluated_key(), None);
    let payments = client
        .query()
        .table_name("t")
        .key_condition_expression("tenant_id = :t AND begins_with(message_id, :p)")
        .expression_attribute_values(":t", s("acme"))
        .expression_attribute_values(":p", s("payment#"))
        .send()
        .await
        .unwrap();
    assert_eq!(ids(payments.items()), ["payment#1"]);
}

#[tokio::test]
async fn an_item_is_read_as_it_was_written() {
    let aws = Aws::start();
    aws.create_table(TableSpec::named("t"));
    let client = dynamodb(&aws).await;
    client.batch_write_item().request_items("t", vec![put("acme", "1")]).send().await.unwrap();
    let get = client.get_item().table_name("t").key("tenant_id", s("acme"));
    assert_eq!(get.clone().key("message_id", s("1")).send().await.unwrap().item(), Some(&item("acme", "1")));
    assert_eq!(get.key("message_id", s("2")).send().await.unwrap().item(), None);
}

#[tokio::test]
async fn batches_outside_the_limits_are_refused_and_fail_the_test() {
    let aws = Aws::start();
    aws.create_table(TableSpec::named("t"));
    let client = dynamodb(&aws).await;
    let big = "x".repeat(409_600);
    let long = "k".repeat(1_025);
    let mut large = put("acme", "1").put_request().unwrap().item().clone();
    large.insert("body".into(), s(&big));
    let large =
        WriteRequest::builder().put_request(PutRequest::builder().set_item(Some(large)).build().unwrap()).build();
    let cases = [
        ((0..26).map(|n| put("acme", &n.to_string())).collect(), "at most 25"),
        (vec![put("acme", "1"), put("acme", "1")], "duplicates"),
        (vec![put("", "1")], "empty string value"),
        (vec![put("acme", &long)], "sortkey"),
        (vec![large], "maximum allowed size"),
        (vec![], "cannot be null or empty"),
    ];
    for (writes, why) in cases {
        let error = client.batch_write_item().request_items("t", writes).send().await.unwrap_err();
        assert_eq!(error.into_service_error().meta().code(), Some("ValidationException"), "{why}");
        let violations = aws.take_violations();
        assert!(violations.len() == 1 && violations[0].message.contains(why), "{why}: {violations:?}");
    }
    assert_eq!(aws.row_count("t"), 0);
}
