//! DynamoDB, SSM and STS as the SDK's clients see them, and the endpoint itself.

use std::time::{Duration, SystemTime};

use aws_credential_types::provider::ProvideCredentials;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, PutRequest,
    ReturnValuesOnConditionCheckFailure, ScalarAttributeType, WriteRequest,
};
use aws_sdk_ssm::types::ParameterType;
use tenancy::aws::Clients;

use super::{EmbeddedAws, Options, StartError};
use crate::plane::identity::{WebIdentity, sts_client, write_token};
use crate::testing::{clients, embedded_aws};

async fn table(clients: &Clients) {
    let attribute = |name: &str| {
        AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build().unwrap()
    };
    let key =
        |name: &str, kind: KeyType| KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap();
    let create = clients.dynamodb.create_table().table_name("records").billing_mode(BillingMode::PayPerRequest);
    let create = create.attribute_definitions(attribute("tenant_id")).attribute_definitions(attribute("message_id"));
    let create = create.key_schema(key("tenant_id", KeyType::Hash)).key_schema(key("message_id", KeyType::Range));
    create.send().await.unwrap();
}

fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

async fn put_three(clients: &Clients) {
    let items = (1..=3).map(|n| {
        let put =
            PutRequest::builder().item("tenant_id", s("acme")).item("message_id", s(n.to_string())).item("body", s(""));
        WriteRequest::builder().put_request(put.build().unwrap()).build()
    });
    let written =
        clients.dynamodb_batch.batch_write_item().request_items("records", items.collect()).send().await.unwrap();
    assert!(written.unprocessed_items.unwrap_or_default().is_empty());
}

#[tokio::test]
async fn a_batch_of_items_is_written_and_read_back_consistently_and_newest_first() {
    let aws = embedded_aws().await;
    let clients = clients(&aws);
    table(&clients).await;
    put_three(&clients).await;
    let get = clients.dynamodb.get_item().table_name("records").key("tenant_id", s("acme")).key("message_id", s("2"));
    let item = get.consistent_read(true).send().await.unwrap().item.unwrap();
    assert_eq!(item["body"], s(""), "an empty text survives");

    let page = |start: Option<_>| {
        let query = clients.dynamodb.query().table_name("records").key_condition_expression("tenant_id = :t");
        let query = query.expression_attribute_values(":t", s("acme")).scan_index_forward(false).limit(2);
        query.set_exclusive_start_key(start).send()
    };
    let ids = |items: Option<Vec<std::collections::HashMap<String, AttributeValue>>>| -> Vec<String> {
        items.unwrap().iter().map(|item| item["message_id"].as_s().unwrap().clone()).collect()
    };
    let first = page(None).await.unwrap();
    assert_eq!(ids(first.items), ["3", "2"]);
    let second = page(first.last_evaluated_key).await.unwrap();
    assert_eq!((ids(second.items), second.last_evaluated_key), (vec!["1".to_owned()], None));
}

#[tokio::test]
async fn a_conditional_put_that_fails_shows_the_item_in_its_way() {
    let aws = embedded_aws().await;
    let clients = clients(&aws);
    table(&clients).await;
    let put = |state: &str| {
        let put = clients
            .dynamodb
            .put_item()
            .table_name("records")
            .item("tenant_id", s("acme"))
            .item("message_id", s("payment#1"));
        let put = put.item("state", s(state)).condition_expression("attribute_not_exists(message_id)");
        put.return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld).send()
    };
    put("first").await.unwrap();
    let error = put("second").await.unwrap_err().into_service_error();
    let aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(failed) = error else {
        panic!("{error:?}");
    };
    assert_eq!(failed.item.unwrap()["state"], s("first"));
}

#[tokio::test]
async fn dynamodb_refuses_a_batch_of_26_items_and_one_with_the_same_key_twice() {
    let aws = embedded_aws().await;
    let clients = clients(&aws);
    table(&clients).await;
    let write = |keys: Vec<String>| {
        let items = keys.into_iter().map(|key| {
            let put = PutRequest::builder().item("tenant_id", s("acme")).item("message_id", s(key));
            WriteRequest::builder().put_request(put.build().unwrap()).build()
        });
        clients.dynamodb_batch.batch_write_item().request_items("records", items.collect()).send()
    };
    assert!(write((0..25).map(|n| n.to_string()).collect()).await.is_ok());
    assert!(write((0..26).map(|n| n.to_string()).collect()).await.is_err());
    assert!(write(vec!["a".to_owned(), "a".to_owned()]).await.is_err());
}

