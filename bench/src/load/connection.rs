//! One connection of the generator: a request out, an answer in.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};

use rustix::buffer::spare_capacity;

use super::target::Target;
use crate::epoll::{Epoll, Want};
use crate::http::{self, Frame};

/// Room for a read.
const READ_BYTES: usize = 8 * 1024;

/// A connection, its request and its answer.
pub(super) struct Connection {
    stream: TcpStream,
    number: usize,
    output: Vec<u8>,
    written: usize,
    stuck: bool,
    input: Vec<u8>,
}

/// What a connection has to say.
pub(super) enum Heard<'a> {
    /// Nothing yet.
    Nothing,
    /// The answer: status, body, and whether the connection ends with it.
    Answer(u16, &'a [u8], bool),
    /// It ended without an answer, or with bytes that are none.
    Ended,
}

impl Connection {
    pub(super) fn open(to: SocketAddr, number: usize, epoll: &Epoll) -> io::Result<Self> {
        let stream = TcpStream::connect(to)?;
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        epoll.add(&stream, number)?;
        let input = Vec::with_capacity(READ_BYTES);
        Ok(Self { stream, number, output: Vec::new(), written: 0, stuck: false, input })
    }

    /// Sends the `turn`th request of `target`. The last answer must have been taken.
    pub(super) fn send(&mut self, target: &Target, turn: u64, epoll: &Epoll) -> io::Result<()> {
        target.write(turn, &mut self.output);
        self.written = 0;
        self.input.clear();
        self.go_on_sending(epoll)
    }

    fn go_on_sending(&mut self, epoll: &Epoll) -> io::Result<()> {
        while let Some(rest) = self.output.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !std::mem::replace(&mut self.stuck, true) {
                        epoll.want(&self.stream, self.number, Want::Write)?;
                    }
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        if std::mem::take(&mut self.stuck) {
            epoll.want(&self.stream, self.number, Want::Read)?;
        }
        Ok(())
    }

    /// The socket is ready: goes on sending, or reads.
    pub(super) fn ready(&mut self, epoll: &Epoll) -> Heard<'_> {
        if self.stuck && self.go_on_sending(epoll).is_err() {
            return Heard::Ended;
        }
        self.input.reserve(READ_BYTES);
        match rustix::io::read(&self.stream, spare_capacity(&mut self.input)) {
            Ok(0) => return Heard::Ended,
            Ok(_) => {}
            Err(error) if error == rustix::io::Errno::AGAIN || error == rustix::io::Errno::INTR => {
                return Heard::Nothing;
            }
            Err(_) => return Heard::Ended,
        }
        match http::answer(&self.input) {
            Frame::More => Heard::Nothing,
            Frame::Head { head, body_at, total } if self.input.len() >= total => {
                Heard::Answer(head.status, self.input.get(body_at..total).unwrap_or_default(), head.close)
            }
            Frame::Head { .. } => Heard::Nothing,
            Frame::Bad(_) => Heard::Ended,
        }
    }
}
