//! Having the issuer's keys: read at the start, again every few minutes, and when a token names a key that is not among them.
//!
//! The last reason is anybody's to cause, so it is bounded: a few refreshes in a row, then one every ten seconds, whatever
//! comes in, and a bounded number of requests that wait for one. While the issuer cannot be reached, the last keys stay.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;

use super::fetch::{DOCUMENT_TIMEOUT, Fetcher};
use super::keys::{Algorithm, Found, Key, KeySet};
use super::{Refusal, facts};

/// After how long keys are read again; a key that the issuer withdraws is believed no longer than this. Up to a tenth less, so
/// that the pods of a deployment do not all come at once.
const REFRESH_EVERY: Duration = Duration::from_secs(300);

/// Pauses after failures: they double from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// Refreshes that unknown keys may cause in a row, and how long each takes to be allowed again.
const ALLOWED: (u32, Duration) = (3, Duration::from_secs(10));

/// Requests that may wait for a refresh at a time; the others are answered from what is known.
const MOST_WAITING: usize = 64;

/// What is known of the keys.
#[derive(Debug, Clone, Default)]
struct Known {
    keys: Option<Arc<KeySet>>,
    /// Fetches that have ended, in whatever way.
    rounds: u64,
}

#[derive(Debug)]
pub(super) struct Keeper {
    known: watch::Sender<Known>,
    /// Changes with the keys, so that what older ones verified is verified anew.
    generation: AtomicU64,
    wanted: Notify,
    allowance: Mutex<Allowance>,
    waiting: Semaphore,
}

/// How many refreshes unknown keys may still cause.
#[derive(Debug)]
struct Allowance {
    left: u32,
    /// When one more was allowed last.
    since: Instant,
    /// A refresh is asked for or under way; who needs one joins it.
    pending: bool,
}

impl Keeper {
    pub(super) fn new() -> Self {
        let allowance = Allowance { left: ALLOWED.0, since: Instant::now(), pending: false };
        Self {
            known: watch::Sender::new(Known::default()),
            generation: AtomicU64::new(0),
            wanted: Notify::new(),
            allowance: Mutex::new(allowance),
            waiting: Semaphore::new(MOST_WAITING),
        }
    }

    /// Which keys are known: another number for others.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Until there are keys.
    pub(super) async fn known(&self) {
        let _ = self.known.subscribe().wait_for(|known| known.keys.is_some()).await;
    }

    /// The key of a token, with the generation it belongs to. `None` while no keys are known at all.
    pub(super) async fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<Result<(Key, u64), Refusal>> {
        if let Some(found) = self.look(id, algorithm)? {
            return Some(found);
        }
        self.refreshed().await;
        Some(self.look(id, algorithm)?.unwrap_or(Err(Refusal::UnknownKey)))
    }

    /// As [`Keeper::find`], among the keys known now; the inner `None` is an unknown key.
    #[expect(clippy::option_option, reason = "no keys, and not this key, are two things")]
    fn look(&self, id: Option<&str>, algorithm: Algorithm) -> Option<Option<Result<(Key, u64), Refusal>>> {
        // The number first: if keys change in between, what is found counts as verified by older ones, which is harmless.
        let generation = self.generation();
        let keys = self.known.borrow().keys.clone()?;
        Some(match keys.find(id, algorithm) {
            Found::Key(key) => Some(Ok((key.clone(), generation))),
            Found::Refused(refusal) => Some(Err(refusal)),
            Found::Unknown => None,
        })
    }

    /// Until a refresh has ended, if one may be had.
    async fn refreshed(&self) {
        let Ok(_place) = self.waiting.try_acquire() else { return };
        let mut known = self.known.subscribe();
        let before = known.borrow_and_update().rounds;
        if !self.ask() {
            return;
        }
        let ended = known.wait_for(|known| known.rounds > before);
        let _ = tokio::time::timeout(DOCUMENT_TIMEOUT * 2, ended).await;
    }

