//! One send: a call, what SQS made of each of its entries, and what becomes of those that it did not take.

use std::sync::Arc;

use aws_sdk_sqs::error::SdkError;
use aws_sdk_sqs::operation::send_message_batch::{SendMessageBatchError, SendMessageBatchOutput};
use aws_sdk_sqs::types::BatchResultErrorEntry;
use tokio::time::Instant;

use crate::aws::{Fault, cut, describe, fault_of};
use crate::trace::{Call, Parent, Span};

use super::lane::{self, Flight, Lane, Pending};
use super::{Publisher, SendError};

impl Publisher {
    /// One send, from launch to outcome.
    pub(super) async fn carry(self, flight: Flight, batch: Vec<Pending>) {
        let lane = flight.lane().clone();
        let launched = Instant::now();
        self.0.facts.entries.record(batch.len() as f64);
        let span = self.0.tracer.is_on().then(|| {
            let links = batch.iter().filter_map(|pending| pending.span.as_ref().map(Span::parent)).collect();
            let call = Call { operation: "send", target: lane.queue.name(), count: batch.len(), began: None };
            self.0.tracer.messaging_call(call, links)
        });
        let outcome = self.call(&lane, &batch).await;
        if let (Some(Some(mut span)), Err(fault)) = (span, &outcome) {
            span.fail(fault.as_str());
        }
        match outcome {
            Ok(reply) => self.settle(&lane, batch, &reply, launched),
            Err(fault) => self.recover(&lane, batch, fault).await,
        }
        drop(flight);
        self.pump(&lane);
    }

