//! The state of the endpoint, and what each operation does to it. Knows nothing of sockets.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use super::op::{Counts, Op};
use super::queue::Queue;
use crate::clock;

/// Who waits for an answer: a connection, and which of those that had its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) connection: usize,
    pub(crate) generation: u64,
}

/// A receive that waits for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Poll {
    pub(crate) queue: usize,
    pub(crate) most: usize,
    /// In seconds.
    pub(crate) visibility: u64,
    pub(crate) system_attributes: bool,
    pub(crate) attributes: bool,
}

/// What an operation came to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The answer is written. Entries carried out, and a queue that may have got messages.
    Done(usize, Option<usize>),
    /// A receive found nothing and may wait so many seconds.
    Waits(Poll, u64),
}

impl Outcome {
    pub(super) fn done(entries: usize) -> Self {
        Self::Done(entries, None)
    }

    pub(super) fn changed(entries: usize, queue: usize) -> Self {
        Self::Done(entries, Some(queue))
    }
}

/// An error answer.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: &'static str,
    text: String,
}

impl Failure {
    pub(super) fn refused(kind: &'static str, text: &str) -> Self {
        Self { kind, text: text.to_owned() }
    }

    pub(super) fn handle() -> Self {
        Self::refused("com.amazonaws.sqs#ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
    }

    pub(super) fn unknown() -> Self {
        Self::refused("com.amazon.coral.service#UnknownOperationException", "This endpoint has no such operation.")
    }

    /// The refusal of a call that was one too many.
    pub(super) fn throttled(op: Op) -> Self {
        let kind = match op {
            Op::PutItem | Op::BatchWriteItem => {
                "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
            }
            _ => "com.amazonaws.sqs#RequestThrottled",
        };
        Self::refused(kind, "Rate exceeded")
    }

    /// The answer's body.
    pub(super) fn json(&self) -> String {
        serde_json::json!({"__type": self.kind, "message": self.text}).to_string()
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self { kind: "com.amazon.coral.service#SerializationException", text: error.to_string() }
    }
}

/// A queue, and who waits at it.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub(super) queue: Queue,
    pub(super) waiting: VecDeque<(Ticket, Poll)>,
}

/// Queues, tables and counts.
#[derive(Debug)]
pub(crate) struct Cloud {
    began: Instant,
    names: HashMap<Box<str>, usize>,
    places: Vec<Place>,
    /// By table, tenant and id, all in one text: when the record was first written, in microseconds since 1970.
    tables: HashMap<Box<str>, HashMap<Box<str>, u64>>,
    pub(super) counts: Counts,
    last_id: u64,
}

impl Cloud {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            names: HashMap::new(),
            places: Vec::new(),
            tables: HashMap::new(),
            counts: Counts::default(),
            last_id: 0,
        }
    }

    /// Carries out an operation; the answer's body goes to `out`.
    pub(super) fn perform(&mut self, op: Op, body: &[u8], host: &str, out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        let outcome = match op {
            Op::SendMessage => self.send(body, out),
            Op::SendMessageBatch => self.send_batch(body, out),
            Op::ReceiveMessage => self.receive(body, out),
            Op::DeleteMessage => self.delete(body, out),
            Op::DeleteMessageBatch => self.delete_batch(body, out),
            Op::ChangeMessageVisibility => self.hide(body, out),
            Op::ChangeMessageVisibilityBatch => self.hide_batch(body, out),
            Op::GetQueueUrl => self.queue_url(body, host, out),
            Op::GetQueueAttributes => self.queue_attributes(body, out),
            Op::PutItem => self.put_item(body, out),
            Op::BatchWriteItem => self.batch_write(body, out),
            Op::DescribeTable => self.describe_table(body, out),
            Op::GetParameter => self.get_parameter(body, out),
            Op::GetParameters => self.get_parameters(body, out),
            Op::GetCallerIdentity => Ok(super::sts::caller_identity(out)),
        }?;
        if let Outcome::Done(entries, _) = outcome {
            self.counts.carried(op, entries);
        }
        Ok(outcome)
    }

    /// The number of a queue; it is there as soon as it is named.
    pub(super) fn queue(&mut self, name: &str) -> usize {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let number = self.places.len();
        self.places.push(Place::default());
        self.names.insert(name.into(), number);
        number
    }

    /// A queue by its number.
    pub(super) fn at(&mut self, number: usize) -> &mut Place {
        if self.places.len() <= number {
            self.places.resize_with(number + 1, Place::default);
        }
        &mut self.places[number]
    }

    /// Seconds since the beginning.
    pub(super) fn second(&self) -> u64 {
        self.began.elapsed().as_secs()
    }

    /// Makes messages visible whose time has come.
    pub(super) fn reappear(&mut self, queue: usize) {
        let now = self.second();
        self.at(queue).queue.reappear(now);
    }

    /// Every queue's number.
    pub(super) fn queues(&self) -> std::ops::Range<usize> {
        0..self.places.len()
    }

    pub(super) fn next_id(&mut self) -> Box<str> {
        self.last_id += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.last_id).into()
    }

    pub(super) fn record(&mut self, table: &str, key: Box<str>) {
        if !self.tables.contains_key(table) {
            self.tables.insert(table.into(), HashMap::new());
        }
        if let Some(records) = self.tables.get_mut(table) {
            records.entry(key).or_insert_with(clock::epoch_micros);
        }
    }

    /// How many records there are in all tables.
    pub(super) fn records(&self) -> usize {
        self.tables.values().map(HashMap::len).sum()
    }

    /// Each record as a line: tenant, id, microseconds since 1970.
    pub(super) fn record_lines(&self) -> String {
        let mut lines = String::new();
        for (key, at) in self.tables.values().flatten() {
            lines.push_str(key);
            lines.push_str(&format!("\t{at}\n"));
        }
        lines
    }

    /// Forgets every message and record. Who waits at a queue goes on waiting.
    pub(super) fn clear(&mut self) {
        self.places.iter_mut().for_each(|place| place.queue = Queue::default());
        self.tables.clear();
        self.counts = Counts::default();
    }
}
