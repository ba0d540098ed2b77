//! Sending to SQS: gathered into batches, a lane a queue.
//!
//! No lingering: alone, a message goes out at once, and without a timer. While a send is in flight, what comes in gathers; ten of them
//! leave at once as a full `SendMessageBatch`, fewer leave when nothing is in flight any more or when the last send left a
//! round trip ago (so that one stuck call holds nobody up). So the number of sends in flight follows the load, and at load a
//! message costs a tenth of a call.
//!
//! Each message gets its own result. What SQS refuses fails alone; what it throttles or does not answer is tried again within
//! the request's deadline. A lane is bounded; one slow or throttled queue fills its own lane and delays nobody else.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;
use tokio::time::Instant;
use uuid::Uuid;

use crate::arn::QueueArn;
use crate::aws::Clients;
use crate::directory::Directory;
use crate::message::outgoing::Outgoing;
use crate::problem::Problem;
use crate::registry::Route;
use crate::server::{Portion, Portions};
use crate::tenant::Environment;
use crate::trace::Tracer;

mod error;
mod facts;
mod lane;
mod ride;
mod send;
#[doc(hidden)]
pub mod steps;

pub use error::SendError;
use facts::Facts;
use lane::{Flight, Lane, Pending, Room};
use ride::Ride;

/// Sends messages to the queues of tenants. Cheap to clone; clones share their lanes.
#[derive(Debug, Clone)]
pub struct Publisher(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sqs: aws_sdk_sqs::Client,
    endpoint: Option<String>,
    directory: Directory,
    environment: Environment,
    limits: Limits,
    /// One for each queue that was sent to: bounded by the queues that parameters name.
    lanes: RwLock<HashMap<Arc<QueueArn>, Arc<Lane>>>,
    facts: Facts,
    tracer: Tracer,
}

/// What a publisher holds at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message, attributes included, and of all messages in one call (`MAX_MESSAGE_BYTES`).
    pub message_bytes: usize,
    /// Bytes of the messages in one lane.
    pub lane_bytes: usize,
    /// Whether messages on a queue that tenants share name theirs as their group (`FAIR_QUEUES`).
    pub fair_queues: bool,
    /// Tenants that have a series of their own where messages are counted by tenant (`METRICS_TENANTS`).
    pub metrics_tenants: usize,
    /// What the requests for one queue may have of the process, where it serves several.
    pub portions: Option<Portions>,
}

impl Publisher {
    /// A publisher whose messages say that they come from `environment`.
    #[must_use]
    pub fn new(clients: &Clients, directory: Directory, environment: Environment, limits: Limits) -> Self {
        Self(Arc::new(Inner {
            sqs: clients.sqs.clone(),
            endpoint: clients.sqs_endpoint.clone(),
            directory,
            environment,
            limits,
            lanes: RwLock::default(),
            facts: Facts::new(limits.metrics_tenants),
            tracer: Tracer::of_process(),
        }))
    }

    /// Sets the gauges of the lanes.
    pub fn sample(&self) {
        let lanes = self.0.lanes.read().unwrap_or_else(PoisonError::into_inner);
        let (mut all, mut deepest) = (0, 0);
        for lane in lanes.values() {
            let messages = lane.messages();
            all += messages;
            deepest = deepest.max(messages);
        }
        self.0.facts.depth(lanes.len(), all, deepest);
    }

    /// The part of the process that requests for this queue may have; `None` where it serves one queue only.
    #[must_use]
    pub fn portion(&self, route: &Route) -> Option<Portion> {
        self.0.limits.portions?;
        self.lane(&route.queue).portion.clone()
    }

    /// Whether SQS can take a message of this size.
    ///
    /// # Errors
    /// 413 with the limit, which counts body and attributes in bytes.
    pub fn check_size(&self, message: &Outgoing) -> Result<(), Problem> {
        let most = self.0.limits.message_bytes;
        if message.size(&self.0.environment) <= most {
            return Ok(());
        }
        Err(Problem::TooLarge(most, "an event with its attributes"))
    }

    /// Sends a message; returns when SQS has it.
    ///
    /// # Errors
    /// [`SendError`]: too large, lane full, refused, or not taken by `deadline`.
    pub async fn send(&self, route: &Route, mut message: Outgoing, deadline: Instant) -> Result<(), SendError> {
        let size = self.size_of(&mut message)?;
        let lane = self.lane(&route.queue);
        let room = lane.room_now(size).ok_or_else(|| {
            self.0.facts.shed.increment(1);
            SendError::Full
        })?;
        let id = message.message_id;
        let told = self.enqueue(&lane, route, message, size, room, deadline);
        let ride = self.ride(&lane, id);
        self.pump(&lane);
        let told = async {
            if let Some(ride) = ride {
                ride.await;
            }
            told.await
        };
        outcome(told, deadline).await
    }