    async fn call(&self, lane: &Lane, batch: &[Pending]) -> Result<SendMessageBatchOutput, Fault> {
        let mut entries = Vec::with_capacity(batch.len());
        for (index, pending) in batch.iter().enumerate() {
            let id = POSITIONS.get(index).copied().unwrap_or_default();
            let entry = pending.message.entry(id, &self.0.environment, pending.pooled);
            entries.push(entry.map_err(|_| Fault::Refused)?);
        }
        let call = self.0.sqs.send_message_batch().queue_url(&lane.url).set_entries(Some(entries));
        match call.send().await {
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.report(lane, &error)),
        }
    }

    fn report(&self, lane: &Lane, error: &SdkError<SendMessageBatchError>) -> Fault {
        let fault = fault_of(error);
        if lane.may_log() {
            let (fault, error) = (fault.as_str(), describe(error));
            tracing::warn!(queue = lane.queue.name(), fault, error, "messages were not sent");
        }
        fault
    }

    /// Tells each message of an answered call its own result.
    fn settle(&self, lane: &Arc<Lane>, batch: Vec<Pending>, reply: &SendMessageBatchOutput, launched: Instant) {
        let mut outcomes: Vec<Option<Entry>> = batch.iter().map(|_| None).collect();
        for sent in &reply.successful {
            if let Some(outcome) = position(&sent.id).and_then(|at| outcomes.get_mut(at)) {
                *outcome = Some(Entry::Sent);
            }
        }
        let mut said = None;
        for failed in &reply.failed {
            let fault = Fault::of_code(&failed.code).unwrap_or(if failed.sender_fault {
                Fault::Refused
            } else {
                Fault::Transient
            });
            if fault == Fault::Refused {
                refused(lane, failed, position(&failed.id).and_then(|at| batch.get(at)));
            } else {
                said.get_or_insert(failed);
            }
            if let Some(outcome) = position(&failed.id).and_then(|at| outcomes.get_mut(at)) {
                *outcome = Some(Entry::Failed(fault));
            }
        }
        let tried = batch.len();
        let (mut again, mut throttled) = (Vec::new(), false);
        let (mut taken, mut unavailable) = (0, 0);
        for (pending, outcome) in batch.into_iter().zip(outcomes) {
            // An entry that the answer does not mention was not taken for all we know; sent twice it is one record all the same.
            match outcome.unwrap_or(Entry::Failed(Fault::Transient)) {
                Entry::Sent => {
                    taken += 1;
                    self.0.facts.sent.count(&pending.message.tenant, 1);
                    pending.finish(Ok(()));
                }
                Entry::Failed(Fault::Refused) => pending.finish(Err(SendError::Refused)),
                Entry::Failed(Fault::Denied | Fault::NoCredentials | Fault::Gone) => {
                    unavailable += 1;
                    pending.finish(Err(SendError::Unavailable));
                }
                Entry::Failed(fault) => {
                    throttled |= fault == Fault::Throttled;
                    again.push(pending);
                }
            }
        }
        let left_over = again.len();
        self.0.facts.retries.increment(left_over as u64);
        if left_over + unavailable > 0 && lane.may_log() {
            let (code, error) = said.map(in_short).unwrap_or_default();
            let queue = lane.queue.name();
            tracing::warn!(queue, code, error, left_over, unavailable, taken, "SQS did not take messages of a call");
        }
        if throttled || (left_over > 1 && left_over == tried) {
            lane.troubled(again, throttled);
        } else {
            // SQS takes what it is sent, or one message alone says nothing about the others: they do not wait for it.
            lane.answered(launched.elapsed());
            self.later(lane, again);
        }
    }

    /// Puts back what SQS did not take: the first time at once, then each time after a longer pause, which is theirs alone.
    fn later(&self, lane: &Arc<Lane>, mut left_over: Vec<Pending>) {
        left_over.iter_mut().for_each(|pending| pending.failures = pending.failures.saturating_add(1));
        match left_over.iter().map(|pending| pending.failures).max() {
            None => {}
            Some(1) => lane.put_back(left_over),
            Some(failures) => {
                let (this, lane) = (self.clone(), lane.clone());
                tokio::spawn(async move {
                    tokio::time::sleep(lane::pause_after(failures)).await;
                    lane.put_back(left_over);
                    this.pump(&lane);
                });
            }
        }
    }

    /// What to do about a call that failed as a whole.
    async fn recover(&self, lane: &Arc<Lane>, mut batch: Vec<Pending>, fault: Fault) {
        match fault {
            Fault::Throttled | Fault::Transient | Fault::NoCredentials => {
                self.0.facts.retries.increment(batch.len() as u64);
                lane.troubled(batch, fault != Fault::Transient);
            }
            Fault::Denied => batch.into_iter().for_each(|pending| pending.finish(Err(SendError::Unavailable))),
            Fault::Refused if batch.len() > 1 => {
                // One of them is what SQS does not take; each for itself, so that it fails alone.
                batch.iter_mut().for_each(|pending| pending.alone = true);
                lane.put_back(batch);
            }
            Fault::Refused => batch.into_iter().for_each(|pending| pending.finish(Err(SendError::Refused))),
            Fault::Gone => {
                for pending in batch {
                    self.follow(lane, pending).await;
                }
            }
        }
    }

    /// The queue is gone: looks where the tenant's messages go now, once.
    async fn follow(&self, lane: &Arc<Lane>, mut pending: Pending) {
        self.0.directory.queue_is_gone(&pending.registered_at, &lane.queue);
        match self.0.directory.queue(&pending.registered_at).await {
            Ok(queue) if queue != lane.queue && !pending.moved => {
                pending.moved = true;
                let next = self.lane(&queue);
                next.push(pending);
                self.pump(&next);
            }
            Ok(_) | Err(_) => pending.finish(Err(SendError::Unavailable)),
        }
    }
}

/// One line about a message that SQS does not take.
fn refused(lane: &Lane, entry: &BatchResultErrorEntry, pending: Option<&Pending>) {
    let (code, error) = in_short(entry);
    let message_id = pending.map(|pending| pending.message.message_id.to_string());
    let parent = pending.and_then(|pending| Parent::read(pending.message.traceparent.as_deref()?));
    let (message_id, trace_id) = (message_id.as_deref(), parent.map(|parent| parent.trace_id()));
    tracing::warn!(
        queue = lane.queue.name(),
        code,
        error,
        message_id,
        trace_id = trace_id.as_deref(),
        "SQS refused a message"
    );
}

/// The code and the sentence of an entry that SQS did not take.
fn in_short(entry: &BatchResultErrorEntry) -> (String, String) {
    (cut(&entry.code, 80), cut(entry.message.as_deref().unwrap_or_default(), 200))
}

enum Entry {
    Sent,
    Failed(Fault),
}

/// Entry ids are places in the batch: distinct by construction.
const POSITIONS: [&str; lane::MOST_ENTRIES] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

fn position(id: &str) -> Option<usize> {
    POSITIONS.iter().position(|position| *position == id)
}
