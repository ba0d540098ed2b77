//! Reading a request's body: within a size, a time and the process's memory, and only JSON.
//!
//! Memory is taken as bytes arrive, not as they are announced: who announces much and sends nothing holds nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::Request;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::config::{Common, TenantModel};
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

/// How much of a process the requests for one queue may have, so that a queue that does not answer leaves something to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Portions {
    requests: usize,
    permits: usize,
}

impl Portions {
    /// In a pool: three quarters of `MAX_REQUESTS` and of `MAX_BUFFERED_BYTES`, and one body always. A silo has one queue: nothing
    /// is kept from it.
    #[must_use]
    pub fn of(common: &Common) -> Option<Self> {
        let most = |all: usize| all - all / 4;
        (common.model() == TenantModel::Pool).then(|| Self {
            requests: most(common.max_requests),
            permits: permits(most(common.max_buffered_bytes).max(common.max_body_bytes)),
        })
    }
}

/// The part of one queue. Cheap to clone; clones are the same.
#[derive(Debug, Clone)]
pub struct Portion {
    requests: Arc<Semaphore>,
    memory: Arc<Semaphore>,
}

impl Portion {
    /// A part of this size.
    #[must_use]
    pub fn new(size: Portions) -> Self {
        Self { requests: Arc::new(Semaphore::new(size.requests)), memory: Arc::new(Semaphore::new(size.permits)) }
    }
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
    /// What it takes, given back when the payload is dropped: keep it until the answer.
    _held: Held,
}

impl Intake {
    /// An intake within the limits of these settings.
    #[must_use]
    pub fn new(common: &Common) -> Self {
        Self {
            memory: Arc::new(Semaphore::new(permits(common.max_buffered_bytes))),
            time: common.request_timeout.get(),
            most: common.max_body_bytes,
        }
    }

    /// Reads a body of at most `most` bytes (and never more than `MAX_BODY_BYTES`); `what` is what the limit counts, for the
    /// client to read. It counts against the part of its queue, where there are parts.
    ///
    /// # Errors
    /// 408 too slow, 413 too large, 415 not JSON, 429 over the tenant's limit of bytes, 503 no memory for it now; 400 a body that
    /// breaks off.
    pub async fn read(
        &self,
        request: Request,
        most: usize,
        what: &'static str,
        portion: Option<&Portion>,
    ) -> Result<Payload, Problem> {
        let most = most.min(self.most);
        let mut held = Held::new(self.memory.clone(), portion)?;
        let (head, body) = request.into_parts();
        if body.is_end_stream() {
            let deadline = Instant::now() + self.time;
            return Ok(Payload { bytes: Bytes::new(), content_type: ContentType::default(), deadline, _held: held });
        }
        let declared = body.size_hint().exact().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        if declared.is_some_and(|bytes| bytes > most) {
            return Err(Problem::TooLarge(most, what));
        }
        // Before anything is charged, and before a client sends what there is no room for.
        held.has_room(declared.unwrap_or(1))?;
        let meter = Meter::of(&head.extensions);
        match declared {
            Some(bytes) => meter.bytes(bytes)?,
            None => meter.bytes_to_come()?,
        }
        let came = |bytes| {
            if declared.is_none() {
                meter.came(bytes);
            }
        };
        let reading = whole(Limited::new(body, most), declared.unwrap_or(most), &mut held, came);
        let bytes = match tokio::time::timeout(self.time, reading).await {
            Err(_) => return Err(Problem::Slow),
            Ok(Ok(bytes)) => bytes,
            Ok(Err(Broken::NoRoom(problem))) => return Err(problem),
            Ok(Err(Broken::Off(error))) if error.is::<LengthLimitError>() => return Err(Problem::TooLarge(most, what)),
            Ok(Err(Broken::Off(_))) => return Err(Problem::Body("the body broke off before its end".to_owned())),
        };
        let content_type = if bytes.is_empty() { ContentType::default() } else { content_type(&head.headers)? };
        Ok(Payload { bytes, content_type, deadline: Instant::now() + self.time, _held: held })
    }
}

/// What a request has of the process's memory and of its queue's part.
#[derive(Debug)]
struct Held {
    memory: Hold,
    portion: Option<Hold>,
    _request: Option<OwnedSemaphorePermit>,
}

/// What is held of one bound.
#[derive(Debug)]
struct Hold {
    of: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Held {
    fn new(memory: Arc<Semaphore>, portion: Option<&Portion>) -> Result<Self, Problem> {
        let request = portion.map(|portion| portion.requests.clone().try_acquire_owned()).transpose();
        Ok(Self {
            memory: Hold { of: memory, permit: None },
            portion: portion.map(|portion| Hold { of: portion.memory.clone(), permit: None }),
            _request: request.map_err(|_| shed("queue"))?,
        })
    }

    /// Whether so many bytes would fit now.
    fn has_room(&self, bytes: usize) -> Result<(), Problem> {
        let permits = permits(bytes);
        if self.memory.of.available_permits() < permits {
            return Err(shed("memory"));
        }
        if self.portion.as_ref().is_some_and(|hold| hold.of.available_permits() < permits) {
            return Err(shed("queue"));
        }
        Ok(())
    }

    /// Holds as much as this many bytes take, all in all.
    fn grow(&mut self, bytes: usize) -> Result<(), Problem> {
        let permits = permits(bytes);
        self.memory.grow(permits).ok_or_else(|| shed("memory"))?;
        self.portion.as_mut().map_or(Some(()), |hold| hold.grow(permits)).ok_or_else(|| shed("queue"))
    }
}

impl Hold {
    fn grow(&mut self, permits: usize) -> Option<()> {
        let has = self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = permits.checked_sub(has).filter(|more| *more > 0);
        let Some(more) = more else { return Some(()) };
        let more = self.of.clone().try_acquire_many_owned(u32::try_from(more).ok()?).ok()?;
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            none => *none = Some(more),
        }
        Some(())
    }
}

fn permits(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_PERMIT)
}

fn shed(because: &'static str) -> Problem {
    metrics::counter!("http_shed_total", "because" => because).increment(1);
    Problem::UNAVAILABLE
}

/// Why a body was not read to its end.
enum Broken<E> {
    NoRoom(Problem),
    Off(E),
}

/// The bytes of a body of at most `most`, in one piece. What comes in one piece is not copied; of what comes in many, each is let go
/// when its bytes are in their place. The place grows with them, since memory that was used before is not less for not being
/// written to. `came` hears of every piece.
async fn whole<B: HttpBody<Data = Bytes> + Unpin>(
    mut body: B,
    most: usize,
    held: &mut Held,
    came: impl Fn(usize),
) -> Result<Bytes, Broken<B::Error>> {
    let (mut one, mut many) = (Bytes::new(), Vec::new());
    while let Some(frame) = body.frame().await {
        // Trailers say nothing here.
        let Ok(data) = frame.map_err(Broken::Off)?.into_data() else { continue };
        came(data.len());
        if one.is_empty() && many.is_empty() {
            held.grow(data.len()).map_err(Broken::NoRoom)?;
            one = data;
            continue;
        }
        let needed = one.len() + many.len() + data.len();
        if needed > many.capacity() {
            let place = needed.max(most.min(needed * 2));
            held.grow(place).map_err(Broken::NoRoom)?;
            many.reserve_exact(place - many.len());
        }
        many.extend_from_slice(&std::mem::take(&mut one));
        many.extend_from_slice(&data);
    }
    Ok(if many.is_empty() { one } else { Bytes::from(many) })
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
