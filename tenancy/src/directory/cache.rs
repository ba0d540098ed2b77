//! What was read, how long it holds, and one flight a key.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use aws_types::region::Region;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::arn::ArnError;
use crate::aws::cut;
use crate::tenant::Environment;

use super::fetch::{Fetcher, Urgency};
use super::{LookupError, ValueError, parameter_name};

/// How long "there is no such parameter" holds: a tenant that is just being onboarded is known soon after.
const ABSENT_FOR: Duration = Duration::from_secs(5);

/// How many absent ids are remembered. Beyond, an unknown id costs a lookup of the budget.
const MOST_ABSENT: usize = 10_000;

/// After a refresh that failed, and after a reading because of a resource that is gone which named the same one again.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Something that a parameter names.
pub(super) trait Resource: FromStr<Err = ArnError> + PartialEq + Send + Sync + 'static {
    /// The last part of the parameter's name.
    const PARAMETER: &'static str;

    /// The region it lives in.
    fn region(&self) -> &str;
}

#[derive(Debug)]
pub(super) struct Cache<T>(Arc<Inner<T>>);

impl<T> Clone for Cache<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[derive(Debug)]
struct Inner<T> {
    fetcher: Fetcher,
    region: Region,
    own: Arc<Environment>,
    ttl: Duration,
    /// Bounded by the parameters that exist: nothing gets in here that SSM does not have.
    known: RwLock<HashMap<Environment, Arc<Entry<T>>>>,
    /// Bounded by [`MOST_ABSENT`].
    absent: Mutex<HashMap<Environment, (Instant, LookupError)>>,
    flights: Mutex<HashMap<Environment, Flight<T>>>,
    hits: metrics::Counter,
    misses: metrics::Counter,
    refreshes: metrics::Counter,
}

type Flight<T> = watch::Receiver<Option<Result<Arc<T>, LookupError>>>;

