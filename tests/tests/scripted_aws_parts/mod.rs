//! Clients for the tests of the scripted AWS: no retries, short timeouts, so that each call is one request.

mod identity;
mod limits;
mod queues;
mod script;
mod tables;

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_smithy_types::retry::RetryConfig;
use tests::scripted::Aws;

/// Configuration without credentials.
pub(crate) fn bare(aws: &Aws) -> aws_config::ConfigLoader {
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(Region::new(aws.region().to_owned()))
        .endpoint_url(aws.endpoint())
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::builder().operation_timeout(Duration::from_secs(25)).build())
}

/// Configuration with an access key of nobody.
pub(crate) async fn sdk(aws: &Aws) -> SdkConfig {
    let nobody = aws_sdk_sqs::config::Credentials::new("AKIATEST", "secret", None, None, "test");
    bare(aws).credentials_provider(nobody).load().await
}

pub(crate) async fn sqs(aws: &Aws) -> aws_sdk_sqs::Client {
    aws_sdk_sqs::Client::new(&sdk(aws).await)
}

pub(crate) async fn dynamodb(aws: &Aws) -> aws_sdk_dynamodb::Client {
    aws_sdk_dynamodb::Client::new(&sdk(aws).await)
}
