//! Having the issuer's keys: read at the start, again every few minutes, and when a token comes that they do not verify: one that names
//! a key that is not among them, or has the signature of another one.
//!
//! The last reason is anybody's to cause, so it is bounded: a few refreshes in a row, then one every ten seconds, whatever
//! comes in, and a bounded number of requests that wait for one. While the issuer cannot be reached, or answers with something else
//! than a key set, the last keys stay. A key set without keys is an answer like any other: the issuer has withdrawn them all.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;

use super::fetch::Fetcher;
use super::keys::{Algorithm, Key, KeySet};
use super::{Refusal, facts};

/// After how long keys are read again; a key that the issuer withdraws is believed no longer than this. Up to a tenth less, so
/// that the pods of a deployment do not all come at once.
const REFRESH_EVERY: Duration = Duration::from_secs(300);

/// Pauses while there is nothing to be had: they double from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// Refreshes that tokens may cause in a row, and how long each takes to be allowed again.
const ALLOWED: (u32, Duration) = (3, Duration::from_secs(10));

/// Requests that may wait for a refresh at a time; the others are answered at once.
const MOST_WAITING: usize = 64;

/// What is known of the keys.
#[derive(Debug, Clone, Default)]
struct Known {
    keys: Option<Arc<KeySet>>,
    /// Fetches that have begun, and those of them that have ended, in whatever way: one more has begun while one is under way.
    begun: u64,
    ended: u64,
    /// Whether the last of them got the issuer's keys.
    is_read: bool,
}

/// How much the known keys say about those that the issuer has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// They are the issuer's, as of seconds ago.
    Read,
    /// They are the issuer's, by a fetch that began before the question came up: what it did not find may have been
    /// published since.
    Earlier,
    /// Nothing: the issuer could not be read, or not yet.
    Unknown,
}

impl Known {
    fn freshness(&self) -> Freshness {
        if self.is_read { Freshness::Read } else { Freshness::Unknown }
    }
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

/// How many refreshes tokens may still cause.
#[derive(Debug)]
struct Allowance {
    left: u32,
    /// When one more was allowed last.
    since: Instant,
    /// A refresh is asked for and has not begun; who needs one joins it.
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

    /// Until there are keys to verify a token with.
    pub(super) async fn known(&self) {
        let any = |known: &Known| known.keys.as_ref().is_some_and(|keys| keys.len() > 0);
        let _ = self.known.subscribe().wait_for(any).await;
    }

    /// The key of a token among those known now, with the generation it belongs to.
    ///
    /// # Errors
    /// As [`KeySet::find`]; [`Refusal::Undecided`] while nothing has been read yet.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Result<(Key, u64), Refusal> {
        // The number first: if keys change in between, what is found counts as verified by older ones, which is harmless.
        let generation = self.generation();
        let keys = self.known.borrow().keys.clone().ok_or(Refusal::Undecided)?;
        Ok((keys.find(id, algorithm)?.clone(), generation))
    }

    /// Fetches that have begun: what the keys lack is answered for by one that begins later.
    pub(super) fn begun(&self) -> u64 {
        self.known.borrow().begun
    }

