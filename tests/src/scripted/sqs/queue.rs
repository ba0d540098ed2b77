//! One queue: messages that are visible, in flight or delayed, each operation in constant time whatever its depth.
//!
//! Messages live in slots. The line of visible ones and the clock of hidden ones hold (slot, serial number) and are
//! cleaned as they are read, so that a delete touches neither.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How a queue is set up.
#[derive(Clone, Debug)]
pub struct QueueSpec {
    pub(crate) name: String,
    pub(crate) visibility: Duration,
    pub(crate) max_message_bytes: usize,
    pub(crate) redrive: Option<(String, u32)>,
}

impl QueueSpec {
    /// A queue with SQS's defaults (visibility 30 s), messages of at most 262,144 bytes and no redrive.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), visibility: Duration::from_secs(30), max_message_bytes: 262_144, redrive: None }
    }

    /// The visibility timeout of receives that do not bring their own.
    #[must_use]
    pub fn visibility(mut self, timeout: Duration) -> Self {
        self.visibility = timeout;
        self
    }

    /// `MaximumMessageSize`: bytes of body and attributes.
    #[must_use]
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// After `max_receives` receives a message goes to `queue` instead of being received again.
    #[must_use]
    pub fn redrive(mut self, queue: impl Into<String>, max_receives: u32) -> Self {
        self.redrive = Some((queue.into(), max_receives));
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Visible,
    /// Hidden until then, by a receive or a delay.
    Hidden {
        until: Instant,
        received: bool,
    },
}

pub(crate) struct Message {
    pub(crate) id: Box<str>,
    pub(crate) body: Box<str>,
    /// `MessageAttributes` as JSON; empty if there are none.
    pub(crate) attributes: Box<str>,
    pub(crate) body_md5: Box<str>,
    pub(crate) attributes_md5: Option<Box<str>>,
    pub(crate) group: Option<Box<str>>,
    /// Milliseconds since 1970.
    pub(crate) sent_at: u64,
    pub(crate) first_received_at: u64,
    pub(crate) receives: u32,
    /// Counted up by each receive: a handle of an older one no longer deletes.
    pub(crate) generation: u32,
    pub(crate) serial: u64,
    pub(crate) state: State,
}

/// What a receipt handle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) queue: u32,
    pub(crate) slot: u32,
    pub(crate) serial: u64,
    pub(crate) generation: u32,
}

impl Handle {
    pub(crate) fn text(self) -> String {
        format!("AQEB{:08x}{:08x}{:016x}{:08x}", self.queue, self.slot, self.serial, self.generation)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("AQEB").filter(|hex| hex.len() == 40 && hex.is_ascii())?;
        let number = |from: usize, to: usize| u64::from_str_radix(&hex[from..to], 16).ok();
        let (queue, slot) = (number(0, 8)? as u32, number(8, 16)? as u32);
        Some(Self { queue, slot, serial: number(16, 32)?, generation: number(32, 40)? as u32 })
    }
}

pub(crate) struct Queue {
    pub(crate) spec: QueueSpec,
    pub(crate) gone: bool,
    pub(crate) slots: Vec<Option<Message>>,
    free: Vec<u32>,
    line: VecDeque<(u32, u64)>,
    clock: BinaryHeap<Reverse<(Instant, u32, u64)>>,
    next_serial: u64,
    pub(crate) visible: usize,
    pub(crate) in_flight: usize,
    pub(crate) delayed: usize,
    /// Woken when there is something to receive, or an earlier moment to wait for.
    pub(crate) arrived: Arc<Notify>,
}

impl Queue {
    pub(crate) fn new(spec: QueueSpec) -> Self {
        Self {
            spec,
            gone: false,
            slots: Vec::new(),
            free: Vec::new(),
            line: VecDeque::new(),
            clock: BinaryHeap::new(),
            next_serial: 1,
            visible: 0,
            in_flight: 0,
            delayed: 0,
            arrived: Arc::new(Notify::new()),
        }
    }

    fn count(&mut self, state: State) -> &mut usize {
        match state {
            State::Visible => &mut self.visible,
            State::Hidden { received: true, .. } => &mut self.in_flight,
            State::Hidden { received: false, .. } => &mut self.delayed,
        }
    }

    pub(crate) fn add(&mut self, mut message: Message) {
        let serial = self.next_serial;
        self.next_serial += 1;
        message.serial = serial;
        let state = message.state;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Some(message);
        *self.count(state) += 1;
        self.place(slot, serial, state);
    }

