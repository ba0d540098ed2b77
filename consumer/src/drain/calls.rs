//! The calls to AWS, made with the SDK.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message,
};
use jiff::Timestamp;
use tenancy::arn::{QueueArn, TableArn};
use tenancy::aws::{Clients, Confirmed, Fault, describe, fault_of};
use tenancy::directory::{Directory, LookupError};
use tenancy::message::received::{ATTRIBUTES, SYSTEM_ATTRIBUTES};
use tenancy::message::{MESSAGE_ID, TENANT_ID};
use tenancy::tenant::Environment;

use crate::drain::seam::{Ask, Aws, FailedEntry, Failure};
use crate::record::{Record, Stamps};

/// The SDK's clients, and where the calls go.
#[derive(Debug)]
pub(crate) struct Calls {
    receiving: aws_sdk_sqs::Client,
    sqs: aws_sdk_sqs::Client,
    sqs_endpoint: Option<String>,
    dynamodb: aws_sdk_dynamodb::Client,
    directory: Directory,
    environment: Environment,
    stamps: Stamps,
}

impl Calls {
    /// For the queue and table of `environment`.
    pub(crate) fn new(clients: &Clients, directory: Directory, environment: Environment, stamps: Stamps) -> Self {
        // How long a call may take is for its caller to say, who gives a slow table more time with each try.
        let (receiving, sqs, dynamodb) =
            (clients.sqs_receive.config(), clients.sqs.config(), clients.dynamodb_batch.config());
        let receiving = receiving.to_builder().timeout_config(only_connect(receiving.timeout_config())).build();
        let sqs = sqs.to_builder().timeout_config(only_connect(sqs.timeout_config())).build();
        let dynamodb = dynamodb.to_builder().timeout_config(only_connect(dynamodb.timeout_config())).build();
        Self {
            receiving: aws_sdk_sqs::Client::from_conf(receiving),
            sqs: aws_sdk_sqs::Client::from_conf(sqs),
            sqs_endpoint: clients.sqs_endpoint.clone(),
            dynamodb: aws_sdk_dynamodb::Client::from_conf(dynamodb),
            directory,
            environment,
            stamps,
        }
    }

    fn url(&self, queue: &QueueArn) -> String {
        queue.url(self.sqs_endpoint.as_deref())
    }
}

/// The time to connect stays bounded by itself: another address or connection may be had sooner.
fn only_connect(own: Option<&TimeoutConfig>) -> TimeoutConfig {
    let mut timeouts = TimeoutConfig::builder().disable_operation_timeout().disable_operation_attempt_timeout();
    timeouts.set_connect_timeout(own.and_then(TimeoutConfig::connect_timeout));
    timeouts.build()
}

impl Aws for Calls {
    async fn queue(&self) -> Result<Arc<QueueArn>, LookupError> {
        self.directory.queue(&self.environment).await
    }

    async fn table(&self) -> Result<Arc<TableArn>, LookupError> {
        self.directory.table(&self.environment).await
    }

    fn queue_is_gone(&self, queue: &QueueArn) {
        self.directory.queue_is_gone(&self.environment, queue);
    }

    fn table_is_gone(&self, table: &TableArn) {
        self.directory.table_is_gone(&self.environment, table);
    }

    async fn receive(&self, queue: Arc<QueueArn>, ask: Ask) -> Result<Vec<Message>, Failure> {
        let answer = self
            .receiving
            .receive_message()
            .queue_url(self.url(&queue))
            .max_number_of_messages(i32::try_from(ask.most).unwrap_or(10))
            .wait_time_seconds(seconds(ask.wait))
            .visibility_timeout(seconds(ask.visibility))
            .set_message_attribute_names(Some(ATTRIBUTES.map(str::to_owned).to_vec()))
            .set_message_system_attribute_names(Some(SYSTEM_ATTRIBUTES.to_vec()))
            .send()
            .await;
        Ok(answer.map_err(|error| failure(&error))?.messages.unwrap_or_default())
    }

    async fn delete(&self, queue: Arc<QueueArn>, handles: Vec<String>) -> Result<Vec<FailedEntry>, Failure> {
        let entry = |(position, handle): (usize, String)| {
            DeleteMessageBatchRequestEntry::builder().id(position.to_string()).receipt_handle(handle).build()
        };
        let entries = handles.into_iter().enumerate().map(entry).collect::<Result<Vec<_>, _>>().map_err(unbuilt)?;
        let asked = entries.len();
        let call = self.sqs.delete_message_batch().queue_url(self.url(&queue)).set_entries(Some(entries));
        let answer = call.send().await.map_err(|error| failure(&error))?;
        let mut failed = failed_entries(answer.failed);
        let done = answer.successful.iter().map(|entry| entry.id.as_str());
        failed.extend(unmentioned(asked, done, &failed));
        Ok(failed)
    }

    async fn change_visibility(
        &self,
        queue: Arc<QueueArn>,
        changes: Vec<(String, Duration)>,
    ) -> Result<Vec<FailedEntry>, Failure> {
        let entry = |(position, (handle, hidden)): (usize, (String, Duration))| {
            ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(position.to_string())
                .receipt_handle(handle)
                .visibility_timeout(seconds(hidden))
                .build()
        };
        let entries = changes.into_iter().enumerate().map(entry).collect::<Result<Vec<_>, _>>().map_err(unbuilt)?;
        let call = self.sqs.change_message_visibility_batch().queue_url(self.url(&queue)).set_entries(Some(entries));
        Ok(failed_entries(call.send().await.map_err(|error| failure(&error))?.failed))
    }

