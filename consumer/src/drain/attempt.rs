//! One try to get a batch of records into the table.
//!
//! `BatchWriteItem` refuses a batch as a whole when one item of it is wrong, so a batch that is refused is halved until the wrong
//! ones stand alone; the others are stored by the same try. Where even that stores nothing it is rather the table that is
//! wrong, and the rest is kept for a later try. A role that may only call `PutItem` gets the records
//! written one by one.

use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tenancy::arn::TableArn;
use tenancy::aws::Fault;
use tenancy::trace::{Call, Span, Tracer};
use tokio::time::{Instant, timeout};

use crate::drain::seam::{Aws, Failure};
use crate::events;
use crate::record::Record;

/// So many records refused on their own, with none stored, speak against the table.
const DOUBTFUL: usize = 2;

/// After so long without the right to batches, they are tried again.
const SINGLY_FOR: Duration = Duration::from_secs(15 * 60);

type Batch = Vec<Arc<Record>>;

/// What came of a try.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// In the table.
    pub(crate) stored: Batch,
    /// To be tried again.
    pub(crate) again: Batch,
    /// Refused by the table, each on its own.
    pub(crate) refused: Batch,
    /// Why some are to be tried again, unless the table only had no capacity for them.
    pub(crate) failure: Option<Failure>,
    /// How long the first answer took.
    pub(crate) answered: Option<Duration>,
}

/// Makes tries. Remembers that the role may only write one by one.
#[derive(Debug)]
pub(crate) struct Attempts<A> {
    aws: Arc<A>,
    singly: Mutex<Singly>,
    tracer: Tracer,
}

#[derive(Debug, Default)]
struct Singly {
    until: Option<Instant>,
    said: bool,
}

impl<A: Aws> Attempts<A> {
    pub(crate) fn new(aws: Arc<A>) -> Self {
        Self { aws, singly: Mutex::default(), tracer: Tracer::of_process() }
    }

    /// Tries to write `batch`; each call may take `limit`.
    pub(crate) async fn write(&self, batch: Batch, limit: Duration) -> Outcome {
        let table = match self.aws.table().await {
            Ok(table) => table,
            Err(error) => return Outcome { again: batch, failure: Some(Failure::lookup(error)), ..Outcome::default() },
        };
        let outcome = if self.writes_singly() {
            self.put_all(&table, batch, limit).await
        } else {
            self.write_parts(&table, batch, limit).await
        };
        if outcome.failure.as_ref().is_some_and(|failure| failure.fault == Fault::Gone) {
            self.aws.table_is_gone(&table);
        }
        outcome
    }

    /// The batch, and its halves when it is refused.
    async fn write_parts(&self, table: &Arc<TableArn>, batch: Batch, limit: Duration) -> Outcome {
        let mut outcome = Outcome::default();
        let mut parts = vec![batch];
        while let Some(mut part) = parts.pop() {
            let started = Instant::now();
            let span = self.span("BatchWriteItem", table, &part);
            let answer = timeout(limit, self.aws.write(table.clone(), part.clone())).await;
            let answer = answer.unwrap_or_else(|_| Err(Failure::timeout(limit)));
            end(span, answer.as_ref().err());
            match answer {
                Ok(unprocessed) => {
                    outcome.answered.get_or_insert(started.elapsed());
                    for (position, record) in part.into_iter().enumerate() {
                        let left = unprocessed.contains(&position);
                        if left { outcome.again.push(record) } else { outcome.stored.push(record) }
                    }
                }
                Err(failure) if failure.fault == Fault::Refused && part.len() > 1 => {
                    let half = part.split_off(part.len() / 2);
                    parts.push(half);
                    parts.push(part);
                }
                Err(failure) if failure.fault == Fault::Refused => {
                    outcome.refused.append(&mut part);
                    if outcome.stored.is_empty() && outcome.refused.len() == DOUBTFUL {
                        outcome.again.extend(parts.drain(..).flatten());
                        outcome.failure = Some(failure);
                    }
                }
                Err(failure) if failure.is_access_denied() => {
                    part.extend(parts.into_iter().flatten());
                    return self.put_instead(table, part, limit, outcome, failure).await;
                }
                Err(failure) => {
                    // What hinders one part hinders the others.
                    outcome.again.append(&mut part);
                    outcome.again.extend(parts.drain(..).flatten());
                    outcome.failure = Some(failure);
                }
            }
        }
        outcome
    }

    /// Batches were denied. Whether that is for want of the right to batches, puts tell: if one goes through, it is.
    async fn put_instead(
        &self,
        table: &Arc<TableArn>,
        batch: Batch,
        limit: Duration,
        before: Outcome,
        denied: Failure,
    ) -> Outcome {
        let mut outcome = self.put_all(table, batch, limit).await;
        if outcome.stored.is_empty() && outcome.refused.is_empty() {
            outcome.failure = Some(denied);
        } else {
            self.remember_singly();
        }
        outcome.stored.extend(before.stored);
        outcome.refused.extend(before.refused);
        outcome.again.extend(before.again);
        outcome
    }

    async fn put_all(&self, table: &Arc<TableArn>, batch: Batch, limit: Duration) -> Outcome {
        let started = Instant::now();
        let puts = batch.into_iter().map(|record| async move {
            let span = self.span("PutItem", table, std::slice::from_ref(&record));
            let answer = timeout(limit, self.aws.put(table.clone(), record.clone())).await;
            let answer = answer.unwrap_or_else(|_| Err(Failure::timeout(limit)));
            end(span, answer.as_ref().err());
            (record, answer)
        });
        let mut outcome = Outcome::default();
        for (record, answer) in join_all(puts).await {
            match answer {
                Ok(()) => outcome.stored.push(record),
                Err(failure) if failure.fault == Fault::Refused => outcome.refused.push(record),
                Err(failure) => {
                    outcome.again.push(record);
                    outcome.failure = Some(failure);
                }
            }
        }
        outcome.answered = Some(started.elapsed());
        outcome
    }

    /// The span of a call, if any of the records is traced.
    fn span(&self, operation: &'static str, table: &TableArn, records: &[Arc<Record>]) -> Option<Span> {
        if !self.tracer.is_on() {
            return None;
        }
        let call = Call { operation, target: table.name(), count: records.len(), began: None };
        self.tracer.table_call(call, records.iter().filter_map(|record| record.parent).collect())
    }

    fn writes_singly(&self) -> bool {
        let mut singly = self.singly.lock().unwrap_or_else(PoisonError::into_inner);
        if singly.until.is_some_and(|until| until <= Instant::now()) {
            singly.until = None;
        }
        singly.until.is_some()
    }

    fn remember_singly(&self) {
        let mut singly = self.singly.lock().unwrap_or_else(PoisonError::into_inner);
        singly.until = Some(Instant::now() + SINGLY_FOR);
        if !std::mem::replace(&mut singly.said, true) {
            events::writes_singly();
        }
    }
}

/// A call is over.
fn end(span: Option<Span>, failure: Option<&Failure>) {
    if let (Some(mut span), Some(failure)) = (span, failure) {
        span.fail(failure.fault.as_str());
    }
}
