//! The messages of one queue: visible ones in the order they became so, hidden ones by the time their hiding ends.
//!
//! All operations are O(log n), and whoever waits is woken by what it waits for: a send, a visibility timeout that was set to
//! 0, or the moment at which the next hidden message appears.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::wire::Attributes;

/// One message, as the queue keeps it.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) body: String,
    pub(super) attributes: Attributes,
    pub(super) group: Option<String>,
    /// When it was sent, milliseconds since 1970.
    pub(super) sent_ms: i64,
    /// When it was first received, milliseconds since 1970.
    pub(super) first_received_ms: Option<i64>,
    /// How often it was received.
    pub(super) receives: u32,
    /// The queue it came from, for a message that a redrive policy moved.
    pub(super) dead_letter_source: Option<String>,
}

/// What a receive brought.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// Messages with their receipt handles.
    pub(super) messages: Vec<(String, Message)>,
    /// Messages that were received as often as the redrive policy allows and belong into the dead-letter queue.
    pub(super) redriven: Vec<Message>,
}

/// Numbers that `GetQueueAttributes` tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) visible: usize,
    pub(super) in_flight: usize,
    pub(super) delayed: usize,
}

/// Why a receipt handle cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandleError {
    /// It was not made by this queue.
    Malformed,
    /// The message is gone, or was received again since.
    Stale,
    /// The message is visible.
    NotInFlight,
}

#[derive(Debug)]
struct Kept {
    message: Message,
    /// Until when it is hidden; `None` while it is visible.
    hidden_until: Option<Instant>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    kept: HashMap<u64, Kept>,
    /// (order in which they became visible, message).
    visible: BTreeSet<(u64, u64)>,
    next_visible: u64,
    hidden: BTreeSet<(Instant, u64)>,
}

/// The messages of one queue.
#[derive(Debug, Default)]
pub(super) struct Messages {
    state: Mutex<State>,
    arrived: Notify,
}

impl State {
    fn show(&mut self, key: u64) {
        self.visible.insert((self.next_visible, key));
        self.next_visible += 1;
        if let Some(kept) = self.kept.get_mut(&key) {
            kept.hidden_until = None;
        }
    }

    fn hide(&mut self, key: u64, until: Instant) {
        if let Some(kept) = self.kept.get_mut(&key) {
            if let Some(before) = kept.hidden_until.replace(until) {
                self.hidden.remove(&(before, key));
            }
            self.hidden.insert((until, key));
        }
    }

    fn show_what_is_due(&mut self, now: Instant) {
        while let Some(&(until, key)) = self.hidden.first() {
            if until > now {
                break;
            }
            self.hidden.pop_first();
            self.show(key);
        }
    }

    fn remove(&mut self, key: u64) -> Option<Message> {
        let kept = self.kept.remove(&key)?;
        if let Some(until) = kept.hidden_until {
            self.hidden.remove(&(until, key));
        } else {
            self.visible.retain(|(_, visible)| *visible != key);
        }
        Some(kept.message)
    }

    /// The key of the message of that id; SQS itself offers no way to find it.
    fn key_of(&self, id: &str) -> Option<u64> {
        self.kept.iter().find(|(_, kept)| kept.message.id == id).map(|(key, _)| *key)
    }

    /// The key of the message that `handle` stands for, if it is the handle of the last receive.
    fn find(&self, handle: &str) -> Result<u64, HandleError> {
        let mut fields = handle.split('.');
        let mut next =
            || fields.next().and_then(|text| u64::from_str_radix(text, 16).ok()).ok_or(HandleError::Malformed);
        let (key, receives) = (next()?, next()?);
        match self.kept.get(&key) {
            Some(kept) if u64::from(kept.message.receives) == receives => Ok(key),
            _ if key < self.next => Err(HandleError::Stale),
            _ => Err(HandleError::Malformed),
        }
    }
}

impl Messages {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message in; it appears after `delay`.
    pub(super) fn add(&self, message: Message, delay: Duration) {
        let mut state = self.lock();
        let key = state.next;
        state.next += 1;
        state.kept.insert(key, Kept { message, hidden_until: None });
        if delay.is_zero() {
            state.show(key);
        } else {
            state.hide(key, Instant::now() + delay);
        }
        drop(state);
        // Also for a delayed one: who waits must learn of the new moment to wake at.
        self.arrived.notify_waiters();
    }

