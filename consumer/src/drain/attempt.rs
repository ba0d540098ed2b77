//! One try to get a batch of records into the table.
//!
//! `BatchWriteItem` refuses a batch as a whole when one item of it is wrong, so a batch that is refused is halved until the wrong
//! ones stand alone; the others are stored by the same try. Where even that stores nothing it is rather the table that is
//! wrong, and the rest is kept for a later try. A role that may only call `PutItem` gets the records
//! written one by one. Whether puts go through one of them finds out before the others follow: what denies batches may deny
//! puts as well, and a thousand records in hand are not a thousand calls that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// What the table can have against a record. Any other code is not held against it.
const OF_RECORDS: &[&str] = &["ValidationException", "ItemCollectionSizeLimitExceededException"];

type Batch = Vec<Arc<Record>>;

/// What came of a try.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// In the table.
    pub(crate) stored: Batch,
    /// To be tried again.
    pub(crate) again: Batch,
    /// Refused by the table, each on its own, and in which words.
    pub(crate) refused: Vec<(Arc<Record>, Failure)>,
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
    /// The last puts all failed.
    puts_fail: AtomicBool,
    tracer: Tracer,
}

#[derive(Debug, Default)]
struct Singly {
    until: Option<Instant>,
    said: bool,
}

impl<A: Aws> Attempts<A> {
    pub(crate) fn new(aws: Arc<A>) -> Self {
        Self { aws, singly: Mutex::default(), puts_fail: AtomicBool::new(false), tracer: Tracer::of_process() }
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
            let answer = answered(limit, self.aws.write(table.clone(), part.clone())).await;
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
                    outcome.refused.extend(part.pop().map(|record| (record, failure.clone())));
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
        self.puts_fail.store(true, Ordering::Relaxed);
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

    /// Each record by itself. While puts fail one goes ahead, and the others only if that one got somewhere.
    async fn put_all(&self, table: &Arc<TableArn>, mut batch: Batch, limit: Duration) -> Outcome {
        let started = Instant::now();
        let mut outcome = Outcome::default();
        if self.puts_fail.load(Ordering::Relaxed) {
            let rest = batch.split_off(batch.len().min(1));
            self.put_each(table, batch, limit, &mut outcome).await;
            if outcome.failure.is_some() {
                outcome.again.extend(rest);
                return outcome;
            }
            batch = rest;
        }
        self.put_each(table, batch, limit, &mut outcome).await;
        outcome.answered = Some(started.elapsed());
        let nothing = outcome.stored.is_empty() && outcome.refused.is_empty();
        self.puts_fail.store(nothing, Ordering::Relaxed);
        outcome
    }

    /// Each record by itself, all at a time.
    async fn put_each(&self, table: &Arc<TableArn>, batch: Batch, limit: Duration, outcome: &mut Outcome) {
        let puts = batch.into_iter().map(|record| async move {
            let span = self.span("PutItem", table, std::slice::from_ref(&record));
            let answer = answered(limit, self.aws.put(table.clone(), record.clone())).await;
            end(span, answer.as_ref().err());
            (record, answer)
        });
        for (record, answer) in join_all(puts).await {
            match answer {
                Ok(()) => outcome.stored.push(record),
                Err(failure) if failure.fault == Fault::Refused => outcome.refused.push((record, failure)),
                Err(failure) => {
                    outcome.again.push(record);
                    outcome.failure = Some(failure);
                }
            }
        }
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

/// What came of a call that may take `limit`.
async fn answered<T>(limit: Duration, call: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let answer = timeout(limit, call).await.unwrap_or_else(|_| Err(Failure::timeout(limit)));
    answer.map_err(|failure| failure.unless_refused_for(OF_RECORDS))
}

/// A call is over.
fn end(span: Option<Span>, failure: Option<&Failure>) {
    if let (Some(mut span), Some(failure)) = (span, failure) {
        span.fail(failure.fault.as_str());
    }
}
