//! `consumer redrive`: dead letters, looked at and sent back.
//!
//! - `letter`: one dead letter: why it is dead, how it is shown, how it is sent again
//! - `shelf`: the dead-letter queue while it is read: nothing twice, everything handed back
//! - `list`, `send`: the two commands
//! - `post`: sending a few and deleting those that were taken

mod letter;
mod list;
mod post;
mod send;
mod shelf;

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use tenancy::arn::QueueArn;
use tenancy::aws::{Clients, Fault};
use tenancy::directory::Directory;
use tenancy::tenant::Environment;
use tokio_util::sync::CancellationToken;

use crate::depth::Redrive as Policy;
use crate::drain::calls::{Calls, failure};
use crate::drain::seam::Failure;
use crate::operator::calls::{persist, queue};
use crate::operator::cli::{Action, Redrive, Which};
use crate::operator::stop::Stop;
use crate::record::Stamps;

/// Everything that both commands need.
struct Desk<'a> {
    clients: &'a Clients,
    stopping: &'a CancellationToken,
    /// Where letters come from, and where they are.
    environment: Environment,
    queue: Arc<QueueArn>,
    dead: Arc<QueueArn>,
    /// The consumer's own calls, for deletes and visibilities.
    calls: Arc<Calls>,
    /// What SQS counts in the dead-letter queue at the start, those among it that someone else holds.
    counted: usize,
    hidden: usize,
}

/// Runs one of the commands. Whether all that was asked for was done.
pub(crate) async fn run(redrive: Redrive, clients: &Clients, stopping: &CancellationToken) -> Result<bool, Stop> {
    match redrive.action {
        Action::List(list) => list::run(&Desk::open(&list.which, clients, stopping).await?, &list).await,
        Action::Send(send) => send::run(&Desk::open(&send.which, clients, stopping).await?, &send).await,
    }
}

impl<'a> Desk<'a> {
    /// Finds the queues.
    async fn open(which: &Which, clients: &'a Clients, stopping: &'a CancellationToken) -> Result<Self, Stop> {
        let environment = which.environment.clone();
        let Some(queue) = queue(clients, &environment, stopping).await? else {
            return Err(Stop::Failed(format!(
                "there is no parameter /{environment}/consumer_sqs in {}: is ENVIRONMENT right, and the region?",
                clients.region
            )));
        };
        let queue = Arc::new(queue);
        let dead = match &which.dead_letter_queue {
            Some(given) => given.clone(),
            None => dead_letter_queue(clients, &queue, stopping).await?,
        };
        if dead == *queue {
            return Err(Stop::Usage(format!("{dead} is the environment's own queue, not a dead-letter queue")));
        }
        if dead.region() != clients.region.as_ref() {
            let text = format!("{dead} is in another region than {}: set AWS_REGION to it", clients.region);
            return Err(Stop::Usage(text));
        }
        let directory = Directory::new(clients.ssm.clone(), &clients.region, &environment, Duration::from_secs(300));
        let stamps = Stamps::new(environment.as_str(), None);
        let calls = Arc::new(Calls::new(clients, directory, environment.clone(), stamps));
        let mut desk =
            Self { clients, stopping, environment, queue, dead: Arc::new(dead), calls, counted: 0, hidden: 0 };
        desk.count().await?;
        Ok(desk)
    }

    /// Reads how many letters there are, and makes sure that looking at them costs nothing.
    async fn count(&mut self) -> Result<(), Stop> {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
            QueueAttributeName::RedrivePolicy,
        ];
        let found = attributes(self.clients, &self.dead, &names, self.stopping).await?;
        if let Some(policy) = found(QueueAttributeName::RedrivePolicy) {
            return Err(Stop::Failed(format!(
                "{} has a redrive policy itself ({policy}): each look counts as a receive and brings its messages nearer to \
                 being moved on. A dead-letter queue has none; take it off, or name another one with --dead-letter-queue",
                self.dead
            )));
        }
        let number = |name| found(name).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
        self.hidden = number(QueueAttributeName::ApproximateNumberOfMessagesNotVisible);
        self.counted = number(QueueAttributeName::ApproximateNumberOfMessages)
            + number(QueueAttributeName::ApproximateNumberOfMessagesDelayed)
            + self.hidden;
        Ok(())
    }

    fn url(&self, queue: &QueueArn) -> String {
        queue.url(self.clients.sqs_endpoint.as_deref())
    }
}

/// The dead-letter queue that the queue's redrive policy names.
async fn dead_letter_queue(
    clients: &Clients,
    queue: &QueueArn,
    stopping: &CancellationToken,
) -> Result<QueueArn, Stop> {
    let found = attributes(clients, queue, &[QueueAttributeName::RedrivePolicy], stopping).await?;
    let Some(policy) = found(QueueAttributeName::RedrivePolicy) else {
        return Err(Stop::Failed(format!(
            "{queue} has no redrive policy, so nothing of it becomes a dead letter; \
             if it had one before, name the queue with --dead-letter-queue ARN"
        )));
    };
    let unusable =
        |why: String| Stop::Failed(format!("the redrive policy of {queue} cannot be used ({why}): {policy}"));
    let read: Policy = serde_json::from_str(&policy).map_err(|error| unusable(error.to_string()))?;
    read.target.parse().map_err(|error| unusable(format!("its target is {error}")))
}

fn says_nothing() -> Failure {
    let text = "the answer does not say what was asked for".to_owned();
    Failure { fault: Fault::Transient, code: None, text, timed_out: false }
}

/// Attributes of a queue, by name.
async fn attributes(
    clients: &Clients,
    queue: &QueueArn,
    names: &[QueueAttributeName],
    stopping: &CancellationToken,
) -> Result<impl Fn(QueueAttributeName) -> Option<String> + use<>, Stop> {
    let url = queue.url(clients.sqs_endpoint.as_deref());
    let call = || async {
        let call = clients.sqs.get_queue_attributes().queue_url(&url).set_attribute_names(Some(names.to_vec()));
        let answer = call.send().await.map_err(|error| failure(&error))?;
        // A policy may not be there; a number that was asked for is.
        let said = |name: &QueueAttributeName| answer.attributes().is_some_and(|found| found.contains_key(name));
        let numbers = names.iter().filter(|name| **name != QueueAttributeName::RedrivePolicy);
        if numbers.clone().all(said) { Ok(answer) } else { Err(says_nothing()) }
    };
    let answer = persist(stopping, call).await;
    let answer = answer.map_err(|error| Stop::call("sqs:GetQueueAttributes", queue.as_str(), &error))?;
    let found = answer.attributes.unwrap_or_default();
    Ok(move |name| found.get(&name).filter(|value| !value.is_empty()).cloned())
}
