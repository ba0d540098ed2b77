//! What sending does to messages between two calls, without AWS and without a clock: for counting what it costs. No interface
//! of this library.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Limits;
use super::lane::{Flight, Lane, Pending};
use crate::arn::QueueArn;
use crate::message::outgoing::Outgoing;
use crate::tenant::Environment;

/// What a call is said to take.
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// A lane with one call in flight, and the messages that come to it meanwhile.
#[derive(Debug)]
pub struct Gathering {
    lane: Arc<Lane>,
    messages: Vec<Outgoing>,
    producer: Environment,
    now: Instant,
}

impl Gathering {
    /// Messages to `queue` from the environment `producer`.
    #[must_use]
    pub fn new(messages: Vec<Outgoing>, queue: Arc<QueueArn>, producer: Environment) -> Self {
        // Before the lane is made, so that by its reckoning no time passes.
        let now = Instant::now();
        let url = queue.url(None);
        let limits = Limits {
            message_bytes: 262_144,
            lane_bytes: 8 * 1_048_576,
            fair_queues: true,
            metrics_tenants: 0,
            portions: None,
        };
        Self { lane: Arc::new(Lane::new(queue, url, limits)), messages, producer, now }
    }

    /// Lets them come one by one, and answers every call that may leave but the first, which stays in flight: how many messages
    /// each call had. Messages that the lane has no room for have no part in it.
    #[must_use]
    pub fn run(self) -> Vec<usize> {
        let Self { lane, messages, producer, now } = self;
        let mut calls = Vec::with_capacity(messages.len());
        let mut told = Vec::with_capacity(messages.len());
        let mut first = None;
        for message in messages {
            let size = message.size(&producer);
            let Some(room) = lane.room_now(size) else { break };
            let (tell, answer) = oneshot::channel();
            told.push(answer);
            lane.push(Pending {
                message,
                size,
                registered_at: producer.clone(),
                pooled: true,
                deadline: now + ROUND_TRIP,
                tell,
                room,
                span: None,
                alone: false,
                moved: false,
                failures: 0,
            });
            while let Some(batch) = lane.next_batch(now) {
                let flight = Flight::of(&lane);
                if first.is_none() {
                    first = Some(flight);
                } else {
                    lane.answered(ROUND_TRIP);
                }
                calls.push(batch.len());
                batch.into_iter().for_each(|pending| pending.finish(Ok(())));
            }
        }
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::outgoing::{Body, ContentType};
    use uuid::Uuid;

    #[test]
    fn behind_a_call_in_flight_messages_leave_by_tens() {
        let message = |number| Outgoing {
            tenant: "acme".parse().unwrap(),
            message_id: Uuid::from_u128(number),
            body: Body::from_json("{}"),
            content_type: ContentType::default(),
            traceparent: None,
        };
        let queue = Arc::new("arn:aws:sqs:eu-central-1:123456789012:consumer-pool-1".parse().unwrap());
        let gathering = Gathering::new((0..36).map(message).collect(), queue, "pool-1".parse().unwrap());
        assert_eq!(gathering.run(), [1, 10, 10, 10], "five wait for more");
    }
}
