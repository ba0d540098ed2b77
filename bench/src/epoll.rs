//! Waiting for sockets, to the microsecond: a thin layer over `epoll`, so that the endpoint and the generator cost a few
//! microseconds a request and their timers are exact.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

/// Sockets taken from the kernel at a time.
const EVENTS: usize = 256;

/// A set of sockets, each known by a number of the caller's.
pub(crate) struct Epoll {
    fd: OwnedFd,
    events: Vec<Event>,
}

/// What a socket is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// Bytes to read.
    Read,
    /// Room to write, or bytes to read.
    Write,
}

impl Want {
    fn flags(self) -> EventFlags {
        match self {
            Self::Read => EventFlags::IN,
            Self::Write => EventFlags::IN | EventFlags::OUT,
        }
    }
}

impl Epoll {
    /// A set without sockets.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { fd: epoll::create(CreateFlags::CLOEXEC)?, events: Vec::with_capacity(EVENTS) })
    }

    /// Adds a socket. It leaves the set when it is closed.
    pub(crate) fn add(&self, socket: impl AsFd, number: usize) -> io::Result<()> {
        Ok(epoll::add(&self.fd, socket, EventData::new_u64(number as u64), Want::Read.flags())?)
    }

    /// Changes what a socket is waited for.
    pub(crate) fn want(&self, socket: impl AsFd, number: usize, want: Want) -> io::Result<()> {
        Ok(epoll::modify(&self.fd, socket, EventData::new_u64(number as u64), want.flags())?)
    }

    /// Waits until a socket is ready or `most` has passed; puts the numbers of those that are ready into `ready`.
    pub(crate) fn wait(&mut self, most: Option<Duration>, ready: &mut Vec<usize>) -> io::Result<()> {
        ready.clear();
        self.events.clear();
        let timeout = most.and_then(|time| Timespec::try_from(time).ok());
        match epoll::wait(&self.fd, spare_capacity(&mut self.events), timeout.as_ref()) {
            Ok(_) => {}
            Err(error) if error == rustix::io::Errno::INTR => {}
            Err(error) => return Err(error.into()),
        }
        ready.extend(self.events.iter().filter_map(|event| usize::try_from(event.data.u64()).ok()));
        Ok(())
    }
}
