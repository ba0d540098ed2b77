//! Receiving.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use aws_sdk_sqs::types::Message;
use futures_util::FutureExt as _;
use tenancy::arn::QueueArn;
use tenancy::aws::Fault;
use tenancy::message::received::Received;
use tenancy::tenant::Environment;
use tenancy::trace::{Call, Parent, Tracer};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::drain::budget::{Budget, Reservation};
use crate::drain::desk::Arrival;
use crate::drain::gauges::Gauges;
use crate::drain::limits::Limits;
use crate::drain::pace::{Ended, Pace};
use crate::drain::poison::{Poisoned, Reason, isolate};
use crate::drain::seam::{Aws, Failure};
use crate::drain::writer::Writer;
use crate::events;
use crate::liveness::Liveness;
use crate::record::Stamps;

/// What the pollers of a queue share.
#[derive(Debug)]
pub(crate) struct Poller<A> {
    pub(crate) aws: Arc<A>,
    pub(crate) environment: Environment,
    pub(crate) limits: Limits,
    pub(crate) stamps: Stamps,
    pub(crate) pace: Arc<Pace>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) liveness: Arc<Liveness>,
    pub(crate) writer: Arc<Writer<A>>,
    pub(crate) poison_tasks: TaskTracker,
    pub(crate) stopping: CancellationToken,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) tracer: Tracer,
    /// How many receives there have been.
    pub(crate) receives: AtomicU64,
}

impl<A: Aws> Poller<A> {
    /// Polls, when it has its turn, until there are no more turns. An open poll is not cut off: that would hide what it was
    /// about to bring.
    pub(crate) async fn run(self: Arc<Self>) {
        while let Some(began) = self.pace.turn().await {
            // A turn that is not given back is one that nobody gets any more.
            let received = AssertUnwindSafe(self.receive()).catch_unwind().await;
            match received.unwrap_or_else(|_| Err(Failure::broken())) {
                Ok(ended) => {
                    self.pace.ended(began, ended);
                }
                Err(failure) => {
                    events::receive_failed(&failure);
                    if let Some(pause) = self.pace.ended(began, Ended::Failed) {
                        events::receive_backs_off(&failure, pause);
                    }
                }
            }
        }
    }

    async fn receive(&self) -> Result<Ended, Failure> {
        // A lookup is a part of the poll: one that fails is a sign of life, and one that never ends is none. Waiting for room
        // is neither; what gives room are writes, and they speak for themselves.
        let poll = self.liveness.poll();
        let queue = self.aws.queue().await.map_err(Failure::lookup)?;
        drop(poll);
        let reservation = tokio::select! {
            reservation = self.budget.reserve(self.limits.ask.most) => reservation,
            () = self.stopping.cancelled() => return Ok(Ended::Unused),
        };
        // While it waited for room, the stop or an outage may have come.
        if !self.pace.may_receive() {
            return Ok(Ended::Unused);
        }
        let poll = self.liveness.poll();
        let asked = Instant::now();
        let answer = timeout(self.limits.receive, self.aws.receive(queue.clone(), self.limits.ask)).await;
        drop(poll);
        match answer.unwrap_or_else(|_| Err(Failure::timeout(self.limits.receive))) {
            Ok(messages) => {
                let brought = messages.len();
                let useful = self.take_in(messages, &queue, reservation, asked);
                let waited = asked.elapsed() * 2 >= self.limits.ask.wait && !self.limits.ask.wait.is_zero();
                Ok(if brought > 0 && useful == 0 {
                    Ended::Useless
                } else if brought > 0 || waited {
                    Ended::Brought(brought, self.limits.ask.most)
                } else {
                    Ended::EmptyAtOnce
                })
            }
            Err(failure) => {
                if failure.fault == Fault::Gone {
                    self.aws.queue_is_gone(&queue);
                }
                Err(failure)
            }
        }
    }

    /// Passes on what can be stored and isolates what cannot. How many can be stored.
    fn take_in(
        &self,
        messages: Vec<Message>,
        queue: &Arc<QueueArn>,
        mut reservation: Reservation,
        asked: Instant,
    ) -> usize {
        let arrival = Arrival {
            queue: queue.clone(),
            hidden_until: Instant::now() + self.limits.ask.visibility,
            receive: self.receives.fetch_add(1, Ordering::Relaxed),
        };
        let mut records = Vec::with_capacity(messages.len());
        let mut poisoned = Vec::new();
        let mut traced = Vec::new();
        let (mut bytes, mut oldest, count) = (0, None::<i64>, messages.len());
        for message in messages {
            let received = Received::read(message, &self.environment);
            bytes += received.size;
            oldest = match (oldest, received.sent_at) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            if received.receipt_handle.is_empty() {
                events::unreceipted();
                continue;
            }
            let parent = received.traceparent.as_deref();
            let mut span = self.tracer.process(parent, queue.name(), &received.sqs_id);
            if let Some(span) = &mut span {
                traced.extend(parent.and_then(Parent::read));
                if let Ok(event) = &received.event {
                    span.set("tenant_plane.tenant_id", event.tenant.as_str().to_owned());
                    span.set("tenant_plane.message_id", event.message_id.clone());
                }
            }
            let ticket = reservation.ticket(received.size);
            let (record, receipt) = arrival.part(received, ticket, span);
            let reason = match record {
                Ok(record) if record.fits(&self.stamps) => {
                    records.push((record, receipt));
                    continue;
                }
                Ok(_) => Reason::TooLarge,
                Err(rejection) => Reason::Rejected(rejection),
            };
            poisoned.push(Poisoned { receipt, reason, cause: None });
        }
        if !traced.is_empty() {
            let began = SystemTime::now().checked_sub(asked.elapsed());
            let call = Call { operation: "receive", target: queue.name(), count, began };
            drop(self.tracer.messaging_call(call, traced));
        }
        if count > 0 {
            reservation.learn(bytes);
        }
        drop(reservation);
        events::received(count);
        self.gauges.received(oldest);
        let useful = records.len();
        self.writer.accept(records);
        isolate(&self.aws, &self.poison_tasks, poisoned);
        useful
    }
}
