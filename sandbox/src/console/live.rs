//! What changes, for every tab at once: one task looks twice a second, however many watch, and a tab that is slow gets the
//! newest state instead of all that it missed.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::{Console, refusal};
use crate::aws::Landing;
use crate::aws::look::Look;
use crate::plane::layout::{Layout, Resources};

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// Looks that a rate is taken over.
const WINDOW: usize = 5;
/// Records that are shown as they land.
const SHOWN: usize = 12;
/// Streams that are open at a time; tabs of one browser share one.
const STREAMS: usize = 64;
/// How long a stream is silent at most.
const SILENCE: Duration = Duration::from_secs(10);

/// The newest state, and who may follow it.
pub(super) struct Live {
    state: watch::Receiver<String>,
    streams: Arc<Semaphore>,
}

#[derive(Serialize)]
struct Now<'a> {
    stored: u64,
    rate: f64,
    queues: Vec<QueueNow<'a>>,
    tenants: Vec<TenantNow<'a>>,
    landings: &'a VecDeque<Shown>,
}

#[derive(Serialize)]
struct QueueNow<'a> {
    name: &'a str,
    waiting: usize,
    in_flight: usize,
    sent: u64,
    rate: f64,
    dead: usize,
}

#[derive(Serialize)]
struct TenantNow<'a> {
    id: &'a str,
    stored: u64,
    rate: f64,
}

#[derive(Serialize)]
struct Shown {
    /// Tells one landing from another, also of the same record.
    number: u64,
    at_ms: i64,
    tenant: String,
    message_id: String,
    table: String,
    /// From when SQS took the message to when the table took the record.
    took_ms: Option<i64>,
}

/// Counters at a moment: of all records, of each queue, of each tenant.
struct Sample {
    at: Instant,
    counts: Vec<u64>,
}

struct Sampler {
    look: Look,
    /// Queues with their dead-letter queues.
    queues: Vec<(String, String)>,
    tenants: Vec<String>,
    places: HashMap<String, usize>,
    stored: u64,
    stored_of: Vec<u64>,
    landings: VecDeque<Shown>,
    samples: VecDeque<Sample>,
}

impl Live {
    /// Looks at the plane from now on until `stopping`.
    pub(super) fn start(layout: &Layout, look: Look, stopping: CancellationToken) -> Self {
        let mut sampler = Sampler::new(layout, look);
        let (tell, state) = watch::channel(sampler.sample());
        let mut landings = sampler.look.watch_records();
        tokio::spawn(async move {
            let mut tick = tokio::time::interval(EVERY);
            tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stopping.cancelled() => return,
                    _ = tick.tick() => {
                        let now = sampler.sample();
                        tell.send_if_modified(|before| {
                            let changed = *before != now;
                            if changed {
                                *before = now;
                            }
                            changed
                        });
                    }
                    landing = landings.recv() => match landing {
                        Ok(landing) => sampler.landed(landing),
                        Err(RecvError::Lagged(missed)) => sampler.stored += missed,
                        Err(RecvError::Closed) => return,
                    },
                }
            }
        });
        Self { state, streams: Arc::new(Semaphore::new(STREAMS)) }
    }

    /// The newest state, as JSON.
    pub(super) fn now(&self) -> String {
        self.state.borrow().clone()
    }
}

impl Sampler {
    fn new(layout: &Layout, look: Look) -> Self {
        let names = |resources: Resources| (resources.queue(), resources.dead_letter_queue());
        let tenants: Vec<String> = layout.roster().tenants.iter().map(|tenant| tenant.id.to_string()).collect();
        Self {
            look,
            queues: layout.resources().into_iter().map(names).collect(),
            places: tenants.iter().cloned().enumerate().map(|(place, id)| (id, place)).collect(),
            stored: 0,
            stored_of: vec![0; tenants.len()],
            tenants,
            landings: VecDeque::new(),
            samples: VecDeque::new(),
        }
    }

