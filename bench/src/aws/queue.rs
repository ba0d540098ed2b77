//! A queue in memory whose every operation costs the same at any depth.
//!
//! Visible messages are a ring; received ones lie in slots that the receipt handle names; when they become visible again is
//! kept in one list for each second. So nothing is ever searched.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;

use super::md5::Hex;

/// Real receipt handles are about this long, which callers pay for.
const HANDLE_LEN: usize = 184;

/// A message, in the pieces that an answer is made of.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: Box<str>,
    /// The body as a JSON string, quotes included. Shared by messages that were made here.
    pub(crate) body: Arc<str>,
    pub(crate) body_md5: Hex,
    /// The attributes as the JSON that they were sent as, with their digest.
    pub(crate) attributes: Option<(Box<str>, Hex)>,
    /// In milliseconds since 1970.
    pub(crate) sent_at: u64,
    pub(crate) receives: u32,
}

#[derive(Debug)]
struct Slot {
    /// Tells a handle from earlier ones of the same slot.
    generation: u32,
    /// The message that is hidden, and until which second.
    hidden: Option<(Message, u64)>,
}

/// One queue. Seconds are those since the endpoint began.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    visible: VecDeque<Message>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Slots by the second in which they become visible; entries that no longer hold are passed over.
    due: HashMap<u64, Vec<(usize, u32)>>,
    /// The first second that was not looked at.
    next_due: u64,
    deleted: u64,
}

/// A receipt handle, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handle {
    slot: usize,
    generation: u32,
}

impl Handle {
    /// Reads a handle that this queue has given.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (slot, generation) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Self { slot, generation })
    }

    /// Appends the handle as callers see it.
    pub(crate) fn write(self, to: &mut Vec<u8>) {
        let begin = to.len();
        let mut text = String::with_capacity(HANDLE_LEN);
        let _ = write!(text, "{}-{}-", self.slot, self.generation);
        to.extend_from_slice(text.as_bytes());
        to.resize(begin + HANDLE_LEN.max(text.len()), b'A');
    }
}

impl Queue {
    /// Puts a message behind the others.
    pub(crate) fn push(&mut self, message: Message) {
        self.visible.push_back(message);
    }

    /// Takes the oldest visible message and hides it until second `until`; a message hidden until now is not hidden at all.
    pub(crate) fn receive(&mut self, until: u64) -> Option<(Handle, &Message)> {
        let mut message = self.visible.pop_front()?;
        message.receives += 1;
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(Slot { generation: 0, hidden: None });
        }
        let entry = self.slots.get_mut(slot)?;
        entry.generation = entry.generation.wrapping_add(1);
        let handle = Handle { slot, generation: entry.generation };
        self.due.entry(until).or_default().push((slot, handle.generation));
        let (message, _) = entry.hidden.insert((message, until));
        Some((handle, message))
    }

    /// Deletes a message. A handle that is no longer the message's latest deletes nothing, which is no error.
    pub(crate) fn delete(&mut self, handle: Handle) -> bool {
        let deleted = self.take(handle).is_some();
        self.deleted += u64::from(deleted);
        deleted
    }

    /// Hides a received message until another second; at once visible when that is not after `now`.
    pub(crate) fn hide(&mut self, handle: Handle, until: u64, now: u64) -> bool {
        if until <= now {
            let message = self.take(handle);
            let found = message.is_some();
            self.visible.extend(message);
            return found;
        }
        let Some(slot) = self.slots.get_mut(handle.slot).filter(|slot| slot.generation == handle.generation) else {
            return false;
        };
        let Some((_, hidden_until)) = &mut slot.hidden else { return false };
        *hidden_until = until;
        self.due.entry(until).or_default().push((handle.slot, handle.generation));
        true
    }

    /// Makes visible what was hidden until `now` or earlier.
    pub(crate) fn reappear(&mut self, now: u64) {
        while self.next_due <= now {
            let second = self.next_due;
            self.next_due += 1;
            for (slot, generation) in self.due.remove(&second).unwrap_or_default() {
                let holds = self
                    .slots
                    .get(slot)
                    .is_some_and(|slot| slot.hidden.as_ref().is_some_and(|(_, until)| *until == second));
                if holds {
                    let message = self.take(Handle { slot, generation });
                    self.visible.extend(message);
                }
            }
        }
    }

    fn take(&mut self, handle: Handle) -> Option<Message> {
        let slot = self.slots.get_mut(handle.slot).filter(|slot| slot.generation == handle.generation)?;
        let (message, _) = slot.hidden.take()?;
        self.free.push(handle.slot);
        Some(message)
    }

    /// Messages that a receive can take.
    pub(crate) fn visible(&self) -> usize {
        self.visible.len()
    }

    /// Messages that are received and neither deleted nor visible again.
    pub(crate) fn hidden(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Messages deleted so far.
    pub(crate) fn deleted(&self) -> u64 {
        self.deleted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str) -> Message {
        let (body, body_md5) = ("\"{}\"".into(), Hex::of(b"{}"));
        Message { id: id.into(), body, body_md5, attributes: None, sent_at: 0, receives: 0 }
    }

    fn receive(queue: &mut Queue, until: u64) -> (Handle, String, u32) {
        let (handle, message) = queue.receive(until).unwrap();
        (handle, message.id.to_string(), message.receives)
    }

    #[test]
    fn a_message_is_hidden_until_its_second_and_deleted_by_its_latest_handle_alone() {
        let mut queue = Queue::default();
        queue.push(message("a"));
        let (first, id, receives) = receive(&mut queue, 30);
        assert_eq!((id.as_str(), receives, queue.visible(), queue.hidden()), ("a", 1, 0, 1));
        queue.reappear(29);
        assert!(queue.receive(60).is_none());
        queue.reappear(30);
        let (second, _, receives) = receive(&mut queue, 60);
        assert_eq!(receives, 2);
        assert!(!queue.delete(first), "an older handle");
        assert!(queue.delete(second));
        assert!(!queue.delete(second));
        assert_eq!((queue.visible(), queue.hidden(), queue.deleted()), (0, 0, 1));
    }

    #[test]
    fn a_message_that_is_hidden_longer_stays_away_and_one_handed_back_is_there_at_once() {
        let mut queue = Queue::default();
        queue.push(message("a"));
        let (handle, ..) = receive(&mut queue, 10);
        assert!(queue.hide(handle, 20, 5));
        queue.reappear(10);
        assert_eq!(queue.visible(), 0);
        assert!(queue.hide(handle, 10, 10));
        assert_eq!(queue.visible(), 1);
        let (again, ..) = receive(&mut queue, 40);
        queue.reappear(20);
        assert_eq!(queue.visible(), 0, "the earlier second no longer holds");
        assert!(queue.delete(again));
    }

    #[test]
    fn a_handle_reads_as_it_was_written_and_has_the_length_of_a_real_one() {
        let handle = Handle { slot: 7, generation: 99 };
        let mut text = Vec::new();
        handle.write(&mut text);
        let text = String::from_utf8(text).unwrap();
        assert_eq!((text.len(), Handle::parse(&text)), (184, Some(handle)));
        assert_eq!(Handle::parse("nonsense"), None);
    }
}
