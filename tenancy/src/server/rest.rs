//! What a request leaves of its body.
//!
//! A request may be answered before its body was read: too large, no token, over a limit. Over HTTP/1.1 what is left stands in
//! front of the next request. A short rest is read and thrown away, and the connection goes on; with a longer one the answer says
//! `connection: close`, and the socket goes on reading for a while after it (see `pace`), since a close on unread bytes is a reset
//! that takes the answer with it. HTTP/2 ends the one stream, and needs none of this.
//!
//! A body that waits to be asked for (`Expect: 100-continue`) is asked for by its first reading. So one that no handler has read is not
//! read here either: its client would send what is then thrown away. Whether it comes all the same is the client's choice, so such
//! an answer ends the connection too.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};

/// The longest rest that is read, in bytes: about what is under way anyhow when the answer is known.
const MOST: u64 = 64 * 1024;

/// The rest of one connection's request; HTTP/1.1 has one at a time. Cheap to clone; clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Rest(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Whether the last request has left anything, so that usual ones cost no lock.
    any: AtomicBool,
    body: Mutex<Option<Incoming>>,
    closing: AtomicBool,
}

impl Rest {
    /// The request with a body that leaves here what is not read of it.
    pub(super) fn of(&self, request: Request<Incoming>) -> Request<Watched> {
        let waits = !request.body().is_end_stream() && request.headers().contains_key(header::EXPECT);
        request.map(|body| Watched { body: Some(body), waits, rest: self.clone() })
    }

    /// Gets rid of the rest within `time`, or has the answer say that the connection ends.
    pub(super) async fn settle(&self, answer: &mut Response, time: Duration) {
        if !self.0.any.load(Ordering::Relaxed) {
            return;
        }
        self.0.any.store(false, Ordering::Relaxed);
        let body = self.0.body.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Who took too long already is not waited for once more.
        let ends = answer.status() == StatusCode::REQUEST_TIMEOUT || answer.headers().contains_key(header::CONNECTION);
        if let Some(body) = body.filter(|body| !ends && body.size_hint().lower() <= MOST)
            && tokio::time::timeout(time, throw_away(body)).await.unwrap_or(false)
        {
            return;
        }
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        self.0.closing.store(true, Ordering::Relaxed);
    }

    /// Whether the connection ends although its peer may still be sending.
    pub(super) fn is_closing(&self) -> bool {
        self.0.closing.load(Ordering::Relaxed)
    }

    fn leave(&self, body: Option<Incoming>) {
        *self.0.body.lock().unwrap_or_else(PoisonError::into_inner) = body;
        self.0.any.store(true, Ordering::Relaxed);
    }
}

/// Reads a body to its end; whether that was near and good.
async fn throw_away(mut body: Incoming) -> bool {
    let mut left = MOST;
    loop {
        match body.frame().await {
            None => return true,
            Some(Err(_)) => return false,
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                let Some(less) = left.checked_sub(u64::try_from(bytes).unwrap_or(u64::MAX)) else { return false };
                left = less;
            }
        }
    }
}

/// A request's body.
#[derive(Debug)]
pub(super) struct Watched {
    /// None once it has ended.
    body: Option<Incoming>,
    /// Its client waits to be told that it is wanted.
    waits: bool,
    rest: Rest,
}

impl Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        this.waits = false;
        let frame = ready!(Pin::new(body).poll_frame(cx));
        match &frame {
            Some(Ok(_)) => {}
            None => this.body = None,
            // Nobody knows where the next request would begin.
            Some(Err(_)) => {
                this.body = None;
                this.rest.leave(None);
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::size_hint)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            self.rest.leave((!self.waits).then_some(body));
        }
    }
}
