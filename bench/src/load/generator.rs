//! The loop that sends and listens.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use super::Plan;
use super::connection::{Connection, Heard};
use super::outcome::{Latencies, Outcome};
use crate::clock;
use crate::epoll::Epoll;

/// How often the end is looked for when nothing happens.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// When the `turn`th request is due after the beginning.
fn due(turn: u64, rate: f64) -> Duration {
    Duration::from_secs_f64(turn as f64 / rate)
}

/// Sends what `plan` says and waits for the answers.
///
/// # Errors
/// A connection that cannot be made.
pub(crate) fn run(plan: &Plan) -> io::Result<Outcome> {
    let mut generator = Generator::connect(plan)?;
    generator.run()?;
    Ok(generator.outcome)
}

struct Generator<'a> {
    plan: &'a Plan,
    epoll: Epoll,
    connections: Vec<Connection>,
    /// For each connection when its request was due, while it is being answered.
    asked: Vec<Option<Instant>>,
    idle: Vec<usize>,
    turn: u64,
    began: Instant,
    began_micros: u64,
    outcome: Outcome,
}

impl<'a> Generator<'a> {
    fn connect(plan: &'a Plan) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        let connections = (0..plan.connections)
            .map(|number| Connection::open(plan.to, number, &epoll))
            .collect::<io::Result<Vec<_>>>()?;
        let outcome = Outcome {
            took: Duration::ZERO,
            statuses: BTreeMap::new(),
            lost: 0,
            latencies: Latencies::new(),
            ids: Vec::new(),
        };
        Ok(Self {
            plan,
            epoll,
            asked: vec![None; plan.connections],
            idle: (0..plan.connections).rev().collect(),
            connections,
            turn: 0,
            began: Instant::now(),
            began_micros: clock::epoch_micros(),
            outcome,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut ready = Vec::new();
        let mut last = self.began;
        loop {
            let now = Instant::now();
            let next = self.send(now)?;
            if next.is_none() && (self.is_quiet() || now > self.began + self.plan.time + self.plan.patience) {
                break;
            }
            self.epoll.wait(Some(next.unwrap_or(LOOK_EVERY).min(LOOK_EVERY)), &mut ready)?;
            let now = Instant::now();
            for &number in &ready {
                last = now;
                self.hear(number, now)?;
            }
        }
        self.outcome.lost += self.asked.iter().flatten().count() as u64;
        self.outcome.took = last - self.began;
        Ok(())
    }

    fn is_quiet(&self) -> bool {
        self.idle.len() == self.connections.len()
    }

    /// Sends what is due; how long until there is more to send, as far as that depends on the clock.
    fn send(&mut self, now: Instant) -> io::Result<Option<Duration>> {
        loop {
            let is_over = match self.plan.rate {
                Some(rate) => due(self.turn, rate) >= self.plan.time,
                None => now - self.began >= self.plan.time,
            };
            if is_over || self.plan.most.is_some_and(|most| self.turn >= most) {
                return Ok(None);
            }
            let at = self.plan.rate.map_or(now, |rate| self.began + due(self.turn, rate));
            if at > now {
                return Ok(Some(at - now));
            }
            let Some(number) = self.idle.pop() else {
                // An answer frees a connection; the clock has no part in it.
                return Ok(Some(LOOK_EVERY));
            };
            let Some(connection) = self.connections.get_mut(number) else { return Ok(None) };
            let sent = connection.send(&self.plan.target, self.turn, &self.epoll);
            self.turn += 1;
            if let Some(place) = self.asked.get_mut(number) {
                *place = Some(at);
            }
            if sent.is_err() {
                self.reopen(number)?;
            }
        }
    }

    fn hear(&mut self, number: usize, now: Instant) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(number) else { return Ok(()) };
        match connection.ready(&self.epoll) {
            Heard::Nothing => Ok(()),
            Heard::Ended => self.reopen(number),
            Heard::Answer(status, body, close) => {
                if let Some(asked) = self.asked.get_mut(number).and_then(Option::take) {
                    self.outcome.latencies.record(now - asked);
                    *self.outcome.statuses.entry(status).or_default() += 1;
                    if self.plan.keep_ids
                        && let Some(id) = message_id(body)
                    {
                        let after = u64::try_from((asked - self.began).as_micros()).unwrap_or_default();
                        self.outcome.ids.push((id.to_owned(), self.began_micros + after));
                    }
                    if close {
                        return self.replace(number);
                    }
                    self.idle.push(number);
                }
                Ok(())
            }
        }
    }

    /// A connection has ended; its request, if it had one, is lost.
    fn reopen(&mut self, number: usize) -> io::Result<()> {
        if self.asked.get_mut(number).and_then(Option::take).is_some() {
            self.outcome.lost += 1;
        } else {
            self.idle.retain(|idle| *idle != number);
        }
        self.replace(number)
    }

    fn replace(&mut self, number: usize) -> io::Result<()> {
        let connection = Connection::open(self.plan.to, number, &self.epoll)?;
        if let Some(place) = self.connections.get_mut(number) {
            *place = connection;
        }
        self.idle.push(number);
        Ok(())
    }
}

/// The `message_id` of an answer.
fn message_id(body: &[u8]) -> Option<&str> {
    const NAME: &[u8] = b"\"message_id\":";
    let at = memchr::memmem::find(body, NAME)? + NAME.len();
    let mut parts = body.get(at..)?.splitn(3, |byte| *byte == b'"');
    std::str::from_utf8(parts.nth(1)?).ok()
}

#[cfg(test)]
#[path = "generator_tests.rs"]
mod tests;
