//! Changing for how long messages are hidden: extending what is in hand, handing back what will not be finished.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tenancy::arn::QueueArn;
use tokio::time::timeout;

use crate::drain::seam::{Aws, Failure};
use crate::events;

/// The most entries of a call.
const BATCH: usize = 10;

/// Handles, and for how long each message is to be hidden from now on.
type Batch = Vec<(String, Duration)>;

/// So often a call is tried before the messages are left to come back by themselves.
const TRIES: u32 = 2;

/// Changes the visibility of messages, given as queue, handle and time, with as few calls as that takes. How many were
/// changed. What cannot be changed is logged; it becomes visible when its current time runs out.
pub(crate) async fn change<A: Aws>(
    aws: &A,
    changes: impl Iterator<Item = (Arc<QueueArn>, String, Duration)>,
    limit: Duration,
) -> usize {
    let mut batches: Vec<(Arc<QueueArn>, Batch)> = Vec::new();
    for (queue, handle, hidden) in changes {
        match batches.iter_mut().rev().find(|(of, batch)| *of == queue && batch.len() < BATCH) {
            Some((_, batch)) => batch.push((handle, hidden)),
            None => batches.push((queue, vec![(handle, hidden)])),
        }
    }
    let changed = batches.into_iter().map(|(queue, batch)| change_batch(aws, queue, batch, limit));
    join_all(changed).await.into_iter().sum()
}

async fn change_batch<A: Aws>(aws: &A, queue: Arc<QueueArn>, batch: Batch, limit: Duration) -> usize {
    let mut failure = Failure::timeout(limit);
    for _ in 0..TRIES {
        match timeout(limit, aws.change_visibility(queue.clone(), batch.clone())).await {
            Ok(Ok(failed)) => {
                // A handle that is not accepted belongs to a message that came back, or is gone: nothing to be done.
                if let Some(first) = failed.first() {
                    events::visibility_failed(&first.code, failed.len());
                }
                return batch.len() - failed.len().min(batch.len());
            }
            Ok(Err(error)) => failure = error,
            Err(_) => failure = Failure::timeout(limit),
        }
    }
    events::visibility_failed(&failure.text, batch.len());
    0
}