    /// Receives up to `max` visible messages now and hides them for `visibility`. One that was already received `max_receives`
    /// times is redriven instead.
    pub(super) fn take(&self, max: usize, visibility: Duration, max_receives: Option<u32>, now_ms: i64) -> Received {
        let now = Instant::now();
        let mut received = Received::default();
        let mut state = self.lock();
        state.show_what_is_due(now);
        while received.messages.len() < max {
            let Some((_, key)) = state.visible.pop_first() else { break };
            let Some(kept) = state.kept.get_mut(&key) else { continue };
            if max_receives.is_some_and(|max| kept.message.receives >= max) {
                received.redriven.extend(state.kept.remove(&key).map(|kept| kept.message));
                continue;
            }
            kept.message.receives += 1;
            kept.message.first_received_ms.get_or_insert(now_ms);
            let handle = format!("{key:x}.{:x}.{}", kept.message.receives, super::random_id());
            received.messages.push((handle, kept.message.clone()));
            state.hide(key, now + visibility);
        }
        received
    }

    /// Waits until a message may have appeared, but not past `deadline`.
    pub(super) async fn wait(&self, deadline: Instant) {
        let arrived = self.arrived.notified();
        tokio::pin!(arrived);
        // From here on no arrival is missed, though we look at the state only now.
        arrived.as_mut().enable();
        let next = {
            let state = self.lock();
            if !state.visible.is_empty() {
                return;
            }
            state.hidden.first().map_or(deadline, |(until, _)| deadline.min(*until))
        };
        tokio::select! {
            () = arrived => {}
            () = tokio::time::sleep_until(next) => {}
        }
    }

    /// Deletes a received message. A stale handle deletes nothing and is no error, as on AWS.
    pub(super) fn delete(&self, handle: &str) -> Result<(), HandleError> {
        let mut state = self.lock();
        let key = match state.find(handle) {
            Ok(key) => key,
            Err(HandleError::Stale) => return Ok(()),
            Err(error) => return Err(error),
        };
        state.remove(key);
        Ok(())
    }

    /// Hides a message in flight for `visibility` from now; with zero it appears at once.
    pub(super) fn change_visibility(&self, handle: &str, visibility: Duration) -> Result<(), HandleError> {
        let now = Instant::now();
        let mut state = self.lock();
        state.show_what_is_due(now);
        let key = state.find(handle)?;
        if state.kept.get(&key).is_none_or(|kept| kept.hidden_until.is_none()) {
            return Err(HandleError::NotInFlight);
        }
        state.hide(key, now + visibility);
        state.show_what_is_due(now);
        drop(state);
        self.arrived.notify_waiters();
        Ok(())
    }

    /// Deletes every message. Who waits looks again: the queue itself may be gone.
    pub(super) fn purge(&self) {
        let mut state = self.lock();
        state.kept.clear();
        state.visible.clear();
        state.hidden.clear();
        drop(state);
        self.arrived.notify_waiters();
    }

    /// How many messages it ever took in.
    pub(super) fn total(&self) -> u64 {
        self.lock().next
    }

    /// The messages that came last, newest first. Nothing is received by it.
    pub(super) fn newest(&self, most: usize) -> Vec<Message> {
        let state = self.lock();
        let mut keys: Vec<u64> = state.kept.keys().copied().collect();
        keys.sort_unstable_by(|a, b| b.cmp(a));
        keys.iter().take(most).filter_map(|key| Some(state.kept.get(key)?.message.clone())).collect()
    }

    /// The message of that id, hidden or not.
    pub(super) fn get(&self, id: &str) -> Option<Message> {
        let state = self.lock();
        state.key_of(id).and_then(|key| state.kept.get(&key)).map(|kept| kept.message.clone())
    }

    /// Takes the message of that id out.
    pub(super) fn remove(&self, id: &str) -> Option<Message> {
        let mut state = self.lock();
        let key = state.key_of(id)?;
        state.remove(key)
    }

    /// Ends the hiding of the message of that id.
    pub(super) fn appear(&self, id: &str) {
        let mut state = self.lock();
        let hidden = state.key_of(id).filter(|key| state.kept.get(key).is_some_and(|kept| kept.hidden_until.is_some()));
        let Some(key) = hidden else { return };
        state.hide(key, Instant::now());
        state.show_what_is_due(Instant::now());
        drop(state);
        self.arrived.notify_waiters();
    }

    /// How many messages there are, by what can be done with them.
    pub(super) fn counts(&self) -> Counts {
        let mut state = self.lock();
        state.show_what_is_due(Instant::now());
        let hidden = state.hidden.iter().filter_map(|(_, key)| state.kept.get(key));
        let delayed = hidden.filter(|kept| kept.message.receives == 0).count();
        Counts { visible: state.visible.len(), in_flight: state.hidden.len() - delayed, delayed }
    }
}
