//! How deep the queue and its dead-letter queue are: asked of SQS every minute, so that backlog and dead letters can be seen
//! where there is nothing but this service and whoever scrapes it.
//!
//! It costs two calls of `GetQueueAttributes` an interval and needs the right to make them. Without it, or while SQS does not
//! answer, the depth is not known: the gauges are not there, or NaN, and draining goes on all the same.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName::{
    self, ApproximateNumberOfMessages, ApproximateNumberOfMessagesDelayed, ApproximateNumberOfMessagesNotVisible,
    RedrivePolicy,
};
use metrics::gauge;
use tenancy::arn::QueueArn;
use tenancy::aws::{Clients, Fault, describe, fault_of};
use tenancy::directory::Directory;
use tenancy::server::Stop;
use tenancy::tenant::Environment;

/// After a refusal the right may come, but not soon: so many intervals pass before it is tried again.
const REFUSED: u32 = 10;

/// The states of messages, by the label's value.
pub(crate) const STATES: &[&str] = &["visible", "in_flight", "delayed"];

/// Asks for the depth of one queue.
#[derive(Debug)]
pub(crate) struct Depth {
    sqs: aws_sdk_sqs::Client,
    endpoint: Option<String>,
    directory: Directory,
    environment: Environment,
    every: Duration,
}

/// Where the redrive policy sends messages.
#[derive(serde::Deserialize)]
pub(crate) struct Redrive {
    /// The ARN of the dead-letter queue.
    #[serde(rename = "deadLetterTargetArn")]
    pub(crate) target: String,
}

impl Depth {
    /// Of the queue of `environment`, with this much time between two looks.
    pub(crate) fn new(clients: &Clients, directory: Directory, environment: Environment, every: Duration) -> Self {
        Self { sqs: clients.sqs.clone(), endpoint: clients.sqs_endpoint.clone(), directory, environment, every }
    }

    /// Looks until the stop.
    pub(crate) async fn watch(self, stop: Stop) {
        let mut said = None;
        let mut shown = false;
        loop {
            let seen = self.look().await;
            let pause = match &seen {
                Ok(()) => {
                    (said, shown) = (None, true);
                    self.every
                }
                Err((fault, error)) => {
                    // Once a reason, not once a minute.
                    if said.replace(*fault) != Some(*fault) {
                        tracing::warn!(
                            kind = fault.as_str(),
                            %error,
                            "the depth of the queue is not known; it takes the right sqs:GetQueueAttributes on the queue and its dead-letter queue"
                        );
                    }
                    if shown {
                        unknown();
                    }
                    if *fault == Fault::Denied { self.every.saturating_mul(REFUSED) } else { self.every }
                }
            };
            tokio::select! {
                // Pods started together do not look together.
                () = tokio::time::sleep(pause.mul_f64(0.9 + fastrand::f64() / 5.0)) => {}
                () = stop.signalled() => return,
            }
        }
    }

    async fn look(&self) -> Result<(), (Fault, String)> {
        let queue = self.directory.queue(&self.environment).await;
        let queue: Arc<QueueArn> = queue.map_err(|error| (Fault::Transient, error.to_string()))?;
        let numbers =
            [ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible, ApproximateNumberOfMessagesDelayed];
        let found = self.attributes(&queue, numbers.iter().cloned().chain([RedrivePolicy]).collect()).await?;
        for (state, name) in STATES.iter().zip(&numbers) {
            gauge!("consumer_queue_messages", "state" => *state).set(number(found.get(name)));
        }
        let redrive = found.get(&RedrivePolicy).and_then(|policy| serde_json::from_str::<Redrive>(policy).ok());
        let target = redrive.and_then(|redrive| redrive.target.parse::<QueueArn>().ok());
        // A dead-letter queue is of its queue's account and region; without one there are no dead letters to be seen.
        if let Some(target) = target.filter(|target| target.region() == queue.region()) {
            let found = self.attributes(&target, vec![ApproximateNumberOfMessages]).await?;
            gauge!("consumer_dead_letters").set(number(found.get(&ApproximateNumberOfMessages)));
        }
        Ok(())
    }

    async fn attributes(
        &self,
        queue: &QueueArn,
        names: Vec<QueueAttributeName>,
    ) -> Result<std::collections::HashMap<QueueAttributeName, String>, (Fault, String)> {
        let url = queue.url(self.endpoint.as_deref());
        let answer = self.sqs.get_queue_attributes().queue_url(url).set_attribute_names(Some(names)).send().await;
        let answer = answer.map_err(|error| (fault_of(&error), describe(&error)))?;
        Ok(answer.attributes.unwrap_or_default())
    }
}

/// What is not a number is not known.
fn number(text: Option<&String>) -> f64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// A depth that was shown is not true any more.
fn unknown() {
    for state in STATES {
        gauge!("consumer_queue_messages", "state" => *state).set(f64::NAN);
    }
    gauge!("consumer_dead_letters").set(f64::NAN);
}
