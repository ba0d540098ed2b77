//! A send that one of its messages' requests drives.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// A send in the hands of a request whose message is in it.
///
/// A task of its own would have to wake the request when it is done, which wakes another thread more often than not: for a
/// message that goes alone, a quarter of all it costs. But the request may end first, at its deadline or since its client is
/// gone, and others' messages are in the send as well: then it goes on in a task.
pub(super) struct Ride(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Ride {
    pub(super) fn new(send: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Some(Box::pin(send)))
    }
}

impl Future for Ride {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Taken out meanwhile, so that a send that panics is dropped, and its messages told, rather than polled again.
        let Some(mut send) = self.0.take() else { return Poll::Ready(()) };
        if send.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        self.0 = Some(send);
        Poll::Pending
    }
}

impl Drop for Ride {
    fn drop(&mut self) {
        if let (Some(send), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(send);
        }
    }
}
