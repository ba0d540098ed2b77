//! The log of requests: [`Call`], how each ended, and the [`Violation`]s of AWS's limits.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use serde_json::Value;

use super::op::Op;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Not yet.
    Open,
    /// Answered with this status.
    Answered(u16),
    /// The script cut the connection.
    Cut,
    /// The client went away before it was answered.
    Abandoned,
}

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Call {
    /// The operation.
    pub op: Op,
    /// Its place among the calls of this operation, from 1.
    pub number: u64,
    /// When its last byte came.
    pub arrived: Instant,
    /// The same by the clock on the wall.
    pub arrived_at: SystemTime,
    /// The queue, table or first parameter that it names.
    pub target: Arc<str>,
    /// The access key it was signed with; empty if none.
    pub access_key: Arc<str>,
    /// Method and path, for requests that are none of AWS's.
    pub path: Arc<str>,
    /// The body as it came.
    pub body: Bytes,
    /// How it ended.
    pub outcome: Outcome,
    /// When it ended.
    pub ended: Option<Instant>,
}

impl Call {
    /// The body as JSON, `null` if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The entries of a batch, or the write requests of a `BatchWriteItem` whatever their table.
    #[must_use]
    pub fn entries(&self) -> Vec<Value> {
        let body = self.json();
        if let Some(tables) = body["RequestItems"].as_object() {
            return tables.values().flat_map(|writes| writes.as_array().cloned().unwrap_or_default()).collect();
        }
        body["Entries"].as_array().cloned().unwrap_or_default()
    }
}

/// A request that AWS would refuse because of what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The operation.
    pub op: Op,
    /// The call's number among those of the operation.
    pub number: u64,
    /// The code AWS answers with.
    pub code: String,
    /// What is wrong.
    pub message: String,
}

/// All calls and violations. Calls are kept only while `keep` is set, so that a benchmark stays flat.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) keep: bool,
    pub(crate) calls: Vec<Call>,
    pub(crate) violations: Vec<Violation>,
}

/// More are counted but not kept: one is enough to fail a test.
const KEPT_VIOLATIONS: usize = 1_000;

impl Log {
    /// Keeps the call and gives its place.
    pub(crate) fn add(&mut self, call: Call) -> Option<usize> {
        self.keep.then(|| {
            self.calls.push(call);
            self.calls.len() - 1
        })
    }

    pub(crate) fn end(&mut self, place: Option<usize>, outcome: Outcome) {
        if let Some(call) = place.and_then(|place| self.calls.get_mut(place)) {
            call.outcome = outcome;
            call.ended = Some(Instant::now());
        }
    }

    pub(crate) fn violate(&mut self, violation: Violation) {
        if self.violations.len() < KEPT_VIOLATIONS {
            self.violations.push(violation);
        }
    }
}