    fn landed(&mut self, landing: Landing) {
        self.stored += 1;
        if let Some(place) = self.places.get(&landing.tenant_id) {
            self.stored_of[*place] += 1;
        }
        let now = jiff::Timestamp::now();
        let sent = landing.sent_at.parse::<jiff::Timestamp>().ok();
        self.landings.push_front(Shown {
            number: self.stored,
            at_ms: now.as_millisecond(),
            tenant: landing.tenant_id,
            message_id: landing.message_id,
            table: landing.table,
            took_ms: sent.map(|sent| (now.as_millisecond() - sent.as_millisecond()).max(0)),
        });
        self.landings.truncate(SHOWN);
    }

    /// The state as JSON.
    fn sample(&mut self) -> String {
        let depths: Vec<_> =
            self.queues.iter().map(|(queue, dead)| (self.look.depth(queue), self.look.depth(dead).waiting)).collect();
        let sent = depths.iter().map(|(depth, _)| depth.sent);
        let counts: Vec<u64> = std::iter::once(self.stored).chain(sent).chain(self.stored_of.iter().copied()).collect();
        self.samples.push_back(Sample { at: Instant::now(), counts });
        if self.samples.len() > WINDOW {
            self.samples.pop_front();
        }
        let rates = self.rates();
        let (of_queues, of_tenants) = rates[1..].split_at(self.queues.len());
        let queues = self.queues.iter().zip(&depths).zip(of_queues);
        let queues = queues.map(|(((name, _), (depth, dead)), rate)| QueueNow {
            name,
            waiting: depth.waiting,
            in_flight: depth.in_flight,
            sent: depth.sent,
            rate: *rate,
            dead: *dead,
        });
        let tenants = self.tenants.iter().zip(&self.stored_of).zip(of_tenants);
        let tenants = tenants.map(|((id, stored), rate)| TenantNow { id, stored: *stored, rate: *rate });
        let now = Now {
            stored: self.stored,
            rate: rates[0],
            queues: queues.collect(),
            tenants: tenants.collect(),
            landings: &self.landings,
        };
        serde_json::to_string(&now).unwrap_or_default()
    }

    /// By how much each counter grew a second, over the window.
    fn rates(&self) -> Vec<f64> {
        let (Some(first), Some(last)) = (self.samples.front(), self.samples.back()) else { return Vec::new() };
        let seconds = last.at.duration_since(first.at).as_secs_f64();
        let grown = first.counts.iter().zip(&last.counts).map(|(first, last)| last.saturating_sub(*first));
        grown.map(|grown| rate(grown, seconds)).collect()
    }
}

/// To one decimal place, so that what does not change looks the same.
fn rate(grown: u64, seconds: f64) -> f64 {
    let grown = f64::from(u32::try_from(grown).unwrap_or(u32::MAX));
    if seconds > 0.0 { (grown / seconds * 10.0).round() / 10.0 } else { 0.0 }
}

/// `GET /console/live`: server-sent events, one as it is now and then one for each change. It ends when the sandbox stops.
pub(super) async fn stream(State(Console(own)): State<Console>) -> Response {
    let Ok(place) = own.live.streams.clone().try_acquire_owned() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "too many are watching; close a page").into_response();
    };
    let mut state = own.live.state.clone();
    state.mark_changed();
    let stopping = own.stopping.clone();
    let events = unfold(Some((state, place, stopping)), |following| async {
        let (mut state, place, stopping) = following?;
        let changed = tokio::select! {
            biased;
            () = stopping.cancelled() => None,
            changed = tokio::time::timeout(SILENCE, state.changed()) => Some(changed),
        };
        let text = match changed {
            Some(Ok(Ok(()))) => format!("event: state\ndata: {}\n\n", *state.borrow_and_update()),
            Some(Err(_)) => ": still here\n\n".to_owned(),
            None | Some(Ok(Err(_))) => return Some((event("event: end\ndata: {}\n\n".to_owned()), None)),
        };
        Some((event(text), Some((state, place, stopping))))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

fn event(text: String) -> Result<Bytes, Infallible> {
    Ok(Bytes::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_one_decimal_place_and_nothing_grows_in_no_time() {
        assert_eq!((rate(0, 2.0), rate(5, 2.0), rate(1, 3.0), rate(7, 0.0)), (0.0, 2.5, 0.3, 0.0));
    }
}
