//! Making the resources of a [`Layout`] on an AWS endpoint, as the Terraform module makes them in an account.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
use aws_sdk_sqs::types::QueueAttributeName;
use aws_sdk_ssm::types::ParameterType;
use tenancy::aws::{Clients, causes};
use thiserror::Error;

use super::layout::{Layout, Resources};

/// Seconds that a received message stays hidden: what the services' `VISIBILITY_TIMEOUT` starts from.
const VISIBILITY: &str = "30";
/// The largest message a queue takes, in bytes.
const MAX_MESSAGE_BYTES: &str = "262144";
/// How often a message is received before it goes to the dead-letter queue.
const MAX_RECEIVES: u32 = 10;

/// A resource that could not be made.
#[derive(Debug, Error)]
#[error("cannot make {what}: {reason}")]
pub struct ProvisionError {
    what: String,
    reason: String,
}

fn failed<E: std::error::Error + 'static>(what: String) -> impl FnOnce(E) -> ProvisionError {
    move |error| ProvisionError { what, reason: causes(&error) }
}

/// Makes everything; what is there already (tables from an earlier run) stays as it is.
///
/// # Errors
/// The first resource that could not be made, with what AWS said.
pub async fn provision(layout: &Layout, clients: &Clients) -> Result<(), ProvisionError> {
    for resources in layout.resources() {
        queues(&resources, clients).await?;
        table(&resources.table(), clients).await?;
    }
    for (name, value) in layout.parameters() {
        let put = clients.ssm.put_parameter().name(&name).value(value).r#type(ParameterType::String).overwrite(true);
        put.send().await.map_err(failed(format!("parameter {name}")))?;
    }
    Ok(())
}

/// The dead-letter queue first: a redrive policy has to name one that exists.
async fn queues(resources: &Resources, clients: &Clients) -> Result<(), ProvisionError> {
    let policy = serde_json::json!({
        "deadLetterTargetArn": resources.dead_letter_queue_arn(),
        "maxReceiveCount": MAX_RECEIVES,
    });
    let common = HashMap::from([(QueueAttributeName::MaximumMessageSize, MAX_MESSAGE_BYTES.to_owned())]);
    let mut main = common.clone();
    main.insert(QueueAttributeName::VisibilityTimeout, VISIBILITY.to_owned());
    main.insert(QueueAttributeName::ReceiveMessageWaitTimeSeconds, "20".to_owned());
    main.insert(QueueAttributeName::RedrivePolicy, policy.to_string());
    for (name, attributes) in [(resources.dead_letter_queue(), common), (resources.queue(), main)] {
        let create = clients.sqs.create_queue().queue_name(&name).set_attributes(Some(attributes));
        create.send().await.map_err(failed(format!("queue {name}")))?;
    }
    Ok(())
}

async fn table(name: &str, clients: &Clients) -> Result<(), ProvisionError> {
    let what = || format!("table {name}");
    let mut create = clients.dynamodb.create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);
    for (key, kind) in [("tenant_id", KeyType::Hash), ("message_id", KeyType::Range)] {
        let attribute = AttributeDefinition::builder().attribute_name(key).attribute_type(ScalarAttributeType::S);
        let element = KeySchemaElement::builder().attribute_name(key).key_type(kind);
        create = create.attribute_definitions(attribute.build().map_err(failed(what()))?);
        create = create.key_schema(element.build().map_err(failed(what()))?);
    }
    match create.send().await.map_err(aws_sdk_dynamodb::error::SdkError::into_service_error) {
        Ok(_) => Ok(()),
        Err(error) if error.is_resource_in_use_exception() => Ok(()),
        Err(error) => Err(failed(what())(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plane::roster::Roster;
    use crate::testing::{clients, embedded_aws};

    async fn made(more: &[&str]) -> (Vec<String>, Vec<String>, usize) {
        let aws = embedded_aws().await;
        let clients = clients(&aws);
        let more: Vec<_> = more.iter().map(|tenant| tenant.parse().unwrap()).collect();
        let layout = Layout::new(Roster::new(&more).unwrap(), "eu-west-1");
        provision(&layout, &clients).await.unwrap();
        provision(&layout, &clients).await.unwrap();
        let urls = clients.sqs.list_queues().send().await.unwrap().queue_urls.unwrap_or_default();
        let mut queues: Vec<String> = urls.iter().filter_map(|url| Some(url.rsplit('/').next()?.to_owned())).collect();
        queues.sort();
        let tables = clients.dynamodb.list_tables().send().await.unwrap().table_names.unwrap_or_default();
        let parameters = clients.ssm.describe_parameters().send().await.unwrap().parameters.unwrap_or_default();
        (queues, tables, parameters.len())
    }

    #[tokio::test]
    async fn one_tenant_of_each_tier_has_three_queues_with_dead_letter_queues_three_tables_and_eight_parameters() {
        let (queues, tables, parameters) = made(&[]).await;
        assert_eq!(
            queues,
            [
                "consumer-pool-1",
                "consumer-pool-1-dlq",
                "consumer-tenant-2",
                "consumer-tenant-2-dlq",
                "consumer-tenant-3",
                "consumer-tenant-3-dlq",
            ]
        );
        assert_eq!(tables, ["consumer-pool-1", "consumer-tenant-2", "consumer-tenant-3"]);
        assert_eq!(parameters, 8);
    }

    #[tokio::test]
    async fn a_basic_tenant_adds_two_parameters_and_an_advanced_one_also_two_queues_and_a_table() {
        let (queues, tables, parameters) = made(&["b=basic"]).await;
        assert_eq!((queues.len(), tables.len(), parameters), (6, 3, 10));
        let (queues, tables, parameters) = made(&["a=advanced"]).await;
        assert_eq!((queues.len(), tables.len(), parameters), (8, 4, 10));
    }
}