    /// Puts a message where its state belongs and wakes who waits for it.
    fn place(&mut self, slot: u32, serial: u64, state: State) {
        match state {
            State::Visible => {
                self.line.push_back((slot, serial));
                self.arrived.notify_one();
            }
            State::Hidden { until, .. } => {
                let sooner = self.clock.peek().is_none_or(|Reverse((first, ..))| until < *first);
                self.clock.push(Reverse((until, slot, serial)));
                if sooner {
                    self.arrived.notify_waiters();
                }
            }
        }
    }

    fn set_state(&mut self, slot: u32, state: State) {
        let Some(message) = &mut self.slots[slot as usize] else { return };
        let (before, serial) = (std::mem::replace(&mut message.state, state), message.serial);
        *self.count(before) -= 1;
        *self.count(state) += 1;
        self.place(slot, serial, state);
    }

    fn get(&self, slot: u32, serial: u64) -> Option<&Message> {
        self.slots.get(slot as usize)?.as_ref().filter(|message| message.serial == serial)
    }

    /// Makes visible what has been hidden long enough.
    pub(crate) fn tick(&mut self, now: Instant) {
        while let Some(&Reverse((until, slot, serial))) = self.clock.peek() {
            if until > now {
                break;
            }
            self.clock.pop();
            let due = self
                .get(slot, serial)
                .is_some_and(|message| matches!(message.state, State::Hidden { until, .. } if until <= now));
            if due {
                self.set_state(slot, State::Visible);
            }
        }
    }

    /// When the next hidden message may become visible.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.clock.peek().map(|Reverse((until, ..))| *until)
    }

    /// Takes the next visible message and hides it, or gives a message that has been received too often.
    pub(crate) fn take(&mut self, visibility: Duration, now: Instant, wall: u64) -> Option<Taken> {
        loop {
            let (slot, serial) = self.line.pop_front()?;
            let Some(message) = self.get(slot, serial).filter(|message| message.state == State::Visible) else {
                continue;
            };
            if self.spec.redrive.as_ref().is_some_and(|(_, most)| message.receives >= *most) {
                return self.remove(slot, serial).map(Taken::Dead);
            }
            self.deliver(slot, visibility, now, wall);
            return Some(Taken::Received(slot));
        }
    }

    /// Counts a receive of the message in `slot`, whose older handles end with it.
    pub(crate) fn deliver(&mut self, slot: u32, visibility: Duration, now: Instant, wall: u64) {
        if let Some(message) = &mut self.slots[slot as usize] {
            message.receives += 1;
            message.generation += 1;
            if message.first_received_at == 0 {
                message.first_received_at = wall;
            }
        }
        let state = if visibility.is_zero() {
            State::Visible
        } else {
            State::Hidden { until: now + visibility, received: true }
        };
        self.set_state(slot, state);
    }

    /// Removes a message, whatever its state. `None` if it is no longer there.
    pub(crate) fn remove(&mut self, slot: u32, serial: u64) -> Option<Message> {
        self.get(slot, serial)?;
        let message = self.slots[slot as usize].take()?;
        *self.count(message.state) -= 1;
        self.free.push(slot);
        Some(message)
    }

    /// Deletes by handle. An outdated one deletes nothing, and SQS does not say so.
    pub(crate) fn delete(&mut self, handle: Handle) {
        if self.get(handle.slot, handle.serial).is_some_and(|message| message.generation == handle.generation) {
            self.remove(handle.slot, handle.serial);
        }
    }

    /// Hides a message for `timeout` from now. False if it is not in flight under this handle.
    pub(crate) fn change(&mut self, handle: Handle, timeout: Duration, now: Instant) -> bool {
        let in_flight = self.get(handle.slot, handle.serial).is_some_and(|message| {
            message.generation == handle.generation && matches!(message.state, State::Hidden { received: true, .. })
        });
        if in_flight {
            let state =
                if timeout.is_zero() { State::Visible } else { State::Hidden { until: now + timeout, received: true } };
            self.set_state(handle.slot, state);
        }
        in_flight
    }
}

/// What [`Queue::take`] took.
pub(crate) enum Taken {
    /// The message in this slot, now in flight.
    Received(u32),
    /// A message for the dead-letter queue.
    Dead(Message),
}