#[derive(Debug)]
struct Entry<T> {
    value: Arc<T>,
    /// Until then the parameter is not read for being gone: it was, and named the same resource.
    keeps_until: Option<Instant>,
    fresh_until: Mutex<Instant>,
    refreshing: AtomicBool,
    gone: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Resource> Cache<T> {
    pub(super) fn new(fetcher: Fetcher, region: Region, own: Arc<Environment>, ttl: Duration) -> Self {
        let count = |result: &'static str| metrics::counter!("directory_lookups_total", "parameter" => T::PARAMETER, "result" => result);
        Self(Arc::new(Inner {
            fetcher,
            region,
            own,
            ttl,
            known: RwLock::default(),
            absent: Mutex::default(),
            flights: Mutex::default(),
            hits: count("hit"),
            misses: count("miss"),
            refreshes: count("refresh"),
        }))
    }

    pub(super) async fn get(&self, of: &Environment) -> Result<Arc<T>, LookupError> {
        let entry = self.entry(of);
        if let Some(entry) = entry.as_ref().filter(|entry| !entry.gone.load(Ordering::Relaxed)) {
            self.0.hits.increment(1);
            self.refresh_if_due(of, entry);
            return Ok(entry.value.clone());
        }
        if let Some((until, error)) = lock(&self.0.absent).get(of)
            && *until > Instant::now()
        {
            return Err(*error);
        }
        self.0.misses.increment(1);
        // What exists for all we know was not made up by a client.
        let exists = entry.is_some() || *of == *self.0.own;
        let mut flight = self.board(of, if exists { Urgency::Known } else { Urgency::New });
        let outcome = flight.wait_for(Option::is_some).await.ok().and_then(|outcome| (*outcome).clone());
        outcome.unwrap_or(Err(LookupError::Unavailable))
    }

    /// Says that `gone` does not exist any more: if it is still what is known of `of`, and was not read for that reason only just
    /// now, the next lookup reads the parameter. A queue or table that is gone is worth nothing, so it is not used meanwhile.
    pub(super) fn forget(&self, of: &Environment, gone: &T) {
        if let Some(entry) = self.entry(of)
            && *entry.value == *gone
            && entry.keeps_until.is_none_or(|until| until <= Instant::now())
        {
            entry.gone.store(true, Ordering::Relaxed);
        }
    }

    /// How many absent ids are remembered.
    #[cfg(test)]
    pub(super) fn absent(&self) -> usize {
        lock(&self.0.absent).len()
    }

    fn entry(&self, of: &Environment) -> Option<Arc<Entry<T>>> {
        self.0.known.read().unwrap_or_else(PoisonError::into_inner).get(of).cloned()
    }

    /// Joins the lookup under way for `of`, or starts one. It runs in a task of its own: whoever waits may give up.
    fn board(&self, of: &Environment, urgency: Urgency) -> Flight<T> {
        let mut flights = lock(&self.0.flights);
        if let Some(flight) = flights.get(of) {
            return flight.clone();
        }
        let (land, flight) = watch::channel(None);
        flights.insert(of.clone(), flight.clone());
        drop(flights);
        let (this, of) = (self.clone(), of.clone());
        tokio::spawn(async move {
            let outcome = this.read(&of, urgency).await;
            match &outcome {
                Ok(value) => this.learn(&of, value.clone()),
                Err(error @ (LookupError::NotFound | LookupError::Invalid)) => this.learn_absent(&of, *error),
                Err(LookupError::Busy | LookupError::Unavailable) => {}
            }
            lock(&this.0.flights).remove(&of);
            let _ = land.send(Some(outcome));
        });
        flight
    }

    fn refresh_if_due(&self, of: &Environment, entry: &Arc<Entry<T>>) {
        let due = *lock(&entry.fresh_until) <= Instant::now();
        if !due || entry.refreshing.swap(true, Ordering::Relaxed) {
            return;
        }
        self.0.refreshes.increment(1);
        let (this, of, entry) = (self.clone(), of.clone(), entry.clone());
        tokio::spawn(async move {
            match this.read(&of, Urgency::Known).await {
                Ok(value) => this.learn(&of, value),
                Err(LookupError::NotFound) => {
                    // Nobody is served by a parameter that was taken away.
                    tracing::warn!(parameter = parameter_name(&of, T::PARAMETER), "the parameter is gone");
                    this.0.known.write().unwrap_or_else(PoisonError::into_inner).remove(&of);
                    this.learn_absent(&of, LookupError::NotFound);
                }
                // The value in hand served until now and serves on.
                Err(_) => *lock(&entry.fresh_until) = Instant::now() + jittered(AGAIN_AFTER),
            }
            entry.refreshing.store(false, Ordering::Relaxed);
        });
    }

    async fn read(&self, of: &Environment, urgency: Urgency) -> Result<Arc<T>, LookupError> {
        let name = parameter_name(of, T::PARAMETER);
        let value = self.0.fetcher.fetch(name.clone(), urgency).await?.ok_or(LookupError::NotFound)?;
        match parse(&value, &self.0.region) {
            Ok(resource) => Ok(Arc::new(resource)),
            Err(error) => {
                let (value, error) = (cut(&value, 100), cut(&error.to_string(), 200));
                tracing::error!(parameter = name, value, error, "the parameter's value cannot be used");
                Err(LookupError::Invalid)
            }
        }
    }

    fn learn(&self, of: &Environment, value: Arc<T>) {
        let now = Instant::now();
        let fresh_until = Mutex::new(now + jittered(self.0.ttl));
        let (refreshing, gone) = (AtomicBool::default(), AtomicBool::default());
        let mut known = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        let named_again =
            known.get(of).is_some_and(|before| before.gone.load(Ordering::Relaxed) && *before.value == *value);
        let keeps_until = named_again.then(|| now + AGAIN_AFTER);
        known.insert(of.clone(), Arc::new(Entry { value, keeps_until, fresh_until, refreshing, gone }));
    }

    pub(super) fn learn_absent(&self, of: &Environment, error: LookupError) {
        let mut absent = lock(&self.0.absent);
        let now = Instant::now();
        if absent.len() >= MOST_ABSENT {
            absent.retain(|_, (until, _)| *until > now);
        }
        if absent.len() < MOST_ABSENT {
            absent.insert(of.clone(), (now + jittered(ABSENT_FOR), error));
        }
    }
}

/// From four fifths of `time` to all of it.
fn jittered(time: Duration) -> Duration {
    time.mul_f64(0.8 + 0.2 * fastrand::f64())
}

pub(super) fn parse<T: Resource>(value: &str, own: &Region) -> Result<T, ValueError> {
    let resource: T = value.parse()?;
    if resource.region() != own.as_ref() {
        return Err(ValueError::Region { found: resource.region().to_owned(), own: own.to_string() });
    }
    Ok(resource)
}
