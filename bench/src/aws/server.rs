//! The endpoint's sockets and timers: one thread, one loop.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;

use super::cloud::{Cloud, Failure, Outcome, Ticket};
use super::control;
use super::limits::{Fate, Limits, queue_in};
use super::op::Op;
use crate::epoll::{Epoll, Want};
use crate::http::{self, Frame};

/// The number of the listening socket.
const LISTENER: usize = usize::MAX;

/// Room for a read, unless more is known to come.
const READ_BYTES: usize = 16 * 1024;

/// How often hidden messages are looked at where somebody waits for them.
const TICK: Duration = Duration::from_secs(1);

/// The largest request that is taken.
const MOST_BYTES: usize = 32 * 1024 * 1024;

struct Connection {
    stream: TcpStream,
    generation: u64,
    input: Vec<u8>,
    /// The bytes that the request at the start of `input` has, once that is known.
    total: usize,
    output: Vec<u8>,
    written: usize,
    /// The socket had no room; it is waited for.
    stuck: bool,
    /// A request is being carried out; what comes in meanwhile waits.
    busy: bool,
    close: bool,
}

/// Something to do later. Ordered by its time, then by its turn.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    at: Instant,
    turn: u64,
    what: Later,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Later {
    /// A call's latency is over.
    Perform { connection: usize, generation: u64, op: Op, throttled: bool, body: Vec<u8> },
    /// A receive has waited long enough.
    PollEnds { connection: usize, generation: u64, queue: usize },
    /// See [`TICK`].
    Tick,
}

/// Serves until the process ends.
///
/// # Errors
/// What the kernel says of the listener.
pub(crate) fn serve(listener: TcpListener, latency: Duration) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let host = listener.local_addr()?.to_string();
    let epoll = Epoll::new()?;
    epoll.add(&listener, LISTENER)?;
    let mut limits = Limits::default();
    limits.set_latency(latency);
    let mut server = Server {
        listener,
        host,
        epoll,
        connections: Vec::new(),
        free: Vec::new(),
        generations: 0,
        timers: BinaryHeap::new(),
        turns: 0,
        cloud: Cloud::new(),
        limits,
        answer: Vec::new(),
    };
    server.later(Instant::now() + TICK, Later::Tick);
    server.run()
}

struct Server {
    listener: TcpListener,
    host: String,
    epoll: Epoll,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    generations: u64,
    timers: BinaryHeap<Reverse<Timer>>,
    turns: u64,
    cloud: Cloud,
    limits: Limits,
    /// The body that is being written.
    answer: Vec<u8>,
}

impl Server {
    fn run(&mut self) -> io::Result<()> {
        let mut ready = Vec::new();
        loop {
            let next = self.timers.peek().map(|Reverse(timer)| timer.at.saturating_duration_since(Instant::now()));
            self.epoll.wait(next, &mut ready)?;
            self.fire(Instant::now());
            for &number in &ready {
                if number == LISTENER { self.accept() } else { self.serve(number) }
            }
        }
    }

    fn later(&mut self, at: Instant, what: Later) {
        self.turns += 1;
        self.timers.push(Reverse(Timer { at, turn: self.turns, what }));
    }