    /// Waits for the fetch that is under way, or else for a new one, if one may be had, and for at most `time`. `begun` is what
    /// [`Keeper::begun`] said before the known keys were looked at.
    pub(super) async fn refreshed(&self, begun: u64, time: Duration) -> Freshness {
        let Ok(_place) = self.waiting.try_acquire() else { return Freshness::Unknown };
        let mut known = self.known.subscribe();
        let before = known.borrow_and_update().clone();
        let is_under_way = before.begun > before.ended;
        if !is_under_way && !self.ask() {
            // There were several within the last seconds, so the last one says how things are.
            return before.freshness();
        }
        let ended = known.wait_for(|known| known.ended > before.ended);
        let freshness = match tokio::time::timeout(time, ended).await {
            Ok(Ok(known)) => known.freshness(),
            _ => Freshness::Unknown,
        };
        let is_earlier = is_under_way && before.begun <= begun && freshness == Freshness::Read;
        if is_earlier { Freshness::Earlier } else { freshness }
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
        let mut without: u32 = 0;
        loop {
            self.begin();
            let read = fetcher.keys().await;
            let (is_read, any) = (read.is_ok(), read.as_ref().is_ok_and(|keys| keys.len() > 0));
            match read {
                Ok(keys) => self.publish(keys),
                Err(error) => facts::not_fetched(&error, self.known.borrow().keys.as_deref()),
            }
            let pause = if any {
                without = 0;
                REFRESH_EVERY.mul_f64(1.0 - fastrand::f64() / 10.0)
            } else {
                let pause = PAUSES.0.saturating_mul(1 << without.min(10)).min(PAUSES.1);
                without = without.saturating_add(1);
                pause.mul_f64(0.5 + fastrand::f64() / 2.0)
            };
            self.end(is_read);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.wanted.notified() => {}
            }
        }
    }

    /// A fetch begins. Who asks from now on wants the next one.
    fn begin(&self) {
        let mut allowance = self.allowance.lock().unwrap_or_else(PoisonError::into_inner);
        allowance.pending = false;
        self.known.send_modify(|known| known.begun += 1);
    }

    fn end(&self, is_read: bool) {
        self.known.send_modify(|known| {
            known.ended = known.begun;
            known.is_read = is_read;
        });
    }

    /// Has these keys from now on, and no others: of a key that is not among them no token counts any more, seen before or not.
    fn publish(&self, keys: KeySet) {
        let keys = Arc::new(keys);
        let changed = self.known.borrow().keys.as_ref() != Some(&keys);
        if changed {
            self.known.send_modify(|known| known.keys = Some(keys.clone()));
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        facts::fetched(&keys, changed);
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
    async fn at_most_64_requests_wait_for_an_issuer_that_says_nothing_and_none_beyond_its_time() {
        let keeper = Keeper::new();
        let mut asking: Vec<_> = (0..200).map(|_| Box::pin(keeper.refreshed(0, Duration::from_secs(7)))).collect();
        let answered = asking.iter_mut().filter_map(|one| one.as_mut().now_or_never()).collect::<Vec<_>>();
        assert_eq!(answered, [Freshness::Unknown; 200 - MOST_WAITING]);
        let began = Instant::now();
        for one in asking.iter_mut().take(MOST_WAITING) {
            assert_eq!(one.await, Freshness::Unknown);
        }
        assert_eq!(began.elapsed(), Duration::from_secs(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_that_was_under_way_before_the_question_is_not_the_last_word() {
        let keeper = Keeper::new();
        let time = Duration::from_secs(7);
        keeper.begin();
        let mut asked_before_its_end = Box::pin(keeper.refreshed(keeper.begun(), time));
        assert_eq!(asked_before_its_end.as_mut().now_or_never(), None);
        keeper.end(true);
        assert_eq!(asked_before_its_end.await, Freshness::Earlier);
        // Nobody asked for more: what the fetch under way brings may be all that was wanted.
        assert_eq!(keeper.wanted.notified().now_or_never(), None);

        let question = keeper.begun();
        let mut asks = Box::pin(keeper.refreshed(question, time));
        assert_eq!(asks.as_mut().now_or_never(), None);
        assert_eq!(keeper.wanted.notified().now_or_never(), Some(()));
        keeper.begin();
        // The same question, by a second request: this fetch began after it.
        let mut joins = Box::pin(keeper.refreshed(question, time));
        assert_eq!(joins.as_mut().now_or_never(), None);
        keeper.end(true);
        assert_eq!((asks.await, joins.await), (Freshness::Read, Freshness::Read));
    }

    #[tokio::test(start_paused = true)]
    async fn there_are_keys_once_a_set_has_some_and_a_set_without_any_takes_them_back() {
        let keeper = Keeper::new();
        let find = || keeper.find(Some("1"), Algorithm::EdDsa).map(|(_, generation)| generation);
        assert_eq!(find(), Err(Refusal::Undecided));
        let key =
            r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"1"}]}"#;
        for (set, found) in [(r#"{"keys":[]}"#, Err(Refusal::UnknownKey)), (key, Ok(2))] {
            assert_eq!(keeper.known().now_or_never(), None);
            keeper.publish(KeySet::parse(set.as_bytes()).unwrap());
            assert_eq!(find(), found);
        }
        assert_eq!(keeper.known().now_or_never(), Some(()));
        keeper.publish(KeySet::parse(br#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#).unwrap());
        assert_eq!((find(), keeper.generation()), (Err(Refusal::UnknownKey), 3));
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
