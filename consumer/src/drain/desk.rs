//! What is in hand: records that were received and are not in the table yet, and the messages that each of them stands for.
//!
//! One key is written by one call at a time. A message that comes again, or another one with the same key, joins the record
//! that is there: before it is written the later one takes its place (one write, the last wins), while it is written
//! the same message only leaves its new receipt handle, and another one waits for its own write.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tenancy::arn::QueueArn;
use tenancy::message::received::{Received, Rejection};
use tenancy::trace::{Parent, Span};
use tokio::time::Instant;

use crate::drain::budget::Ticket;
use crate::record::{ByKey, Record};

/// What is needed to end a message's life in the queue.
#[derive(Debug)]
pub(crate) struct Receipt {
    /// Where it came from.
    pub(crate) queue: Arc<QueueArn>,
    /// Deletes it. A message that is received again has a new one, and then only that is sure to work.
    pub(crate) handle: String,
    /// SQS's own id: the same each time it is received.
    pub(crate) sqs_id: String,
    /// How often it has been received.
    pub(crate) receives: u32,
    /// When SQS took it, in milliseconds since 1970.
    pub(crate) sent_at: Option<i64>,
    /// Until when others do not see it.
    pub(crate) hidden_until: Instant,
    /// Which receive brought it.
    pub(crate) receive: u64,
    /// Its share of what may be in flight.
    pub(crate) ticket: Ticket,
    /// The trace that it says it belongs to.
    pub(crate) traceparent: Option<String>,
    /// Its span, if that trace is taken: until its record is stored.
    pub(crate) span: Option<Span>,
}

/// What the messages of one receive have in common.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// See [`Receipt::queue`].
    pub(crate) queue: Arc<QueueArn>,
    /// See [`Receipt::hidden_until`].
    pub(crate) hidden_until: Instant,
    /// See [`Receipt::receive`].
    pub(crate) receive: u64,
}

impl Arrival {
    /// A received message apart: what is stored, or why nothing is, and what ends its life in the queue.
    pub(crate) fn part(
        &self,
        received: Received,
        ticket: Ticket,
        span: Option<Span>,
    ) -> (Result<Record, Rejection>, Receipt) {
        let (sent_at, parent) = (received.sent_at, span.as_ref().map(Span::parent));
        let receipt = Receipt {
            queue: self.queue.clone(),
            handle: received.receipt_handle,
            sqs_id: received.sqs_id,
            receives: received.receives,
            sent_at,
            hidden_until: self.hidden_until,
            receive: self.receive,
            ticket,
            traceparent: received.traceparent,
            span,
        };
        (received.event.map(|event| Record { event, sent_at, parent }), receipt)
    }
}

impl Receipt {
    /// What calls for several messages are linked to.
    pub(crate) fn parent(&self) -> Option<Parent> {
        self.span.as_ref().map(Span::parent)
    }

    /// The trace's id, for log lines.
    pub(crate) fn trace_id(&self) -> Option<String> {
        Parent::read(self.traceparent.as_deref()?).map(|parent| parent.trace_id())
    }

    /// Its span ends; `failed` says why, if not well.
    pub(crate) fn end_span(&mut self, failed: Option<&'static str>) {
        if let Some(span) = &mut self.span {
            if let Some(kind) = failed {
                span.fail(kind);
            }
            span.end();
        }
    }
}

#[derive(Debug)]
struct Held {
    record: Arc<Record>,
    receipts: Vec<Receipt>,
    /// By which write, while it is being written.
    writing: Option<u64>,
    /// Came while `record` was being written, and is to be written after it.
    next: Option<(Arc<Record>, Vec<Receipt>)>,
}

/// The records in hand.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    held: HashMap<ByKey, Held>,
    waiting: VecDeque<(ByKey, Instant)>,
    waiting_bytes: usize,
    /// How many writes there were.
    writes: u64,
}

impl Desk {
    /// Takes in a record that `receipt` stands for.
    pub(crate) fn add(&mut self, record: Record, receipt: Receipt, now: Instant) {
        let record = Arc::new(record);
        let key = ByKey(record.clone());
        match self.held.get_mut(&key) {
            None => self.wait(key, record, vec![receipt], now),
            Some(held) if held.writing.is_none() => {
                self.waiting_bytes += record.event.body.len();
                self.waiting_bytes -= held.record.event.body.len().min(self.waiting_bytes);
                held.record = record;
                join(&mut held.receipts, receipt);
            }
            Some(held) if held.receipts.iter().any(|known| known.sqs_id == receipt.sqs_id) => {
                join(&mut held.receipts, receipt);
            }
            Some(held) => match &mut held.next {
                None => held.next = Some((record, vec![receipt])),
                Some((next, receipts)) => {
                    *next = record;
                    join(receipts, receipt);
                }
            },
        }
    }