    fn fire(&mut self, now: Instant) {
        while self.timers.peek().is_some_and(|Reverse(timer)| timer.at <= now) {
            let Some(Reverse(timer)) = self.timers.pop() else { return };
            match timer.what {
                Later::Perform { connection, generation, op, throttled, body } => {
                    let ticket = Ticket { connection, generation };
                    if self.is_open(ticket) {
                        self.perform(ticket, op, throttled, &body);
                        self.go_on(connection);
                    }
                }
                Later::PollEnds { connection, generation, queue } => {
                    let ticket = Ticket { connection, generation };
                    let waiting = &mut self.cloud.at(queue).waiting;
                    let before = waiting.len();
                    waiting.retain(|(other, _)| *other != ticket);
                    if waiting.len() < before && self.is_open(ticket) {
                        self.reply(ticket, 200, b"{}");
                        self.go_on(connection);
                    }
                }
                Later::Tick => {
                    for queue in self.cloud.queues() {
                        if !self.cloud.at(queue).waiting.is_empty() {
                            self.cloud.reappear(queue);
                            self.wake(queue);
                        }
                    }
                    self.later(now + TICK, Later::Tick);
                }
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            let number = self.free.pop().unwrap_or(self.connections.len());
            let ready = stream.set_nonblocking(true).is_ok()
                && stream.set_nodelay(true).is_ok()
                && self.epoll.add(&stream, number).is_ok();
            self.generations += 1;
            let connection = ready.then(|| Connection {
                stream,
                generation: self.generations,
                input: Vec::with_capacity(READ_BYTES),
                total: 0,
                output: Vec::new(),
                written: 0,
                stuck: false,
                busy: false,
                close: false,
            });
            match self.connections.get_mut(number) {
                Some(place) => *place = connection,
                None => self.connections.push(connection),
            }
            if !ready {
                self.free.push(number);
            }
        }
    }

    fn connection(&mut self, number: usize) -> Option<&mut Connection> {
        self.connections.get_mut(number)?.as_mut()
    }

    fn is_open(&mut self, ticket: Ticket) -> bool {
        self.connection(ticket.connection).is_some_and(|connection| connection.generation == ticket.generation)
    }

    fn close(&mut self, number: usize) {
        if let Some(place) = self.connections.get_mut(number)
            && place.take().is_some()
        {
            self.free.push(number);
        }
    }

    /// A socket is ready: sends what is left, reads what there is, answers what is whole.
    fn serve(&mut self, number: usize) {
        let Some(connection) = self.connection(number) else { return };
        if !connection.output.is_empty() {
            self.flush(number);
        }
        let Some(connection) = self.connection(number) else { return };
        let room = connection.total.saturating_sub(connection.input.len()).max(READ_BYTES);
        connection.input.reserve(room);
        match rustix::io::read(&connection.stream, spare_capacity(&mut connection.input)) {
            Ok(0) => return self.close(number),
            Ok(_) => {}
            Err(error) if error == rustix::io::Errno::AGAIN || error == rustix::io::Errno::INTR => return,
            Err(_) => return self.close(number),
        }
        self.go_on(number);
    }

    /// Takes up requests that have come in whole, one after the other.
    fn go_on(&mut self, number: usize) {
        while let Some(connection) = self.connection(number) {
            if connection.busy || connection.input.len() < connection.total.max(1) || !connection.output.is_empty() {
                return;
            }
            let (request, body_at, total) = match http::request(&connection.input) {
                Frame::More => return,
                Frame::Head { head, body_at, total } if total <= MOST_BYTES => (head, body_at, total),
                Frame::Head { .. } | Frame::Bad(_) => return self.close(number),
            };
            connection.total = total;
            if connection.input.len() < total {
                return;
            }
            let close = request.close;
            let body = connection.input.get(body_at..total).unwrap_or_default();
            let ticket = Ticket { connection: number, generation: connection.generation };
            if let Some(op) = Op::of(&request, body) {
                let body = body.to_vec();
                connection.took(total, close);
                self.admit(ticket, op, body);
            } else if request.path.starts_with("/bench/") {
                let route = (request.method.to_owned(), request.path.to_owned());
                let body = body.to_vec();
                connection.took(total, close);
                let said = control::answer(&mut self.cloud, &mut self.limits, (&route.0, &route.1), &body);
                let ((status, text), touched) = said;
                self.reply(ticket, status, text.as_bytes());
                if let Some(queue) = touched {
                    self.wake(queue);
                }
            } else {
                connection.took(total, close);
                self.reply(ticket, 400, Failure::unknown().json().as_bytes());
            }
        }
    }

    /// A call has come in: now, or when its latency is over, it is carried out.
    fn admit(&mut self, ticket: Ticket, op: Op, body: Vec<u8>) {
        let now = Instant::now();
        self.cloud.counts.called(op);
        let Fate { after, throttled } =
            self.limits.fate(|| if op.is_of_a_queue() { queue_in(&body) } else { Some(op.name()) }, now);
        if after.is_zero() {
            self.perform(ticket, op, throttled, &body);
        } else {
            let Ticket { connection, generation } = ticket;
            self.later(now + after, Later::Perform { connection, generation, op, throttled, body });
        }
    }

    fn perform(&mut self, ticket: Ticket, op: Op, throttled: bool, body: &[u8]) {
        let mut answer = std::mem::take(&mut self.answer);
        answer.clear();
        let outcome = if throttled {
            self.cloud.counts.throttled(op);
            Err(Failure::throttled(op))
        } else {
            self.cloud.perform(op, body, &self.host, &mut answer)
        };
        match outcome {
            Ok(Outcome::Done(_, changed)) => {
                self.reply(ticket, 200, &answer);
                if let Some(queue) = changed {
                    self.wake(queue);
                }
            }
            Ok(Outcome::Waits(poll, seconds)) => {
                self.cloud.at(poll.queue).waiting.push_back((ticket, poll));
                let Ticket { connection, generation } = ticket;
                let ends = Later::PollEnds { connection, generation, queue: poll.queue };
                self.later(Instant::now() + Duration::from_secs(seconds), ends);
            }
            Err(failure) => self.reply(ticket, 400, failure.json().as_bytes()),
        }
        self.answer = answer;
    }

    /// Answers those who wait at a queue, as far as there are messages.
    fn wake(&mut self, queue: usize) {
        loop {
            let place = self.cloud.at(queue);
            if place.queue.visible() == 0 {
                return;
            }
            let Some((ticket, poll)) = place.waiting.pop_front() else { return };
            if self.is_open(ticket) {
                let mut answer = Vec::new();
                let entries = self.cloud.take(&poll, &mut answer);
                self.cloud.counts.carried(Op::ReceiveMessage, entries);
                self.reply(ticket, 200, &answer);
            }
        }
    }

    fn reply(&mut self, ticket: Ticket, status: u16, body: &[u8]) {
        let Some(connection) = self.connection(ticket.connection) else { return };
        connection.busy = false;
        let reason = if status == 200 { "OK" } else { "Bad Request" };
        let length = body.len();
        let _ = write!(
            connection.output,
            "HTTP/1.1 {status} {reason}\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: 00000000-0000-4000-8000-000000000000\r\nContent-Length: {length}\r\n\r\n",
        );
        connection.output.extend_from_slice(body);
        self.flush(ticket.connection);
    }

    fn flush(&mut self, number: usize) {
        let Some(Some(connection)) = self.connections.get_mut(number) else { return };
        while let Some(rest) = connection.output.get(connection.written..).filter(|rest| !rest.is_empty()) {
            match connection.stream.write(rest) {
                Ok(count) => connection.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !std::mem::replace(&mut connection.stuck, true) {
                        let _ = self.epoll.want(&connection.stream, number, Want::Write);
                    }
                    return;
                }
                Err(_) => return self.close(number),
            }
        }
        connection.output.clear();
        connection.written = 0;
        if std::mem::take(&mut connection.stuck) {
            let _ = self.epoll.want(&connection.stream, number, Want::Read);
        }
        if connection.close && !connection.busy {
            self.close(number);
        }
    }
}

impl Connection {
    /// A request is taken up.
    fn took(&mut self, total: usize, close: bool) {
        self.input.drain(..total.min(self.input.len()));
        self.total = 0;
        self.busy = true;
        self.close = close;
    }
}
