//! What draining does to messages between two calls, without AWS and without a clock: for counting what it costs. No interface
//! of this library.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sqs::types::Message;
use futures_util::FutureExt as _;
use jiff::Timestamp;
use tenancy::arn::QueueArn;
use tenancy::message::received::Received;
use tenancy::tenant::Environment;
use tokio::time::Instant;

use crate::drain::budget::{Budget, Reservation};
use crate::drain::desk::{Arrival, Desk, Receipt};
use crate::drain::gather::{Due, Gather};
use crate::drain::writer::{BATCH, BATCH_BYTES, HOLD};
use crate::record::{Record, Stamp, Stamps};

/// The consumer of one environment, as far as it makes items.
#[derive(Debug)]
pub struct Recording {
    environment: Environment,
    stamps: Stamps,
    stamp: Stamp,
}

impl Recording {
    /// Of messages from the queue of `environment`, all written at one time.
    #[must_use]
    pub fn new(environment: Environment) -> Self {
        let stamps = Stamps::new(environment.as_str(), None);
        let stamp = stamps.at(Timestamp::UNIX_EPOCH);
        Self { environment, stamps, stamp }
    }

    /// The item that a received message becomes; `None` if it cannot be stored.
    #[must_use]
    pub fn item(&self, message: Message) -> Option<HashMap<String, AttributeValue>> {
        let received = Received::read(message, &self.environment);
        let record = Record { event: received.event.ok()?, sent_at: received.sent_at, parent: None };
        record.fits(&self.stamps).then(|| record.item(&self.stamp))
    }
}

/// Received messages that are to be planned into writes.
#[derive(Debug)]
pub struct Plan {
    received: Vec<(Record, Receipt)>,
    now: Instant,
}

impl Plan {
    /// Of messages from `queue`, the queue of `environment`. Those that cannot be stored have no part in it.
    #[must_use]
    pub fn new(messages: Vec<Message>, queue: &Arc<QueueArn>, environment: &Environment) -> Self {
        let now = Instant::now();
        let budget = Budget::new(messages.len(), usize::MAX / 4);
        let arrival = Arrival { queue: queue.clone(), hidden_until: now + Duration::from_secs(30), receive: 0 };
        let mut room = budget.reserve(messages.len()).now_or_never();
        let received = messages.into_iter().filter_map(|message| {
            let received = Received::read(message, environment);
            let ticket = room.as_mut().map(|room: &mut Reservation| room.ticket(received.size))?;
            let (record, receipt) = arrival.part(received, ticket, None);
            Some((record.ok()?, receipt))
        });
        Self { received: received.collect(), now }
    }

    /// Takes them in while the queue is deep, and ends every write that is due, as stored: how many messages each had.
    #[must_use]
    pub fn run(self) -> Vec<usize> {
        let Self { received, now } = self;
        let (mut desk, mut gather) = (Desk::default(), Gather::new(HOLD));
        let mut writes = Vec::with_capacity(received.len());
        for (record, receipt) in received {
            desk.add(record, receipt, now);
            while gather.due(desk.oldest(), desk.is_full(BATCH, BATCH_BYTES), true, now) == Due::Now {
                let batch = desk.take(BATCH, BATCH_BYTES);
                gather.launched(now);
                writes.push(batch.iter().map(|record| desk.finish(record, now).len()).sum());
                gather.landed();
            }
        }
        writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_sqs::types::MessageAttributeValue;

    fn message(number: usize) -> Message {
        let text =
            |value: &str| MessageAttributeValue::builder().data_type("String").string_value(value).build().unwrap();
        Message::builder()
            .message_id(number.to_string())
            .message_attributes("tenant_id", text("acme"))
            .message_attributes("message_id", text(&format!("id-{number}")))
            .body("{}")
            .build()
    }

    #[test]
    fn at_depth_messages_are_written_by_twenty_fives() {
        let queue = Arc::new("arn:aws:sqs:eu-central-1:123456789012:q".parse().unwrap());
        let plan = Plan::new((0..60).map(message).collect(), &queue, &"acme".parse().unwrap());
        assert_eq!(plan.run(), [25, 25], "ten wait for more");
    }

    #[test]
    fn an_item_has_the_message_s_key_and_body_and_another_tenant_s_message_is_none() {
        let item = Recording::new("acme".parse().unwrap()).item(message(7)).unwrap();
        assert_eq!(item["message_id"], AttributeValue::S("id-7".to_owned()));
        assert_eq!(item["body"], AttributeValue::S("{}".to_owned()));
        assert_eq!(Recording::new("globex".parse().unwrap()).item(message(7)), None);
    }
}
