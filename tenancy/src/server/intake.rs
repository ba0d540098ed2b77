//! Reading a request's body: within a size, a time and the process's memory, and only JSON.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::config::Common;
use crate::message::outgoing::ContentType;
use crate::problem::Problem;
use crate::share::Meter;

/// Bytes a permit stands for.
const BYTES_PER_PERMIT: usize = 1_024;

/// Takes in bodies, all of them together within `MAX_BUFFERED_BYTES`. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Intake {
    memory: Arc<Semaphore>,
    time: Duration,
    most: usize,
}

/// A body that has arrived.
#[derive(Debug)]
pub struct Payload {
    /// As the client sent it; empty is allowed.
    pub bytes: Bytes,
    /// Its media type: JSON.
    pub content_type: ContentType,
    /// Until when the request is to be answered.
    pub deadline: Instant,
    /// The memory it takes, given back when the payload is dropped: keep it until the answer.
    _memory: Option<OwnedSemaphorePermit>,
}

impl Intake {
    /// An intake within the limits of these settings.
    #[must_use]
    pub fn new(common: &Common) -> Self {
        Self {
            memory: Arc::new(Semaphore::new(common.max_buffered_bytes.div_ceil(BYTES_PER_PERMIT))),
            time: common.request_timeout.get(),
            most: common.max_body_bytes,
        }
    }

    /// Reads a body of at most `most` bytes (and never more than `MAX_BODY_BYTES`); `what` is what the limit counts, for the
    /// client to read.
    ///
    /// # Errors
    /// 408 too slow, 413 too large, 415 not JSON, 429 over the tenant's limit of bytes, 503 no memory for it now; 400 a body that
    /// breaks off.
    pub async fn read(&self, request: Request, most: usize, what: &'static str) -> Result<Payload, Problem> {
        let most = most.min(self.most);
        let (head, body) = request.into_parts();
        if body.is_end_stream() {
            let deadline = Instant::now() + self.time;
            return Ok(Payload { bytes: Bytes::new(), content_type: ContentType::default(), deadline, _memory: None });
        }
        let declared = body.size_hint().exact().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        if declared.is_some_and(|bytes| bytes > most) {
            return Err(Problem::TooLarge(most, what));
        }
        let meter = Meter::of(&head.extensions);
        if let Some(bytes) = declared {
            meter.bytes(bytes)?;
        }
        let memory = self.reserve(declared.unwrap_or(most))?;
        let bytes = self.collect(body, declared, most, what).await?;
        if declared.is_none() {
            meter.bytes(bytes.len())?;
        }
        let content_type = if bytes.is_empty() { ContentType::default() } else { content_type(&head.headers)? };
        Ok(Payload { bytes, content_type, deadline: Instant::now() + self.time, _memory: Some(memory) })
    }

    fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let permits = u32::try_from(bytes.div_ceil(BYTES_PER_PERMIT)).unwrap_or(u32::MAX);
        self.memory.clone().try_acquire_many_owned(permits).map_err(|_| {
            metrics::counter!("http_shed_total", "because" => "memory").increment(1);
            Problem::UNAVAILABLE
        })
    }

    async fn collect(
        &self,
        body: Body,
        declared: Option<usize>,
        most: usize,
        what: &'static str,
    ) -> Result<Bytes, Problem> {
        match tokio::time::timeout(self.time, whole(Limited::new(body, most), declared)).await {
            Err(_) => Err(Problem::Slow),
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::TooLarge(most, what)),
            Ok(Err(_)) => Err(Problem::Body("the body broke off before its end".to_owned())),
        }
    }
}

/// A body's bytes in one piece. What comes in one piece is not copied; of what comes in many, each is let go when its bytes are
/// in their place, so that a body never takes its size twice.
async fn whole<B: HttpBody<Data = Bytes> + Unpin>(mut body: B, declared: Option<usize>) -> Result<Bytes, B::Error> {
    let (mut one, mut many) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        // Trailers say nothing here.
        let Ok(data) = frame?.into_data() else { continue };
        if one.is_empty() && many.is_empty() {
            one = data;
            continue;
        }
        if many.is_empty() {
            many.reserve(declared.unwrap_or_default().max(one.len() + data.len()));
            many.extend_from_slice(&std::mem::take(&mut one));
        }
        many.extend_from_slice(&data);
    }
    Ok(if many.is_empty() { one } else { many.freeze() })
}

/// The media type of a body that is not empty; none counts as JSON.
fn content_type(headers: &HeaderMap) -> Result<ContentType, Problem> {
    let mut all = headers.get_all(header::CONTENT_TYPE).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(ContentType::default()),
        (Some(one), None) => {
            let text = one.to_str().map_err(|_| Problem::MediaType)?;
            ContentType::parse(text).map_err(|_| Problem::MediaType)
        }
        (Some(_), Some(_)) => Err(Problem::MediaType),
    }
}