    async fn write(&self, table: Arc<TableArn>, records: Vec<Arc<Record>>) -> Result<Vec<usize>, Failure> {
        let stamp = self.stamps.at(Timestamp::now());
        let request = |record: &Arc<Record>| {
            let put = PutRequest::builder().set_item(Some(record.item(&stamp))).build()?;
            Ok(WriteRequest::builder().put_request(put).build())
        };
        let requests: Result<Vec<_>, BuildError> = records.iter().map(request).collect();
        let requests = requests.map_err(unbuilt)?;
        let answer = self.dynamodb.batch_write_item().request_items(table.name(), requests).send().await;
        // What is left over is always said, if with an empty map. Without it nothing is known to be stored.
        let unprocessed = answer.map_err(|error| failure(&error))?.unprocessed_items.ok_or_else(Failure::unreadable)?;
        let left = |write: &WriteRequest| {
            let item = write.put_request().map(PutRequest::item)?;
            records.iter().position(|record| is_item_of(record, item))
        };
        // What is none of ours leaves it open which of ours are stored, so all of them are written again.
        unprocessed.values().flatten().map(left).collect::<Option<Vec<_>>>().ok_or_else(Failure::unreadable)
    }

    async fn put(&self, table: Arc<TableArn>, record: Arc<Record>) -> Result<(), Failure> {
        let item = record.item(&self.stamps.at(Timestamp::now()));
        let call = self.dynamodb.put_item().table_name(table.name()).set_item(Some(item));
        let call = call.customize().interceptor(Confirmed);
        call.send().await.map(drop).map_err(|error| failure(&error))
    }
}

fn is_item_of(record: &Record, item: &std::collections::HashMap<String, AttributeValue>) -> bool {
    let is = |name: &str, value: &str| {
        item.get(name).and_then(|found| found.as_s().ok()).is_some_and(|found| found == value)
    };
    is(MESSAGE_ID, &record.event.message_id) && is(TENANT_ID, record.event.tenant.as_str())
}

fn seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)
}

/// The entries of a batch of `asked` that its answer speaks of neither way. Whether they are done is not known. An answer that names
/// no entry at all passes for "all done", as emulators mean it: if it is not so, the messages come again, onto the same records.
fn unmentioned<'a>(asked: usize, done: impl Iterator<Item = &'a str>, failed: &[FailedEntry]) -> Vec<FailedEntry> {
    let all = (0..asked).fold(0_u16, |open, at| open | 1 << at);
    let mut open = all;
    let done = done.filter_map(|id| id.parse().ok());
    for position in done.chain(failed.iter().map(|entry| entry.position)).filter(|position| *position < asked) {
        open &= !(1 << position);
    }
    if open == all {
        return Vec::new();
    }
    let entry = |position| FailedEntry { position, sender_fault: false, code: "not mentioned".to_owned() };
    (0..asked).filter(|position| open & 1 << position != 0).map(entry).collect()
}

/// The entries that failed, by the places that their ids name.
pub(crate) fn failed_entries(failed: Vec<BatchResultErrorEntry>) -> Vec<FailedEntry> {
    let entry = |entry: BatchResultErrorEntry| {
        let position = entry.id.parse().ok()?;
        Some(FailedEntry { position, sender_fault: entry.sender_fault, code: entry.code })
    };
    failed.into_iter().filter_map(entry).collect()
}

/// A request that lacks something. Never in practice: all that is required is set.
pub(crate) fn unbuilt(error: impl std::error::Error) -> Failure {
    Failure { fault: Fault::Refused, code: None, text: error.to_string(), timed_out: false }
}

/// What `error` means for the loops.
pub(crate) fn failure<E>(error: &SdkError<E, HttpResponse>) -> Failure
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let timed_out = match error {
        SdkError::TimeoutError(_) => true,
        SdkError::DispatchFailure(dispatch) => dispatch.is_timeout(),
        _ => false,
    };
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code).map(short_code);
    Failure { fault: fault_of(error), code, text: describe(error), timed_out }
}

/// The code without the namespace that some answers put before it.
fn short_code(code: &str) -> String {
    code.rsplit('#').next().unwrap_or(code).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(done: &[&str], failed: &[usize]) -> Vec<usize> {
        let failed: Vec<_> =
            failed.iter().map(|&position| FailedEntry { position, sender_fault: true, code: "x".to_owned() }).collect();
        unmentioned(3, done.iter().copied(), &failed).iter().map(|entry| entry.position).collect()
    }

    #[test]
    fn what_an_answer_does_not_speak_of_is_not_done() {
        assert_eq!(open(&["0", "1", "2"], &[]), [0_usize; 0]);
        assert_eq!(open(&["0"], &[2]), [1]);
        assert_eq!(open(&[], &[]), [0_usize; 0], "all of it or nothing: it costs a redelivery at most");
        assert_eq!(open(&["7", "x", "00"], &[9]), [1, 2], "strangers say nothing of ours");
    }
}
