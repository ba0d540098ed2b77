//! How an answer goes out: at once, in half, or a byte at a time.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use super::fault::Cut;
use super::shared::Connection;
use super::wire::{REQUEST_ID, Reply};

/// How long what was sent before a cut has to reach the client: the cut drops what is still here.
const BEFORE_A_CUT: Duration = Duration::from_millis(30);

/// How a body is sent.
pub(crate) enum Manner {
    AtOnce,
    /// Only half of it ever comes; then the connection ends as it says, or nothing more happens.
    Half(Option<(Arc<Connection>, Cut)>),
    /// A byte, then this pause.
    Trickle(Duration, Option<Pin<Box<Sleep>>>),
}

pub(crate) fn response(reply: Reply, manner: Manner) -> Response<Answer> {
    let mut builder = Response::builder()
        .status(reply.status)
        .header("content-type", reply.content_type)
        .header("x-amzn-requestid", REQUEST_ID);
    if let Some(query_error) = reply.query_error {
        builder = builder.header("x-amzn-query-error", query_error);
    }
    if let Some(location) = reply.location {
        builder = builder.header("location", location);
    }
    let answer = Answer { length: reply.body.len() as u64, left: reply.body, manner };
    // A status or header that is none comes from the script: a mistake of the test.
    builder.body(answer).expect("a scripted answer has a valid status and headers")
}

/// A body, as far as it has not been sent.
pub(crate) struct Answer {
    length: u64,
    left: Bytes,
    manner: Manner,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let data = match &mut this.manner {
            Manner::AtOnce => std::mem::take(&mut this.left),
            Manner::Half(cut) => {
                if let Some((connection, cut)) = cut.take() {
                    tokio::spawn(async move {
                        tokio::time::sleep(BEFORE_A_CUT).await;
                        connection.end(cut);
                    });
                }
                if this.left.len() as u64 != this.length {
                    return Poll::Pending;
                }
                this.left.split_to(this.left.len().div_ceil(2))
            }
            Manner::Trickle(pause, clock) => {
                if let Some(clock) = clock {
                    ready!(clock.as_mut().poll(cx));
                }
                *clock = Some(Box::pin(tokio::time::sleep(*pause)));
                this.left.split_to(this.left.len().min(1))
            }
        };
        Poll::Ready((!data.is_empty()).then(|| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}
