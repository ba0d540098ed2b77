//! Each tenant's buckets, found by its id, in bounded memory.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use http::HeaderValue;
use metrics::{Counter, counter};

use super::bucket::{Bucket, Moment, Rate};
use crate::config::{Rates, Shares};
use crate::telemetry::tenants::ByTenant;
use crate::tenant::TenantId;

/// Parts of the map with a lock of their own; taken for writing only when a tenant comes after a pause.
const SHARDS: usize = 16;

/// Tenants in one shard that have buckets of their own: 65,536 in all. Whoever comes beyond that, before others' buckets are
/// full again, shares one with those who also do.
const MOST_IN_SHARD: usize = 4_096;

/// Full buckets are first looked for when a shard has this many.
const SWEEP_AT: usize = 64;

/// How often a shard without room looks for full buckets, in nanoseconds.
const SWEEP_EVERY: Moment = 1_000_000_000;

/// What a tenant may send, and how that is put in a header.
#[derive(Debug)]
pub(super) struct Quota {
    pub(super) requests: Option<Rate>,
    pub(super) bytes: Option<Rate>,
    pub(super) policy: HeaderValue,
}

/// A tenant's buckets.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) quota: Arc<Quota>,
    pub(super) requests: Bucket,
    pub(super) bytes: Bucket,
}

impl Account {
    fn new(quota: Arc<Quota>) -> Self {
        Self { quota, requests: Bucket::default(), bytes: Bucket::default() }
    }

    fn is_full(&self, now: Moment) -> bool {
        self.requests.is_full(now) && self.bytes.is_full(now)
    }
}

/// Requests that were told to come back, by limit and by tenant.
pub(super) struct Refused {
    requests: Counter,
    bytes: Counter,
    tenants: ByTenant,
}

impl Refused {
    /// A tenant was over its limit of requests.
    pub(super) fn requests(&self, tenant: &TenantId) {
        self.requests.increment(1);
        self.tenants.count(tenant, 1);
    }

    /// A tenant was over its limit of bytes.
    pub(super) fn bytes(&self, tenant: &TenantId) {
        self.bytes.increment(1);
        self.tenants.count(tenant, 1);
    }
}

struct Shard {
    accounts: HashMap<TenantId, Arc<Account>>,
    sweep_at: usize,
    /// When they were looked for last.
    swept: Moment,
    /// Of those who find no room.
    shared: Option<Arc<Account>>,
}

pub(super) struct Limiter {
    /// `None`: no limit.
    general: Option<Arc<Quota>>,
    own: HashMap<TenantId, Option<Arc<Quota>>>,
    shards: [RwLock<Shard>; SHARDS],
    hasher: RandomState,
    began: Instant,
    pub(super) refused: Refused,
}

impl Limiter {
    pub(super) fn new(shares: &Shares, metrics_tenants: usize) -> Self {
        let quota = |rates: &Rates| Quota::new(*rates, shares.burst.as_secs(), shares).map(Arc::new);
        let general = quota(&shares.general);
        let own = shares.own.iter().map(|(tenant, rates)| (tenant.clone(), quota(rates))).collect();
        let shard = |_| {
            let shared = general.clone().map(|quota| Arc::new(Account::new(quota)));
            RwLock::new(Shard { accounts: HashMap::new(), sweep_at: SWEEP_AT, swept: 0, shared })
        };
        Self {
            shards: std::array::from_fn(shard),
            general,
            own,
            hasher: RandomState::new(),
            began: Instant::now(),
            refused: Refused {
                requests: counter!("limited_requests_total", "limit" => "requests"),
                bytes: counter!("limited_requests_total", "limit" => "bytes"),
                tenants: ByTenant::new("limited_tenant_requests_total", metrics_tenants),
            },
        }
    }