    /// Asks for a refresh; whether there will be one.
    fn ask(&self) -> bool {
        let mut allowance = self.allowance.lock().unwrap_or_else(PoisonError::into_inner);
        if allowance.pending {
            return true;
        }
        if !allowance.take(Instant::now()) {
            return false;
        }
        allowance.pending = true;
        drop(allowance);
        self.wanted.notify_one();
        true
    }

    /// Fetches keys for ever.
    pub(super) async fn keep(&self, fetcher: &Fetcher) {
        let mut failures: u32 = 0;
        loop {
            let pause = match fetcher.keys().await {
                Ok(keys) => {
                    failures = 0;
                    self.publish(keys);
                    REFRESH_EVERY.mul_f64(1.0 - fastrand::f64() / 10.0)
                }
                Err(error) => {
                    let keys = self.known.borrow().keys.as_ref().map_or(0, |keys| keys.len());
                    facts::not_fetched(&error, keys);
                    let pause = PAUSES.0.saturating_mul(1 << failures.min(10)).min(PAUSES.1);
                    failures = failures.saturating_add(1);
                    pause.mul_f64(0.5 + fastrand::f64() / 2.0)
                }
            };
            self.allowance.lock().unwrap_or_else(PoisonError::into_inner).pending = false;
            self.known.send_modify(|known| known.rounds += 1);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.wanted.notified() => {}
            }
        }
    }

    fn publish(&self, keys: KeySet) {
        let count = keys.len();
        let changed = self.known.borrow().keys.as_deref() != Some(&keys);
        if changed {
            self.known.send_modify(|known| known.keys = Some(Arc::new(keys)));
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        facts::fetched(count, changed);
    }
}

impl Allowance {
    fn take(&mut self, now: Instant) -> bool {
        let gained = (now - self.since).as_nanos() / ALLOWED.1.as_nanos();
        if gained > 0 {
            self.left = ALLOWED.0.min(self.left.saturating_add(u32::try_from(gained).unwrap_or(u32::MAX)));
            self.since = now;
        }
        if self.left == ALLOWED.0 {
            self.since = now;
        }
        let taken = self.left > 0;
        self.left = self.left.saturating_sub(1);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test(start_paused = true)]
    async fn at_most_64_requests_wait_for_an_issuer_that_says_nothing() {
        let keeper = Keeper::new();
        let key =
            r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"1"}]}"#;
        keeper.publish(KeySet::parse(key.as_bytes()).unwrap());
        let mut asking: Vec<_> = (0..200).map(|_| Box::pin(keeper.find(Some("unknown"), Algorithm::EdDsa))).collect();
        let answered = asking.iter_mut().filter_map(|find| find.as_mut().now_or_never()).collect::<Vec<_>>();
        assert_eq!(answered.len(), 200 - MOST_WAITING);
        for answer in answered {
            assert_eq!(answer, Some(Err(Refusal::UnknownKey)));
        }
        assert!(matches!(keeper.find(Some("1"), Algorithm::EdDsa).now_or_never(), Some(Some(Ok(_)))));
        let began = Instant::now();
        for find in asking.iter_mut().take(MOST_WAITING) {
            assert_eq!(find.await, Some(Err(Refusal::UnknownKey)));
        }
        assert_eq!(began.elapsed(), DOCUMENT_TIMEOUT * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn unknown_keys_cause_three_refreshes_in_a_row_and_then_one_every_ten_seconds() {
        let mut allowance = Allowance { left: ALLOWED.0, since: Instant::now(), pending: false };
        let mut taken = |after: u64| {
            let now = Instant::now() + Duration::from_secs(after);
            (0..1_000).filter(|_| allowance.take(now)).count()
        };
        assert_eq!([taken(0), taken(5), taken(10), taken(11), taken(21), taken(3_600)], [3, 0, 1, 0, 1, 3]);
    }
}
