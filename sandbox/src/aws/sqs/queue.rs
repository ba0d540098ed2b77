//! What a queue's attributes, which winterbaume-sqs keeps, say about its messages.

use std::collections::HashMap;
use std::time::Duration;

use winterbaume_sqs::SqsBackend;

use super::super::ACCOUNT;
use super::Sqs;
use super::wire::Refusal;

/// What a queue's attributes say about its messages.
pub(super) struct Config {
    pub(super) name: String,
    pub(super) arn: String,
    pub(super) visibility: Duration,
    pub(super) delay: Duration,
    pub(super) wait: Duration,
    pub(super) max_bytes: usize,
    pub(super) redrive: Option<Redrive>,
}

/// Where messages go that were received too often.
pub(super) struct Redrive {
    pub(super) target: String,
    pub(super) max_receives: u32,
}

impl Sqs {
    pub(super) async fn raw_attributes(&self, region: &str, name: &str) -> Result<HashMap<String, String>, Refusal> {
        let attributes = self.backend.get_queue_attributes(ACCOUNT.to_owned(), region.to_owned(), name.to_owned());
        attributes.await.map_err(|_| Refusal::no_such_queue())
    }

    /// The attributes of a queue named by its URL (or its bare name) that matter to messages.
    pub(super) async fn config(&self, region: &str, queue_url: &str) -> Result<Config, Refusal> {
        if queue_url.is_empty() {
            return Err(Refusal::missing("QueueUrl"));
        }
        let name = name_in(queue_url);
        let attributes = self.raw_attributes(region, &name).await?;
        let number = |key: &str| attributes.get(key).and_then(|text| text.parse::<i64>().ok()).unwrap_or_default();
        Ok(Config {
            name,
            arn: attributes.get("QueueArn").cloned().unwrap_or_default(),
            visibility: seconds(number("VisibilityTimeout")),
            delay: seconds(number("DelaySeconds")),
            wait: seconds(number("ReceiveMessageWaitTimeSeconds")),
            max_bytes: usize::try_from(number("MaximumMessageSize")).unwrap_or_default(),
            redrive: attributes.get("RedrivePolicy").and_then(|policy| redrive(policy)),
        })
    }
}

/// The queue's name, the last segment of its URL or ARN.
pub(super) fn name_in(url: &str) -> String {
    url.rsplit(['/', ':']).next().unwrap_or_default().to_owned()
}

pub(super) fn redrive(policy: &str) -> Option<Redrive> {
    let policy: serde_json::Value = serde_json::from_str(policy).ok()?;
    let target = name_in(policy.get("deadLetterTargetArn")?.as_str()?);
    // A number, or one in quotes: AWS takes both.
    let max = policy.get("maxReceiveCount")?;
    let max = max.as_u64().or_else(|| max.as_str()?.parse().ok())?;
    Some(Redrive { target, max_receives: u32::try_from(max).ok()? })
}

pub(super) fn seconds(count: i64) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or_default())
}
