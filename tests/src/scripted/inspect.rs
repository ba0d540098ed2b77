//! What a test sees of an AWS: calls, queues, tables, sessions, and requests outside the limits.

use std::sync::atomic::Ordering;

use super::shared::lock;
use super::{Aws, Call, Op, QueueView, Row, SeenMessage, Service, Violation, dynamodb, sqs};

impl Aws {
    /// How often an operation was called.
    #[must_use]
    pub fn count(&self, op: Op) -> u64 {
        self.shared.count(op)
    }

    /// How often the operations of a service were called.
    #[must_use]
    pub fn count_service(&self, service: Service) -> u64 {
        Op::ALL.iter().filter(|op| op.service() == service).map(|&op| self.count(op)).sum()
    }

    /// The calls of an operation, in the order they came.
    #[must_use]
    pub fn calls(&self, op: Op) -> Vec<Call> {
        lock(&self.shared.log).calls.iter().filter(|call| call.op == op).cloned().collect()
    }

    /// Every call, in the order they came.
    #[must_use]
    pub fn all_calls(&self) -> Vec<Call> {
        lock(&self.shared.log).calls.clone()
    }

    /// A queue's numbers. Panics if there is no such queue.
    #[must_use]
    pub fn queue(&self, name: &str) -> QueueView {
        sqs::view(&self.shared, name)
    }

    /// A queue's messages, in the order they were sent. Panics if there is no such queue.
    #[must_use]
    pub fn messages(&self, queue: &str) -> Vec<SeenMessage> {
        sqs::messages(&self.shared, queue)
    }

    /// A table's items by key. Panics if there is no such table.
    #[must_use]
    pub fn rows(&self, table: &str) -> Vec<Row> {
        dynamodb::rows(&self.shared, table)
    }

    /// How many items a table has. Panics if there is no such table.
    #[must_use]
    pub fn row_count(&self, table: &str) -> usize {
        dynamodb::row_count(&self.shared, table)
    }

    /// Connections that are open.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        lock(&self.shared.connections).len()
    }

    /// Connections that were ever opened.
    #[must_use]
    pub fn connections_opened(&self) -> u64 {
        self.shared.connections_opened.load(Ordering::SeqCst)
    }

    /// Sessions that were given out.
    #[must_use]
    pub fn sessions(&self) -> usize {
        lock(&self.shared.identity).sessions()
    }

    /// Requests that AWS would refuse; they are forgotten, so that the test does not fail for them.
    #[must_use]
    pub fn take_violations(&self) -> Vec<Violation> {
        std::mem::take(&mut lock(&self.shared.log).violations)
    }

    /// Fails if a request broke one of AWS's limits.
    #[track_caller]
    pub fn assert_clean(&self) {
        let violations = self.take_violations();
        assert!(violations.is_empty(), "AWS would refuse {} requests or entries: {violations:#?}", violations.len());
    }

    /// Leaves out the check at the end.
    pub fn leave_unchecked(&self) {
        self.unchecked.store(true, Ordering::SeqCst);
    }
}