    fn wait(&mut self, key: ByKey, record: Arc<Record>, receipts: Vec<Receipt>, now: Instant) {
        self.waiting_bytes += record.event.body.len();
        self.waiting.push_back((key.clone(), now));
        self.held.insert(key, Held { record, receipts, writing: None, next: None });
    }

    /// Since when the oldest record waits to be written.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.waiting.front().map(|(_, since)| *since)
    }

    /// Whether the records that wait make a batch of `most` records or `most_bytes`.
    pub(crate) fn is_full(&self, most: usize, most_bytes: usize) -> bool {
        self.waiting.len() >= most || self.waiting_bytes >= most_bytes
    }

    /// The oldest records, at most `most` and, but for the first, `most_bytes` together. They count as being written.
    pub(crate) fn take(&mut self, most: usize, most_bytes: usize) -> Vec<Arc<Record>> {
        let mut batch = Vec::with_capacity(most.min(self.waiting.len()));
        let mut bytes = 0;
        self.writes += 1;
        while batch.len() < most
            && let Some((key, _)) = self.waiting.front()
        {
            let Some(held) = self.held.get_mut(key) else {
                self.waiting.pop_front();
                continue;
            };
            let size = held.record.event.body.len();
            if !batch.is_empty() && bytes + size > most_bytes {
                break;
            }
            bytes += size;
            held.writing = Some(self.writes);
            batch.push(held.record.clone());
            self.waiting_bytes -= size.min(self.waiting_bytes);
            self.waiting.pop_front();
        }
        batch
    }

    /// The record's write is decided: the messages that it stood for. What waited for it is next.
    pub(crate) fn finish(&mut self, record: &Arc<Record>, now: Instant) -> Vec<Receipt> {
        let Some(held) = self.held.remove(&ByKey(record.clone())) else { return Vec::new() };
        if let Some((next, receipts)) = held.next {
            self.wait(ByKey(next.clone()), next, receipts, now);
        }
        held.receipts
    }

    /// The number of the last batch that was taken.
    pub(crate) fn last_write(&self) -> u64 {
        self.writes
    }

    /// That write broke down: the messages of what it had not decided. What waited for its records is next.
    pub(crate) fn abandon(&mut self, write: u64, now: Instant) -> Vec<Receipt> {
        let held = self.held.values().filter(|held| held.writing == Some(write));
        let records: Vec<_> = held.map(|held| held.record.clone()).collect();
        records.iter().flat_map(|record| self.finish(record, now)).collect()
    }

    /// Records in hand.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// The messages that others would see before `before`. They count as hidden until `until` from now on.
    pub(crate) fn extend(&mut self, before: Instant, until: Instant) -> Vec<(Arc<QueueArn>, String)> {
        let mut due = Vec::new();
        for held in self.held.values_mut() {
            let next = held.next.iter_mut().flat_map(|(_, receipts)| receipts);
            for receipt in held.receipts.iter_mut().chain(next).filter(|receipt| receipt.hidden_until < before) {
                receipt.hidden_until = until;
                due.push((receipt.queue.clone(), receipt.handle.clone()));
            }
        }
        due
    }

    /// Everything, to be handed back.
    pub(crate) fn clear(&mut self) -> Vec<Receipt> {
        self.waiting.clear();
        self.waiting_bytes = 0;
        let held = std::mem::take(&mut self.held).into_values();
        held.flat_map(|held| held.receipts.into_iter().chain(held.next.into_iter().flat_map(|(_, receipts)| receipts)))
            .collect()
    }
}

/// Adds a receipt. Of the same message the ones from earlier receives give way: only the latest handle is sure to work. Two
/// that came in one receive both stay, since nothing says which is the later one.
fn join(receipts: &mut Vec<Receipt>, receipt: Receipt) {
    receipts.retain(|known| known.sqs_id != receipt.sqs_id || known.receive == receipt.receive);
    receipts.push(receipt);
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