    pub(super) fn now(&self) -> Moment {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The buckets of a tenant that is served here; `None` when nothing limits it.
    pub(super) fn account(&self, tenant: &TenantId) -> Option<Arc<Account>> {
        let quota = match self.own.get(tenant) {
            Some(own) => own.as_ref()?,
            None => self.general.as_ref()?,
        };
        let at = usize::try_from(self.hasher.hash_one(tenant) % SHARDS as u64).unwrap_or_default();
        let shard = self.shards.get(at)?;
        if let Some(account) = shard.read().unwrap_or_else(PoisonError::into_inner).accounts.get(tenant) {
            return Some(account.clone());
        }
        let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = shard.accounts.get(tenant) {
            return Some(account.clone());
        }
        if shard.accounts.len() >= shard.sweep_at {
            shard.sweep(self.now());
        }
        // A tenant with limits of its own is named in the settings: there are few, and each has its place.
        if shard.accounts.len() >= MOST_IN_SHARD && !self.own.contains_key(tenant) {
            return shard.shared.clone();
        }
        let account = Arc::new(Account::new(quota.clone()));
        shard.accounts.insert(tenant.clone(), account.clone());
        Some(account)
    }

    #[cfg(test)]
    fn accounts(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().unwrap().accounts.len()).sum()
    }
}

impl Shard {
    /// Forgets buckets that are full and in nobody's hands: a new one would be the same. A shard without room looks for them once
    /// a second, so that those who find none do not pay for the search each time.
    fn sweep(&mut self, now: Moment) {
        if self.accounts.len() >= MOST_IN_SHARD && now.saturating_sub(self.swept) < SWEEP_EVERY {
            return;
        }
        self.swept = now;
        self.accounts.retain(|_, account| Arc::strong_count(account) > 1 || !account.is_full(now));
        self.sweep_at = (self.accounts.len() * 2).clamp(SWEEP_AT, MOST_IN_SHARD);
    }
}

impl Quota {
    fn new(rates: Rates, window: u64, shares: &Shares) -> Option<Self> {
        let rate = |per_second| Rate::new(per_second, shares.burst);
        let (requests, bytes) = (rates.requests.map(rate), rates.bytes.map(rate));
        let items = [
            requests.map(|rate| format!("\"requests\";q={};w={window}", integer(rate.most()))),
            bytes.map(|rate| format!("\"bytes\";q={};qu=\"content-bytes\";w={window}", integer(rate.most()))),
        ];
        let policy = items.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let policy = HeaderValue::try_from(policy).ok().filter(|policy| !policy.is_empty())?;
        Some(Self { requests, bytes, policy })
    }
}

/// A number within what a structured header field can hold.
pub(super) fn integer(number: u64) -> u64 {
    number.min(999_999_999_999_999)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;
    use std::time::Duration;

    fn limiter(per_second: u64) -> Limiter {
        let general = Rates { requests: NonZeroU64::new(per_second), bytes: None };
        Limiter::new(&Shares { general, own: HashMap::new(), burst: Duration::from_secs(1) }, 0)
    }

    #[test]
    fn however_many_ids_come_memory_is_bounded_and_nobody_goes_unlimited() {
        let limiter = limiter(1);
        for number in 0..100_000 {
            let account = limiter.account(&format!("t{number}").parse().unwrap()).unwrap();
            let _ = account.requests.take(account.quota.requests.unwrap(), 1_000_000, limiter.now());
        }
        assert_eq!(limiter.accounts(), SHARDS * MOST_IN_SHARD);
        let late = limiter.account(&"late".parse().unwrap()).unwrap();
        assert!(late.requests.take(late.quota.requests.unwrap(), 1, limiter.now()).is_err());
    }

    #[test]
    fn buckets_that_are_full_again_are_forgotten() {
        let limiter = limiter(1_000_000_000_000);
        for number in 0..200_000 {
            let account = limiter.account(&format!("t{number}").parse().unwrap()).unwrap();
            assert_eq!(account.requests.take(account.quota.requests.unwrap(), 1, limiter.now()), Ok(()));
        }
        assert!(limiter.accounts() <= SHARDS * SWEEP_AT * 2, "{}", limiter.accounts());
    }

    #[test]
    fn a_bucket_in_somebody_s_hands_is_the_one_that_the_next_finds() {
        let limiter = limiter(1_000_000_000_000);
        let tenant: TenantId = "acme".parse().unwrap();
        let held = limiter.account(&tenant).unwrap();
        for number in 0..10_000 {
            let _ = limiter.account(&format!("t{number}").parse().unwrap());
        }
        assert!(Arc::ptr_eq(&held, &limiter.account(&tenant).unwrap()));
    }
}
