//! What was read, how long it holds, and one flight a key.
//!
//! A value has three ages. Fresh, it serves. Due, it serves and is read again beside that, so that a tenant with traffic never
//! waits. Stale, which only a value becomes that nobody asked for, it serves when SSM cannot be read, and not before: its queue
//! may be another tenant's by now.

use std::collections::HashMap;
use std::str::FromStr;
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

/// After a reading that failed, and after a reading because of a resource that is gone which named the same one again.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// How long a value is not stale after a reading that failed: longer than the next one takes, if that is not answered either.
const HOLDS_ON_FOR: Duration = Duration::from_secs(15);

/// How long a request waits for a stale value's reading before it goes on with the value in hand.
const STALE_WAIT: Duration = Duration::from_secs(2);

/// The age from which a value is no reason to turn a request away.
const DOUBTED_AFTER: Duration = Duration::from_secs(30);

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
    holds: Mutex<Holds>,
}

#[derive(Debug)]
struct Holds {
    /// From then it is read again in the background.
    due: Instant,
    /// From then it is not served without a reading.
    stale: Instant,
    /// From then it is no reason to turn a request away.
    doubted: Instant,
    /// AWS said that what it names is gone.
    gone: bool,
    /// Until then that is not believed again: it was read for this reason, or could not be.
    kept_until: Option<Instant>,
}

enum Age {
    Fresh,
    Due,
    Stale,
}

impl<T> Entry<T> {
    /// How old it is. Whoever learns that it is due has to have it read: nobody else learns so for a while.
    fn age(&self) -> Age {
        let now = Instant::now();
        let mut holds = lock(&self.holds);
        if now >= holds.stale {
            return Age::Stale;
        }
        if now >= holds.due {
            holds.due = now + AGAIN_AFTER;
            return Age::Due;
        }
        Age::Fresh
    }

    fn is_doubted(&self) -> bool {
        lock(&self.holds).doubted <= Instant::now()
    }

    /// It could not be read, so it serves on.
    fn hold_on(&self) {
        let now = Instant::now();
        let mut holds = lock(&self.holds);
        holds.due = now + jittered(AGAIN_AFTER);
        holds.stale = holds.stale.max(now + HOLDS_ON_FOR);
        holds.doubted = now + AGAIN_AFTER;
        if holds.gone {
            holds.kept_until = Some(now + AGAIN_AFTER);
        }
    }
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
        // Whoever waits does so in a box, so that the many who do not are small.
        let Some(entry) = self.entry(of) else {
            return Box::pin(self.first(of)).await;
        };
        match entry.age() {
            Age::Fresh => {}
            Age::Due => drop(self.board(of, Urgency::Known)),
            Age::Stale => return Box::pin(self.anew(of, &entry, Urgency::Known)).await,
        }
        self.0.hits.increment(1);
        Ok(entry.value.clone())
    }

    /// As `get`, for whoever is about to turn a request away because of the value: one of half a minute ago is read again if
    /// the budget for unknown ids, which clients can use up, has a call left.
    pub(super) async fn get_confirmed(&self, of: &Environment) -> Result<Arc<T>, LookupError> {
        match self.entry(of).filter(|entry| entry.is_doubted()) {
            Some(entry) => self.anew(of, &entry, Urgency::New).await,
            None => self.get(of).await,
        }
    }

    /// Says that `gone` does not exist any more: if it is still what is known of `of`, and was not read for that reason only just
    /// now, the next lookup reads the parameter and uses `gone` only if that cannot be read.
    pub(super) fn forget(&self, of: &Environment, gone: &T) {
        if let Some(entry) = self.entry(of)
            && *entry.value == *gone
        {
            let now = Instant::now();
            let mut holds = lock(&entry.holds);
            if holds.kept_until.is_none_or(|until| until <= now) {
                (holds.gone, holds.stale) = (true, now);
            }
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

    /// What was never read, or is not there.
    async fn first(&self, of: &Environment) -> Result<Arc<T>, LookupError> {
        if let Some((until, error)) = lock(&self.0.absent).get(of)
            && *until > Instant::now()
        {
            return Err(*error);
        }
        self.0.misses.increment(1);
        // What exists for all we know was not made up by a client.
        let exists = *of == *self.0.own;
        landed(self.board(of, if exists { Urgency::Known } else { Urgency::New })).await
    }

    /// What is read now, or else the value in hand.
    async fn anew(&self, of: &Environment, entry: &Entry<T>, urgency: Urgency) -> Result<Arc<T>, LookupError> {
        let mut flight = self.board(of, urgency);
        let read = async {
            loop {
                match landed(flight).await {
                    // Somebody else's flight that the budget had no call for.
                    Err(LookupError::Busy) if urgency == Urgency::Known => flight = self.board(of, urgency),
                    outcome => return outcome,
                }
            }
        };
        let patience = if self.0.fetcher.is_down() { Duration::ZERO } else { STALE_WAIT };
        match tokio::time::timeout(patience, read).await {
            Ok(outcome @ (Ok(_) | Err(LookupError::NotFound))) => return outcome,
            Ok(Err(LookupError::Busy)) => {}
            Ok(Err(LookupError::Unavailable | LookupError::Invalid)) | Err(_) => entry.hold_on(),
        }
        Ok(entry.value.clone())
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
            if this.entry(&of).is_some() {
                this.0.refreshes.increment(1);
            }
            let outcome = this.read(&of, urgency).await;
            match (&outcome, this.entry(&of)) {
                (Ok(value), before) => this.learn(&of, value.clone(), before),
                (Err(LookupError::Busy), _) => {}
                (Err(LookupError::NotFound), Some(_)) => {
                    // Nobody is served by a parameter that was taken away.
                    tracing::warn!(parameter = parameter_name(&of, T::PARAMETER), "the parameter is gone");
                    this.0.known.write().unwrap_or_else(PoisonError::into_inner).remove(&of);
                    this.learn_absent(&of, LookupError::NotFound);
                }
                // The value in hand served until now and serves on.
                (Err(LookupError::Unavailable | LookupError::Invalid), Some(entry)) => entry.hold_on(),
                (Err(error @ (LookupError::NotFound | LookupError::Invalid)), None) => this.learn_absent(&of, *error),
                (Err(LookupError::Unavailable), None) => {}
            }
            lock(&this.0.flights).remove(&of);
            let _ = land.send(Some(outcome));
        });
        flight
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

    fn learn(&self, of: &Environment, value: Arc<T>, before: Option<Arc<Entry<T>>>) {
        let now = Instant::now();
        let named_again = before.is_some_and(|before| *before.value == *value && lock(&before.holds).gone);
        let holds = Mutex::new(Holds {
            due: now + jittered(self.0.ttl),
            stale: now + self.0.ttl + self.0.ttl / 10,
            doubted: now + DOUBTED_AFTER,
            gone: false,
            kept_until: named_again.then(|| now + AGAIN_AFTER),
        });
        let mut known = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(of.clone(), Arc::new(Entry { value, holds }));
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

/// What a flight brings.
async fn landed<T>(mut flight: Flight<T>) -> Result<Arc<T>, LookupError> {
    let outcome = flight.wait_for(Option::is_some).await.ok().and_then(|outcome| (*outcome).clone());
    outcome.unwrap_or(Err(LookupError::Unavailable))
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
