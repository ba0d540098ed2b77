//! The seam between draining and AWS: the calls that draining makes, and what comes back. [`super::calls`] makes them with the
//! SDK, tests with a script.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::Message;
use tenancy::arn::{QueueArn, TableArn};
use tenancy::aws::Fault;
use tenancy::directory::LookupError;

use crate::record::Record;

/// Why a call failed as a whole.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// What helps against it.
    pub(crate) fault: Fault,
    /// AWS's code for it, where AWS answered.
    pub(crate) code: Option<String>,
    /// The whole story, for a log line.
    pub(crate) text: String,
    /// There was no answer within the time that the call may take.
    pub(crate) timed_out: bool,
}

impl Failure {
    /// No answer within `limit`.
    pub(crate) fn timeout(limit: Duration) -> Self {
        let text = format!("no answer within {limit:?}");
        Self { fault: Fault::Transient, code: None, text, timed_out: true }
    }

    /// The call was not made, since it is not known where to.
    pub(crate) fn lookup(error: LookupError) -> Self {
        let fault = if error == LookupError::NotFound { Fault::Gone } else { Fault::Transient };
        Self { fault, code: None, text: error.to_string(), timed_out: false }
    }

    /// The table had no capacity for any record of a batch.
    pub(crate) fn no_capacity() -> Self {
        Self { fault: Fault::Throttled, code: None, text: "no record was processed".to_owned(), timed_out: false }
    }

    /// The answer says nothing of what is stored, or something about records that were not written.
    pub(crate) fn unreadable() -> Self {
        let text = "the answer leaves it open which records are stored".to_owned();
        Self { fault: Fault::Transient, code: None, text, timed_out: false }
    }

    /// A panic came out of it.
    pub(crate) fn broken() -> Self {
        Self { fault: Fault::Transient, code: None, text: "a bug of ours".to_owned(), timed_out: false }
    }

    /// A refusal as it stands if it is for one of `reasons`, or for its size without a code. Other words for "no" are a gateway's or
    /// news to us: they say nothing of what was in the call, and the same may be taken a moment later.
    pub(crate) fn unless_refused_for(mut self, reasons: &[&str]) -> Self {
        let known = self.code.as_deref().is_none_or(|code| reasons.contains(&code));
        if self.fault == Fault::Refused && !known {
            self.fault = Fault::Transient;
        }
        self
    }

    /// The role may not make this call at all, as opposed to an identity that is not accepted.
    pub(crate) fn is_access_denied(&self) -> bool {
        self.code.as_deref().is_some_and(|code| matches!(code, "AccessDeniedException" | "AccessDenied"))
    }
}

/// An entry of a batch that AWS did not accept.
#[derive(Debug, Clone)]
pub(crate) struct FailedEntry {
    /// Where it stood in the batch.
    pub(crate) position: usize,
    /// Whether sending it again is pointless.
    pub(crate) sender_fault: bool,
    /// AWS's code.
    pub(crate) code: String,
}

/// What a receive asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    /// At most so many messages, 1 to 10.
    pub(crate) most: usize,
    /// How long the queue may hold an empty answer back, in whole seconds.
    pub(crate) wait: Duration,
    /// For how long the messages are hidden from others, in whole seconds.
    pub(crate) visibility: Duration,
}

/// The calls. None of them retries; how long one may take is for the caller to say, and a call that is dropped is
/// abandoned. Batches are never empty.
pub(crate) trait Aws: Send + Sync + 'static {
    /// Which queue is drained.
    fn queue(&self) -> impl Future<Output = Result<Arc<QueueArn>, LookupError>> + Send;

    /// Which table is written.
    fn table(&self) -> impl Future<Output = Result<Arc<TableArn>, LookupError>> + Send;

    /// AWS does not know this queue.
    fn queue_is_gone(&self, queue: &QueueArn);

    /// AWS does not know this table.
    fn table_is_gone(&self, table: &TableArn);

    /// `ReceiveMessage`
    fn receive(&self, queue: Arc<QueueArn>, ask: Ask) -> impl Future<Output = Result<Vec<Message>, Failure>> + Send;

    /// `DeleteMessageBatch` of up to 10 handles; what was not deleted.
    fn delete(
        &self,
        queue: Arc<QueueArn>,
        handles: Vec<String>,
    ) -> impl Future<Output = Result<Vec<FailedEntry>, Failure>> + Send;

    /// `ChangeMessageVisibilityBatch` of up to 10 handles, each with its own time in whole seconds; what was not changed.
    fn change_visibility(
        &self,
        queue: Arc<QueueArn>,
        changes: Vec<(String, Duration)>,
    ) -> impl Future<Output = Result<Vec<FailedEntry>, Failure>> + Send;

    /// `BatchWriteItem` of up to 25 records with distinct keys; the positions of those that were not processed.
    fn write(
        &self,
        table: Arc<TableArn>,
        records: Vec<Arc<Record>>,
    ) -> impl Future<Output = Result<Vec<usize>, Failure>> + Send;

    /// `PutItem`
    fn put(&self, table: Arc<TableArn>, record: Arc<Record>) -> impl Future<Output = Result<(), Failure>> + Send;
}
