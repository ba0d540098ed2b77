//! How long a connection may take over what: a socket that gives up on peers that dawdle.
//!
//! hyper's own header timeout also runs while a connection idles between requests, where a load balancer keeps it for a
//! minute; so the two are told apart here. A request's body has its own time (see `intake`). A connection that ends while its
//! peer may be sending is closed in two steps: our side at once, the whole when the peer has ended or been silent.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::rest::Rest;

/// How long each phase may last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// From a request's first byte (or the connection's start) to the end of its head.
    pub(super) head: Duration,
    /// Between requests. Longer than a load balancer keeps its own side (60 s), so that it never sends into a closing one.
    pub(super) idle: Duration,
    /// For the peer to take any byte of an answer.
    pub(super) write: Duration,
    /// For the short rest of a body that nobody wants to arrive. Its answer waits for it, so no longer than for what is under way.
    pub(super) rest: Duration,
    /// After the last answer, for a peer that is still sending: between two of its bytes, and in all.
    pub(super) farewell: (Duration, Duration),
}

impl Default for Times {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            write: Duration::from_secs(30),
            rest: Duration::from_millis(100),
            farewell: (Duration::from_secs(2), Duration::from_secs(10)),
        }
    }
}

/// Counts the requests that a connection is answering; shared between the socket and the service.
#[derive(Debug, Clone, Default)]
pub(super) struct Answering(Arc<AtomicUsize>);

impl Answering {
    /// One more, until the guard is dropped.
    pub(super) fn one(&self) -> impl Drop + Send + use<> {
        struct Guard(Answering);
        impl Drop for Guard {
            fn drop(&mut self) {
                self.0.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        Guard(self.clone())
    }

    fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Answering,
    Idle,
}

/// A socket with a clock.
#[derive(Debug)]
pub(super) struct Paced {
    socket: TcpStream,
    times: Times,
    answering: Answering,
    rest: Rest,
    phase: Phase,
    http2: bool,
    fresh: bool,
    /// Our side is closed; the peer is read until then.
    farewell: Option<Instant>,
    clock: Pin<Box<Sleep>>,
    writing: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    pub(super) fn new(socket: TcpStream, times: Times, answering: Answering, rest: Rest) -> Self {
        let clock = Box::pin(sleep_until(Instant::now() + times.head));
        Self {
            socket,
            times,
            answering,
            rest,
            phase: Phase::Head,
            http2: false,
            fresh: true,
            farewell: None,
            clock,
            writing: None,
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        let time = match phase {
            Phase::Head => self.times.head,
            Phase::Idle => self.times.idle,
            Phase::Answering => return,
        };
        self.clock.as_mut().reset(Instant::now() + time);
    }

    /// A request that began or ended since the last look changes what is waited for.
    fn look(&mut self) {
        match (self.phase, self.answering.any()) {
            (Phase::Head | Phase::Idle, true) => self.enter(Phase::Answering),
            (Phase::Answering, false) => self.enter(Phase::Idle),
            _ => {}
        }
    }

    fn arrived(&mut self, bytes: &[u8]) {
        if std::mem::take(&mut self.fresh) {
            self.http2 = bytes.starts_with(b"PRI");
        }
        // HTTP/2 sends frames of its own between requests; there a head is not told from a ping, and idling covers both.
        if self.phase == Phase::Idle && !self.http2 && !bytes.is_empty() {
            self.enter(Phase::Head);
        }
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the peer took too long")
}

impl AsyncRead for Paced {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.look();
        let before = buf.filled().len();
        match Pin::new(&mut this.socket).poll_read(cx, buf) {
            Poll::Ready(Ok(())) => {
                this.arrived(&buf.filled()[before..]);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending if this.phase == Phase::Answering => Poll::Pending,
            Poll::Pending => {
                ready!(this.clock.as_mut().poll(cx));
                // The request may have begun after the last read; then the clock was not for it.
                this.look();
                if this.phase == Phase::Answering { Poll::Pending } else { Poll::Ready(Err(too_slow())) }
            }
        }
    }
}

impl Paced {
    fn poll_out<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.writing = None;
            return outcome;
        }
        let until = Instant::now() + self.times.write;
        let clock = self.writing.get_or_insert_with(|| Box::pin(sleep_until(until)));
        ready!(clock.as_mut().poll(cx));
        Poll::Ready(Err(too_slow()))
    }
}

impl AsyncWrite for Paced {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.socket).poll_write(cx, bytes);
        this.poll_out(cx, outcome)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.socket).poll_write_vectored(cx, bytes);
        this.poll_out(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.socket).poll_flush(cx);
        this.look();
        if outcome.is_ready() && this.phase == Phase::Idle {
            // Whoever has read all there is does not read again before something wakes it: the end of idling has to.
            let _ = this.clock.as_mut().poll(cx);
        }
        outcome
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let end = match this.farewell {
            Some(end) => end,
            None => {
                ready!(Pin::new(&mut this.socket).poll_shutdown(cx))?;
                if !this.may_be_sending() {
                    return Poll::Ready(Ok(()));
                }
                let (now, (silence, all)) = (Instant::now(), this.times.farewell);
                this.clock.as_mut().reset(now + silence);
                *this.farewell.insert(now + all)
            }
        };
        this.poll_sent_out(cx, end).map(Ok)
    }
}

impl Paced {
    /// Whether the peer may be in the middle of a request: one whose body is not read, or whose head is no HTTP or too large.
    fn may_be_sending(&self) -> bool {
        self.rest.is_closing() || (self.phase == Phase::Head && !self.fresh && !self.http2)
    }

    /// Throws away what the peer still sends, so that it gets to read the answer instead of a reset.
    fn poll_sent_out(&mut self, cx: &mut Context<'_>, end: Instant) -> Poll<()> {
        let mut room = [MaybeUninit::uninit(); 8 * 1024];
        loop {
            let mut sink = ReadBuf::uninit(&mut room);
            match Pin::new(&mut self.socket).poll_read(cx, &mut sink) {
                Poll::Ready(Ok(())) if !sink.filled().is_empty() => {
                    let now = Instant::now();
                    if now >= end {
                        return Poll::Ready(());
                    }
                    self.clock.as_mut().reset(end.min(now + self.times.farewell.0));
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.clock.as_mut().poll(cx),
            }
        }
    }
}