    /// As [`Publisher::send`], but waits for room in its lane, and leaves half of the lane to others.
    ///
    /// # Errors
    /// As [`Publisher::send`], without a full lane.
    pub async fn send_waiting(&self, route: &Route, mut message: Outgoing, deadline: Instant) -> Result<(), SendError> {
        let size = self.size_of(&mut message)?;
        let lane = self.lane(&route.queue);
        let room = tokio::time::timeout_at(deadline, lane.room_in_time(size)).await;
        let room = room.map_err(|_| SendError::Deadline)?;
        let told = self.enqueue(&lane, route, message, size, room, deadline);
        // The sends of a batch are tasks of their own, so that every core takes part.
        self.pump(&lane);
        outcome(told, deadline).await
    }

    /// The message's size, if SQS takes that. A trace must not cost anyone an event: where there is no room for its context, the
    /// event goes without.
    fn size_of(&self, message: &mut Outgoing) -> Result<usize, SendError> {
        let most = self.0.limits.message_bytes;
        let mut size = message.size(&self.0.environment);
        if size > most && message.traceparent.take().is_some() {
            size = message.size(&self.0.environment);
        }
        if size > most { Err(SendError::TooLarge(most)) } else { Ok(size) }
    }

    fn enqueue(
        &self,
        lane: &Lane,
        route: &Route,
        mut message: Outgoing,
        size: usize,
        room: Room,
        deadline: Instant,
    ) -> oneshot::Receiver<Result<(), SendError>> {
        let (tenant, id) = (message.tenant.as_str(), &message.message_id);
        let span = self.0.tracer.create(message.traceparent.as_deref(), lane.queue.name(), tenant, id);
        if let Some(span) = &span {
            message.traceparent = Some(span.traceparent());
        }
        let (tell, told) = oneshot::channel();
        let registered_at = route.registered_at.clone();
        let pooled = route.pooled && self.0.limits.fair_queues;
        let (alone, moved, failures) = (false, false, 0);
        let pending =
            Pending { message, size, registered_at, pooled, deadline, tell, room, span, alone, moved, failures };
        lane.push(pending);
        told
    }

    /// Launches one send if one may leave now; the request of `id` drives it if that is in it.
    fn ride(&self, lane: &Arc<Lane>, id: Uuid) -> Option<Ride> {
        let batch = lane.next_batch(Instant::now())?;
        let its_own = batch.iter().any(|pending| pending.message.message_id == id);
        let send = self.clone().carry(Flight::of(lane), batch);
        if its_own {
            return Some(Ride::new(send));
        }
        tokio::spawn(send);
        None
    }

    fn lane(&self, queue: &Arc<QueueArn>) -> Arc<Lane> {
        if let Some(lane) = self.0.lanes.read().unwrap_or_else(PoisonError::into_inner).get(queue) {
            return lane.clone();
        }
        let mut lanes = self.0.lanes.write().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.entry(queue.clone()).or_insert_with(|| {
            let url = queue.url(self.0.endpoint.as_deref());
            Arc::new(Lane::new(queue.clone(), url, self.0.limits))
        });
        lane.clone()
    }

    /// Launches what may leave now, and sees to it that what may not is looked at again in time.
    fn pump(&self, lane: &Arc<Lane>) {
        while let Some(batch) = lane.next_batch(Instant::now()) {
            tokio::spawn(self.clone().carry(Flight::of(lane), batch));
        }
        if let Some(due) = lane.set_alarm() {
            let (this, lane) = (self.clone(), lane.clone());
            tokio::spawn(async move {
                tokio::time::sleep_until(due).await;
                lane.alarm_rang();
                this.pump(&lane);
            });
        }
    }
}

/// What a message is told, at the latest at its deadline.
async fn outcome(
    told: impl Future<Output = Result<Result<(), SendError>, RecvError>>,
    deadline: Instant,
) -> Result<(), SendError> {
    match tokio::time::timeout_at(deadline, told).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(SendError::Unavailable),
        Err(_) => Err(SendError::Deadline),
    }
}

#[cfg(test)]
#[path = "publisher/tests.rs"]
mod tests;