#[tokio::test]
async fn records_are_announced_as_they_land_and_claims_are_not() {
    let aws = embedded_aws().await;
    let clients = clients(&aws);
    table(&clients).await;
    let mut landings = aws.watch_records();
    let claim = clients.dynamodb.put_item().table_name("records").item("tenant_id", s("acme"));
    claim.item("message_id", s("payment#1")).item("state", s("requested")).send().await.unwrap();
    let put = PutRequest::builder().item("tenant_id", s("acme")).item("message_id", s("1"));
    let put = put.item("sent_at", s("2026-11-30T12:00:00.000Z")).build().unwrap();
    let request = WriteRequest::builder().put_request(put).build();
    clients.dynamodb_batch.batch_write_item().request_items("records", vec![request]).send().await.unwrap();
    let landing = landings.recv().await.unwrap();
    assert_eq!(
        (landing.table.as_str(), landing.tenant_id.as_str(), landing.message_id.as_str()),
        ("records", "acme", "1")
    );
    assert_eq!(landing.sent_at, "2026-11-30T12:00:00.000Z");
    assert!(landings.is_empty());
}

#[tokio::test]
async fn a_table_that_does_not_exist_is_an_error_of_that_name() {
    let aws = embedded_aws().await;
    let get =
        clients(&aws).dynamodb.get_item().table_name("nowhere").key("tenant_id", s("a")).key("message_id", s("b"));
    assert!(get.send().await.unwrap_err().into_service_error().is_resource_not_found_exception());
}

#[tokio::test]
async fn tables_in_a_file_outlive_the_endpoint() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { tables: Some(dir.path().join("tables.sqlite")), ..Options::default() };
    let aws = EmbeddedAws::start(options.clone()).await.unwrap();
    table(&clients(&aws)).await;
    put_three(&clients(&aws)).await;
    aws.stop().await;
    let aws = EmbeddedAws::start(options).await.unwrap();
    let scan = clients(&aws).dynamodb.scan().table_name("records").send().await.unwrap();
    assert_eq!(scan.count, 3);
}

#[tokio::test]
async fn parameters_that_do_not_exist_are_listed_as_invalid() {
    let aws = embedded_aws().await;
    let ssm = clients(&aws).ssm;
    let put = ssm.put_parameter().name("/acme/consumer_sqs").value("v").r#type(ParameterType::String);
    put.clone().send().await.unwrap();
    assert!(put.send().await.unwrap_err().into_service_error().is_parameter_already_exists());
    let got = ssm.get_parameters().names("/acme/consumer_sqs").names("/nowhere/consumer_sqs").send().await.unwrap();
    let parameters = got.parameters.unwrap();
    assert_eq!(parameters.len(), 1);
    assert_eq!(parameters[0].value.as_deref(), Some("v"));
    assert_eq!(parameters[0].arn.as_deref(), Some("arn:aws:ssm:eu-west-1:123456789012:parameter/acme/consumer_sqs"));
    assert_eq!(got.invalid_parameters.unwrap(), ["/nowhere/consumer_sqs"]);
    let one = ssm.get_parameter().name("/nowhere/consumer_sqs").send().await.unwrap_err();
    assert!(one.into_service_error().is_parameter_not_found());
    let eleven = ssm.get_parameters().set_names(Some((0..11).map(|n| format!("/p{n}")).collect())).send().await;
    assert!(eleven.is_err());
}

#[tokio::test]
async fn a_web_identity_token_is_exchanged_for_a_session_that_expires() {
    let aws = embedded_aws().await;
    let dir = tempfile::tempdir().unwrap();
    let token = write_token(dir.path(), "consumer", "acme").unwrap();
    let identity = WebIdentity::new(sts_client(&aws.url(), "eu-west-1"), token.clone(), "consumer", "acme");
    let session = identity.provide_credentials().await.unwrap();
    assert!(session.access_key_id().starts_with("ASIA"), "{session:?}");
    assert!(session.session_token().is_some());
    let left = session.expiry().unwrap().duration_since(SystemTime::now()).unwrap();
    assert!(left > Duration::from_secs(3500) && left <= Duration::from_secs(3600), "{left:?}");
    std::fs::write(&token, "not a token").unwrap();
    assert!(identity.provide_credentials().await.is_err());
}

#[tokio::test]
async fn a_port_in_use_is_said_with_the_address() {
    let aws = embedded_aws().await;
    let second = EmbeddedAws::start(Options { port: aws.addr().port(), ..Options::default() }).await;
    let Err(StartError::Listen { addr, source }) = second else { panic!("started") };
    assert_eq!((addr, source.kind()), (aws.addr(), std::io::ErrorKind::AddrInUse));
}

#[tokio::test]
async fn a_file_that_holds_no_tables_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tables.sqlite");
    std::fs::write(&path, "this is not a database, and long enough that nobody takes it for an empty one").unwrap();
    let error = EmbeddedAws::start(Options { tables: Some(path), ..Options::default() }).await.unwrap_err();
    assert!(error.to_string().contains("tables.sqlite"), "{error}");
}
