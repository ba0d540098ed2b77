//! What may be in flight: a number of messages, and the memory that they take.
//!
//! A receive reserves before it starts, since what it brings has to be taken. How many bytes it will bring is not known, so
//! it reserves what receives have brought lately (at first: what large messages take) and settles when it is back. That
//! keeps memory within the bound but for the receives that are open when messages suddenly grow: each may bring ten times the
//! largest message once. To reserve that always would be a bound to the byte, at three receives at a time for 8 MiB.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Before anything was received, a receive is expected to bring this much: ten messages of 256 KiB.
const FIRST_EXPECTATION: usize = 10 * 262_144;

/// The least that a receive is expected to bring.
const LEAST_EXPECTATION: usize = 4_096;

/// The bounds, and what of them is used.
#[derive(Debug)]
pub(crate) struct Budget {
    used: Mutex<Used>,
    freed: Notify,
    most_messages: usize,
    most_bytes: usize,
}

#[derive(Debug)]
struct Used {
    messages: usize,
    bytes: usize,
    expected: usize,
    waiting: usize,
}

impl Budget {
    /// At most so many messages and, as far as can be known, bytes.
    pub(crate) fn new(most_messages: usize, most_bytes: usize) -> Arc<Self> {
        let used = Used { messages: 0, bytes: 0, expected: FIRST_EXPECTATION, waiting: 0 };
        Arc::new(Self { used: Mutex::new(used), freed: Notify::new(), most_messages, most_bytes })
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for `messages` of the size that was usual lately, as soon as there is. One reservation is always granted when nothing
    /// is in flight, however small the bounds.
    pub(crate) async fn reserve(self: &Arc<Self>, messages: usize) -> Reservation {
        let messages = messages.min(self.most_messages);
        loop {
            let freed = self.freed.notified();
            if let Some(reservation) = self.try_reserve(messages) {
                return reservation;
            }
            let waiting = Waiting::new(self);
            // Between the look and the counting something may have been freed without a word.
            if let Some(reservation) = self.try_reserve(messages) {
                return reservation;
            }
            freed.await;
            drop(waiting);
        }
    }

    fn try_reserve(self: &Arc<Self>, messages: usize) -> Option<Reservation> {
        let mut used = self.lock();
        let room = used.messages + messages <= self.most_messages && used.bytes + used.expected <= self.most_bytes;
        if !room && used.messages > 0 {
            return None;
        }
        used.messages += messages;
        let bytes = used.expected;
        used.bytes += bytes;
        if used.waiting > 0 {
            self.freed.notify_one();
        }
        Some(Reservation { budget: self.clone(), messages, bytes })
    }

    fn release(&self, messages: usize, bytes: usize) {
        let mut used = self.lock();
        used.messages = used.messages.saturating_sub(messages);
        used.bytes = used.bytes.saturating_sub(bytes);
        if used.waiting > 0 {
            self.freed.notify_one();
        }
    }

    /// Messages in flight and reserved.
    pub(crate) fn messages(&self) -> usize {
        self.lock().messages
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.lock().bytes
    }
}

/// Counts as waiting while it lives, so that those who free something say so only when somebody listens.
struct Waiting<'a>(&'a Budget);

impl<'a> Waiting<'a> {
    fn new(budget: &'a Budget) -> Self {
        budget.lock().waiting += 1;
        Self(budget)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

/// Room for what a receive may bring. What is not used of it goes back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    messages: usize,
    bytes: usize,
}

impl Reservation {
    /// Remembers what a receive brought in all, for the next reservations.
    pub(crate) fn learn(&self, bytes: usize) {
        let mut used = self.budget.lock();
        let faded = used.expected - used.expected / 16;
        used.expected = bytes.max(faded).max(LEAST_EXPECTATION);
    }

