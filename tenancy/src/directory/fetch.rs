//! Reading parameters: gathered into `GetParameters` of up to ten names, one call at a time. Where the role may call `GetParameter`
//! alone, a call has one name, and the budget for ids not yet known is as many calls as before.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_ssm::error::ProvideErrorMetadata as _;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::LookupError;
use crate::aws::describe;

/// Names in one `GetParameters` call, by its documentation.
const NAMES_PER_CALL: usize = 10;

/// Calls a second for ids not yet known: an account has 40 a second for everything and everyone in it.
const NEW_CALLS_PER_SECOND: f64 = 2.0;

/// Such calls that may come at once after a quiet time.
const NEW_CALLS_BURST: f64 = 4.0;

/// Lookups of ids not yet known that wait for a call: what a second's budget serves. More are told to come back.
const NEW_WAITING: usize = 20;

/// The same where every call reads one name.
const NEW_WAITING_SINGLY: usize = 2;

/// After a failed call: how long every lookup fails at once, doubling from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Whether a lookup counts against the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Of an id that exists for all we know: our own, or one read before.
    Known,
    /// Of an id that anyone may have made up.
    New,
}

/// What SSM says of a name: its value, or that there is none.
pub(super) type Fetched = Result<Option<String>, LookupError>;

#[derive(Debug, Clone)]
pub(super) struct Fetcher(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    ssm: aws_sdk_ssm::Client,
    state: Mutex<State>,
    /// Set when the role may call `GetParameter` alone, as older policies have it.
    one_by_one: AtomicBool,
    calls: metrics::Counter,
    failures: metrics::Counter,
}

#[derive(Debug)]
struct State {
    known: VecDeque<Waiting>,
    new: VecDeque<Waiting>,
    working: bool,
    tokens: f64,
    tokens_at: Instant,
    failures: u32,
    paused_until: Option<Instant>,
}

#[derive(Debug)]
struct Waiting {
    name: String,
    tell: oneshot::Sender<Fetched>,
}

enum Next {
    Call(Vec<Waiting>),
    Wait(Duration),
    Idle,
}

impl Fetcher {
    pub(super) fn new(ssm: aws_sdk_ssm::Client) -> Self {
        let state = State {
            known: VecDeque::new(),
            new: VecDeque::new(),
            working: false,
            tokens: NEW_CALLS_BURST,
            tokens_at: Instant::now(),
            failures: 0,
            paused_until: None,
        };
        Self(Arc::new(Inner {
            ssm,
            state: Mutex::new(state),
            one_by_one: AtomicBool::new(false),
            calls: metrics::counter!("directory_calls_total"),
            failures: metrics::counter!("directory_failed_calls_total"),
        }))
    }

    /// The value of one parameter.
    pub(super) async fn fetch(&self, name: String, urgency: Urgency) -> Fetched {
        let (tell, told) = oneshot::channel();
        {
            let mut state = self.0.lock();
            if state.paused_until.is_some_and(|until| until > Instant::now()) {
                return Err(LookupError::Unavailable);
            }
            let waiting = Waiting { name, tell };
            match urgency {
                Urgency::Known => state.known.push_back(waiting),
                Urgency::New if state.new.len() < self.0.new_waiting() => state.new.push_back(waiting),
                Urgency::New => return Err(LookupError::Busy),
            }
            if !state.working {
                state.working = true;
                let this = self.clone();
                tokio::spawn(async move { this.work().await });
            }
        }
        told.await.unwrap_or(Err(LookupError::Unavailable))
    }

    /// Calls until nobody waits.
    async fn work(&self) {
        // Lookups made together, such as a queue and a table at start, find themselves in one call.
        tokio::task::yield_now().await;
        loop {
            let next = self.0.lock().next(self.0.one_by_one.load(Ordering::Relaxed));
            match next {
                Next::Call(batch) => self.call(batch).await,
                Next::Wait(time) => tokio::time::sleep(time).await,
                Next::Idle => return,
            }
        }
    }

    async fn call(&self, batch: Vec<Waiting>) {
        let names = batch.iter().map(|waiting| waiting.name.clone()).collect();
        match self.read(names).await {
            Ok(mut values) => {
                let mut state = self.0.lock();
                state.failures = 0;
                state.paused_until = None;
                drop(state);
                for waiting in batch {
                    let value = values.remove(&waiting.name);
                    let _ = waiting.tell.send(Ok(value));
                }
            }
            Err(()) => {
                self.0.failures.increment(1);
                self.0.lock().pause();
                for waiting in batch {
                    let _ = waiting.tell.send(Err(LookupError::Unavailable));
                }
            }
        }
    }

