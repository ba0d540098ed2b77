//! What can be observed of draining: each fact is one function that logs and counts it.
//!
//! Log lines never hold a body. Labels are words of a fixed set, or up to a bound the tenants whose records are stored.

use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, histogram};
use tenancy::aws::Fault;
use tenancy::telemetry::tenants::ByTenant;

use crate::drain::desk::Receipt;
use crate::drain::gauges::{age, now};
use crate::drain::pace::Downstream;
use crate::drain::poison::Reason;
use crate::drain::seam::{FailedEntry, Failure};
use crate::record::Record;

/// A receive brought messages, or none.
pub(crate) fn received(messages: usize) {
    counter!("consumer_messages_received_total").increment(messages as u64);
    histogram!("consumer_receive_entries").record(messages as f64);
}

/// A receive failed.
pub(crate) fn receive_failed(failure: &Failure) {
    counter!("consumer_receive_errors_total", "kind" => failure.fault.as_str()).increment(1);
}

/// The next receive waits because of that failure.
pub(crate) fn receive_backs_off(failure: &Failure, pause: Duration) {
    tracing::warn!(
        kind = failure.fault.as_str(),
        error = %failure.text,
        next_try_ms = pause.as_millis() as u64,
        "the queue could not be read; one poller tries again"
    );
}

/// What counts stored records by tenant, so many tenants apart.
pub(crate) fn stored_by_tenant(tenants: usize) -> ByTenant {
    ByTenant::new("consumer_tenant_records_stored_total", tenants)
}

/// Records are in the table.
pub(crate) fn stored(receipts: &[Receipt], records: &[Arc<Record>], by_tenant: &ByTenant) {
    counter!("consumer_records_stored_total").increment(records.len() as u64);
    records.iter().for_each(|record| by_tenant.count(&record.event.tenant, 1));
    let latency = histogram!("consumer_record_latency_seconds");
    let now = now();
    for sent_at in receipts.iter().filter_map(|receipt| receipt.sent_at) {
        latency.record(age(sent_at, now));
    }
}

/// A write goes out.
pub(crate) fn write_started(records: usize) {
    histogram!("consumer_write_entries").record(records as f64);
}

/// A write, or a part of it, is tried again.
pub(crate) fn write_retried(failure: &Failure, records: usize, pause: Duration) {
    counter!("consumer_write_retries_total", "kind" => failure.fault.as_str()).increment(1);
    tracing::warn!(
        kind = failure.fault.as_str(),
        error = %failure.text,
        records,
        next_try_ms = pause.as_millis() as u64,
        "records could not be written; they are tried again"
    );
}

/// The table took only a part of a batch.
pub(crate) fn unprocessed(records: usize) {
    counter!("consumer_write_retries_total", "kind" => "unprocessed").increment(1);
    counter!("consumer_records_unprocessed_total").increment(records as u64);
}

/// The role has no right to batches.
pub(crate) fn writes_singly() {
    tracing::warn!(
        "the role may not call dynamodb:BatchWriteItem; records are written one by one with dynamodb:PutItem"
    );
}

/// Writes or deletes have begun to fail as a whole, or work again.
pub(crate) fn outage(what: Downstream, down: bool) {
    let what = what.as_str();
    if down {
        tracing::warn!(because = what, "receiving pauses, since what is received could not be finished");
    } else {
        tracing::info!(because = what, "receiving goes on");
    }
}

/// The table has no room for some records.
pub(crate) fn crowded() {
    tracing::warn!("the table has no room for some records; one poller goes on receiving while they are tried again");
}

/// A message cannot be stored; `cause` is what the table said to it.
pub(crate) fn poison(receipt: &Receipt, reason: Reason, cause: Option<&Failure>, hidden: Duration) {
    counter!("consumer_messages_poison_total", "reason" => reason.as_str()).increment(1);
    tracing::error!(
        reason = reason.as_str(),
        sqs_message_id = %receipt.sqs_id,
        receives = receipt.receives,
        code = cause.and_then(|cause| cause.code.as_deref()),
        error = cause.map(|cause| cause.text.as_str()),
        trace_id = receipt.trace_id().as_deref(),
        next_receive_s = hidden.as_secs(),
        "a message cannot be stored: {reason}; it is left to the queue's redrive policy"
    );
}

/// A message came without what it takes to delete it.
pub(crate) fn unreceipted() {
    counter!("consumer_messages_poison_total", "reason" => "no_receipt_handle").increment(1);
    tracing::error!("a message came without a receipt handle; it is left to redelivery");
}

/// The visibility of messages could not be changed; they come back when it runs out.
pub(crate) fn visibility_failed(error: &str, messages: usize) {
    counter!("consumer_visibility_errors_total").increment(messages as u64);
    tracing::warn!(error, messages, "the visibility of messages could not be changed");
}

/// Messages in hand stay hidden for longer.
pub(crate) fn extended(messages: usize) {
    counter!("consumer_messages_extended_total").increment(messages as u64);
}

/// A delete goes out.
pub(crate) fn delete_started(messages: usize) {
    histogram!("consumer_delete_entries").record(messages as f64);
}

/// Messages are out of the queue.
pub(crate) fn deleted(messages: usize) {
    counter!("consumer_messages_deleted_total").increment(messages as u64);
}

/// A delete is tried again.
pub(crate) fn delete_retried(kind: &'static str, error: &str, messages: usize, pause: Duration) {
    counter!("consumer_delete_retries_total", "kind" => kind).increment(1);
    tracing::warn!(
        kind,
        error,
        messages,
        next_try_ms = pause.as_millis() as u64,
        "messages could not be deleted; they are tried again"
    );
}

/// SQS did not accept entries, and would not if they were sent again.
pub(crate) fn delete_refused(entry: &FailedEntry) {
    counter!("consumer_delete_errors_total", "kind" => "refused").increment(1);
    tracing::error!(code = %entry.code, "a stored message was not deleted; it will be delivered and written again");
}

/// Deletes were given up.
pub(crate) fn delete_failed(kind: &'static str, error: &str, messages: usize) {
    counter!("consumer_delete_errors_total", "kind" => kind).increment(messages as u64);
    tracing::error!(
        kind,
        error,
        messages,
        "stored messages were not deleted; they will be delivered and written again"
    );
}

/// The drainer has ended.
pub(crate) fn drained(handed_back: usize, took: Duration) {
    counter!("consumer_messages_handed_back_total").increment(handed_back as u64);
    tracing::info!(handed_back, took_ms = took.as_millis() as u64, "draining has ended");
}

/// Records could not be read for a client.
pub(crate) fn read_failed(fault: Fault, error: &dyn std::fmt::Display) {
    counter!("consumer_read_errors_total", "kind" => fault.as_str()).increment(1);
    tracing::error!(kind = fault.as_str(), %error, "records could not be read");
}

/// A page of records was not read, since there is no memory for it now.
pub(crate) fn no_room_for_a_page() {
    counter!("http_shed_total", "because" => "memory").increment(1);
}
