//! Looking into queues and tables without taking part: what a person at the sandbox may see, and no AWS would show.

use std::fmt;
use std::sync::Arc;

use tokio::sync::broadcast;

pub use super::sqs::look::{Depth, Letter};
use super::{Landing, Services, landings::Landings};

/// A view of an embedded AWS, in the region that it was started with. Cheap to clone; it keeps nothing running.
#[derive(Clone)]
pub struct Look {
    services: Arc<Services>,
    landings: Landings,
}

impl fmt::Debug for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Look").field("region", &self.services.region).finish_non_exhaustive()
    }
}

impl Look {
    pub(super) fn new(services: Arc<Services>, landings: Landings) -> Self {
        Self { services, landings }
    }

    /// Records as tables take them, from now on.
    #[must_use]
    pub fn watch_records(&self) -> broadcast::Receiver<Landing> {
        self.landings.watch()
    }

    /// How much is in a queue. One that is not there is empty.
    #[must_use]
    pub fn depth(&self, queue: &str) -> Depth {
        self.services.sqs.depth(&self.services.region, queue)
    }

    /// The messages that came last, newest first, `most` of them at most; being looked at is no receive.
    #[must_use]
    pub fn newest(&self, queue: &str, most: usize) -> Vec<Letter> {
        self.services.sqs.newest(&self.services.region, queue, most)
    }

    /// The message of that id in a queue, hidden or not.
    #[must_use]
    pub fn letter(&self, queue: &str, id: &str) -> Option<Letter> {
        self.services.sqs.letter(&self.services.region, queue, id)
    }

    /// Lets a hidden message appear now, as if its visibility timeout were over.
    pub fn appear(&self, queue: &str, id: &str) {
        self.services.sqs.appear(&self.services.region, queue, id);
    }

    /// Sends a dead letter back to the queue it came from, with its own id as `message_id` unless it has one; that queue's name.
    #[must_use]
    pub fn send_back(&self, dead_letter_queue: &str, id: &str) -> Option<String> {
        self.services.sqs.send_back(&self.services.region, dead_letter_queue, id)
    }
}