    async fn read(&self, names: Vec<String>) -> Result<HashMap<String, String>, ()> {
        if self.0.one_by_one.load(Ordering::Relaxed) {
            return self.read_one_by_one(&names).await;
        }
        self.0.calls.increment(1);
        let reply = self.0.ssm.get_parameters().set_names(Some(names.clone())).send().await;
        match reply {
            Ok(reply) => {
                let parameters = reply.parameters.unwrap_or_default();
                let values: HashMap<_, _> =
                    parameters.into_iter().filter_map(|parameter| Some((parameter.name?, parameter.value?))).collect();
                let missing = reply.invalid_parameters.unwrap_or_default();
                // Only a name that SSM says it does not know is not there; one that the answer leaves out may well be.
                let left_out = |name: &&String| !values.contains_key(*name) && !missing.contains(name);
                if let Some(name) = names.iter().find(left_out) {
                    tracing::warn!(name, "SSM's answer says nothing of a parameter that it was asked for");
                    return Err(());
                }
                Ok(values)
            }
            // The role as it is; credentials that have run out say nothing about it.
            Err(error) if error.code().is_some_and(is_access_denied) => {
                let values = self.read_one_by_one(&names).await.inspect_err(|()| {
                    tracing::error!(error = describe(&error), ?names, "SSM refused to read parameters");
                })?;
                if !self.0.one_by_one.swap(true, Ordering::Relaxed) {
                    tracing::warn!("the role may not call ssm:GetParameters; parameters are read one by one");
                }
                Ok(values)
            }
            Err(error) => {
                tracing::warn!(error = describe(&error), ?names, "parameters could not be read");
                Err(())
            }
        }
    }

    async fn read_one_by_one(&self, names: &[String]) -> Result<HashMap<String, String>, ()> {
        let mut values = HashMap::with_capacity(names.len());
        for name in names {
            self.0.calls.increment(1);
            match self.0.ssm.get_parameter().name(name).send().await {
                Ok(reply) => {
                    let Some(value) = reply.parameter.and_then(|parameter| parameter.value) else {
                        tracing::warn!(name, "SSM's answer has no value");
                        return Err(());
                    };
                    values.insert(name.clone(), value);
                }
                Err(error) if error.as_service_error().is_some_and(|error| error.is_parameter_not_found()) => {}
                Err(error) => {
                    tracing::warn!(error = describe(&error), name, "a parameter could not be read");
                    return Err(());
                }
            }
        }
        Ok(values)
    }
}

/// Codes that say that the role may not call an operation.
fn is_access_denied(code: &str) -> bool {
    matches!(code.rsplit('#').next(), Some("AccessDeniedException" | "AccessDenied"))
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_waiting(&self) -> usize {
        if self.one_by_one.load(Ordering::Relaxed) { NEW_WAITING_SINGLY } else { NEW_WAITING }
    }
}

impl State {
    /// What to do next; marks the worker as gone when there is nothing. `one_by_one`: each name is a call of its own.
    fn next(&mut self, one_by_one: bool) -> Next {
        let now = Instant::now();
        // Whoever gave up waiting costs no call.
        self.known.retain(|waiting| !waiting.tell.is_closed());
        self.new.retain(|waiting| !waiting.tell.is_closed());
        self.tokens = (self.tokens + (now - self.tokens_at).as_secs_f64() * NEW_CALLS_PER_SECOND).min(NEW_CALLS_BURST);
        self.tokens_at = now;
        let mut batch: Vec<Waiting> = drain(&mut self.known, NAMES_PER_CALL);
        if batch.is_empty() && !self.new.is_empty() && self.tokens < 1.0 {
            // What is missing may be less than a clock can tell: a pause of nothing at all would only spin.
            let missing = Duration::from_secs_f64((1.0 - self.tokens) / NEW_CALLS_PER_SECOND);
            return Next::Wait(missing.max(Duration::from_millis(1)));
        }
        let room = if one_by_one { 1 } else { NAMES_PER_CALL - batch.len() };
        if room > 0 && !self.new.is_empty() && self.tokens >= 1.0 {
            self.tokens -= 1.0;
            batch.append(&mut drain(&mut self.new, room));
        }
        if batch.is_empty() {
            self.working = false;
            return Next::Idle;
        }
        Next::Call(batch)
    }

    fn pause(&mut self) {
        let pause = PAUSES.0.saturating_mul(1 << self.failures.min(10)).min(PAUSES.1);
        self.failures = self.failures.saturating_add(1);
        self.paused_until = Some(Instant::now() + pause.mul_f64(0.5 + fastrand::f64() / 2.0));
    }
}

fn drain(queue: &mut VecDeque<Waiting>, most: usize) -> Vec<Waiting> {
    let most = most.min(queue.len());
    queue.drain(..most).collect()
}