    /// One message's share.
    pub(crate) fn ticket(&mut self, bytes: usize) -> Ticket {
        let (covered, of_messages) = (self.bytes.min(bytes), self.messages.min(1));
        self.bytes -= covered;
        self.messages -= of_messages;
        if covered < bytes || of_messages == 0 {
            let mut used = self.budget.lock();
            used.bytes += bytes - covered;
            used.messages += 1 - of_messages;
        }
        Ticket { budget: self.budget.clone(), bytes }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.messages > 0 || self.bytes > 0 {
            self.budget.release(self.messages, self.bytes);
        }
    }
}

/// What one message takes, until it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Ticket {
    /// The message's body is not held any more.
    pub(crate) fn without_body(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes > 0 {
            self.budget.release(0, bytes);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.budget.release(1, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    const MOMENT: Duration = Duration::from_millis(1);

    async fn granted(budget: &Arc<Budget>) -> Option<Reservation> {
        timeout(MOMENT, budget.reserve(10)).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn messages_in_flight_are_bounded_and_room_that_is_not_used_goes_back() {
        let budget = Budget::new(25, usize::MAX / 2);
        let mut first = granted(&budget).await.unwrap();
        let second = granted(&budget).await.unwrap();
        assert!(granted(&budget).await.is_none());
        let ticket = first.ticket(100);
        drop(first);
        assert_eq!(budget.messages(), 11);
        drop(second);
        drop(ticket);
        assert_eq!((budget.messages(), budget.bytes()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_is_served_as_soon_as_there_is_room() {
        let budget = Budget::new(10, usize::MAX / 2);
        let first = granted(&budget).await.unwrap();
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.reserve(10).await }
        });
        tokio::time::sleep(MOMENT).await;
        assert!(!waiting.is_finished());
        drop(first);
        timeout(MOMENT, waiting).await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn large_messages_are_received_by_fewer_at_a_time() {
        let budget = Budget::new(1_000, 8 * 1_048_576);
        let first = granted(&budget).await.unwrap();
        first.learn(5 * 1_048_576);
        drop(first);
        let _one = granted(&budget).await.unwrap();
        assert!(granted(&budget).await.is_none(), "two of 5 MiB do not fit into 8");
    }

    #[tokio::test(start_paused = true)]
    async fn a_receive_that_brings_more_than_was_expected_counts_in_full_before_the_next_begins() {
        let budget = Budget::new(1_000, 1_048_576);
        for _ in 0..200 {
            granted(&budget).await.unwrap().learn(4_096);
        }
        // Small ones were usual, so two are open; both bring 900 KiB, which nobody could know.
        let (mut one, mut two) = (granted(&budget).await.unwrap(), granted(&budget).await.unwrap());
        one.learn(900 * 1_024);
        let tickets = (one.ticket(900 * 1_024), two.ticket(900 * 1_024));
        drop((one, two));
        assert_eq!(budget.bytes(), 1_800 * 1_024, "above the bound, once");
        assert!(granted(&budget).await.is_none(), "nothing more before there is room");
        drop(tickets.0);
        assert!(granted(&budget).await.is_none(), "900 KiB in flight and 900 KiB expected are above 1 MiB");
        drop(tickets.1);
        assert!(granted(&budget).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn small_messages_make_room_for_many_receives() {
        let budget = Budget::new(1_000, 1_048_576);
        for _ in 0..200 {
            granted(&budget).await.unwrap().learn(2_000);
        }
        let mut all = Vec::new();
        while let Some(reservation) = granted(&budget).await {
            all.push(reservation);
        }
        assert_eq!(all.len(), 100, "the count of messages is what bounds them");
    }

    #[tokio::test(start_paused = true)]
    async fn one_receive_goes_even_when_it_may_exceed_the_bounds() {
        let budget = Budget::new(3, 1);
        let mut only = granted(&budget).await.unwrap();
        let ticket = only.ticket(10 * 1_048_576);
        drop(only);
        assert!(granted(&budget).await.is_none());
        drop(ticket);
        assert!(granted(&budget).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_written_makes_room_before_the_message_is_deleted() {
        let budget = Budget::new(100, 1);
        let mut only = granted(&budget).await.unwrap();
        let mut ticket = only.ticket(500);
        drop(only);
        assert_eq!((budget.messages(), budget.bytes()), (1, 500));
        ticket.without_body();
        assert_eq!((budget.messages(), budget.bytes()), (1, 0));
        drop(ticket);
        assert_eq!((budget.messages(), budget.bytes()), (0, 0));
    }
}
