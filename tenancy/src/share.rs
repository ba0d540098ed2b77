//! Fair share: how much of a process one tenant may have.
//!
//! Two token buckets a tenant, requests and bytes of bodies, taken from once the tenant is known to be served here: an id that
//! is not registered has no bucket. They are the process's own: with n pods a tenant may have n times as much. Who is over a
//! limit gets 429 with Retry-After, and every answer to a limited tenant says what is left, in the fields RateLimit and
//! RateLimit-Policy of the IETF's draft. A `tier` header changes nothing.
//!
//! The buckets are ours and not a crate's (`governor` was looked at): a request may take more than a bucket holds and owe the
//! rest, tenants have rates of their own, and buckets that are full again are forgotten.

use std::fmt::{self, Write as _};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Extensions, HeaderMap, HeaderName, HeaderValue};

use crate::config::Shares;
use crate::problem::Problem;
use crate::tenant::TenantId;

mod bucket;
mod limiter;

use bucket::{Bucket, Moment, Rate};
use limiter::{Account, Limiter, integer};

const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The limits of a process. Cheap to clone; clones share their buckets.
#[derive(Clone)]
pub struct FairShare(Arc<Limiter>);

impl FairShare {
    /// Limits as configured. Whom they turn away is counted by tenant, for so many tenants (`METRICS_TENANTS`).
    #[must_use]
    pub fn new(shares: &Shares, metrics_tenants: usize) -> Self {
        Self(Arc::new(Limiter::new(shares, metrics_tenants)))
    }

    /// A meter for one request, with a body or without.
    #[must_use]
    pub fn meter(&self, has_body: bool) -> Meter {
        Meter(Some(Arc::new(Metered { limits: self.clone(), account: OnceLock::new(), has_body })))
    }
}

impl fmt::Debug for FairShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FairShare")
    }
}

/// What counts one request against its tenant's limits. Where there are none, it does nothing.
#[derive(Debug, Clone, Default)]
pub struct Meter(Option<Arc<Metered>>);

#[derive(Debug)]
struct Metered {
    limits: FairShare,
    account: OnceLock<(TenantId, Arc<Account>)>,
    has_body: bool,
}

impl Meter {
    /// The meter of a request, left among its extensions by the server.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// The request is for this tenant, which is served here: it counts as one. Said twice, it counts once.
    ///
    /// # Errors
    /// 429 with the time until the tenant may send again.
    pub fn tenant(&self, tenant: &TenantId) -> Result<(), Problem> {
        let Some(metered) = &self.0 else { return Ok(()) };
        if metered.account.get().is_some() {
            return Ok(());
        }
        let Some(account) = metered.limits.0.account(tenant) else { return Ok(()) };
        let _ = metered.account.set((tenant.clone(), account));
        let Some((limiter, tenant, account)) = self.account() else { return Ok(()) };
        let now = limiter.now();
        let Some(rate) = account.quota.requests else { return Ok(()) };
        account.requests.take(rate, 1, now).map_err(|wait| {
            limiter.refused.requests(tenant);
            // Who comes back when told is not to be sent away for its bytes then.
            let bytes = account.quota.bytes.filter(|_| metered.has_body);
            Problem::Limited(wait.max(wait_for(&account.bytes, bytes, now).unwrap_or_default()))
        })
    }

    /// The request is as much as `count` more: further events of a batch. It was let in, so they may be more than are left.
    pub fn further(&self, count: usize) {
        let Some((limiter, _, account)) = self.account() else { return };
        owe(&account.requests, account.quota.requests, count, limiter.now());
    }

    /// The request brings so many bytes. They may be more than are left, if anything is.
    ///
    /// # Errors
    /// 429 with the time until the tenant may send again; the request does not count then.
    pub fn bytes(&self, count: usize) -> Result<(), Problem> {
        let Some((limiter, _, account)) = self.account() else { return Ok(()) };
        let Some(rate) = account.quota.bytes.filter(|_| count > 0) else { return Ok(()) };
        account.bytes.take(rate, count as u64, limiter.now()).map_err(|wait| self.refuse_bytes(wait))
    }

    /// The request will bring nobody knows how many bytes; those that come are said by [`Meter::came`].
    ///
    /// # Errors
    /// As of [`Meter::bytes`].
    pub fn bytes_to_come(&self) -> Result<(), Problem> {
        let Some((limiter, _, account)) = self.account() else { return Ok(()) };
        let wait = wait_for(&account.bytes, account.quota.bytes, limiter.now());
        wait.map_or(Ok(()), |wait| Err(self.refuse_bytes(wait)))
    }

    /// So many bytes came of a request that was let in.
    pub fn came(&self, count: usize) {
        let Some((limiter, _, account)) = self.account() else { return };
        owe(&account.bytes, account.quota.bytes, count, limiter.now());
    }

    fn refuse_bytes(&self, wait: Duration) -> Problem {
        let Some((limiter, tenant, account)) = self.account() else { return Problem::Limited(wait) };
        limiter.refused.bytes(tenant);
        // It was let in as a request and is not one: who comes back when told must find its token.
        if let Some(rate) = account.quota.requests {
            account.requests.give_back(rate, 1);
        }
        let requests = wait_for(&account.requests, account.quota.requests, limiter.now());
        Problem::Limited(wait.max(requests.unwrap_or_default()))
    }

    /// Says in an answer what the limits are and what is left.
    pub fn tell(&self, headers: &mut HeaderMap) {
        let Some((limiter, _, account)) = self.account() else { return };
        let now = limiter.now();
        let mut text = String::with_capacity(64);
        let (quota, requests, bytes) = (&account.quota, &account.requests, &account.bytes);
        for (name, bucket, rate) in [("requests", requests, quota.requests), ("bytes", bytes, quota.bytes)] {
            let Some(rate) = rate else { continue };
            let (left, full) = bucket.state(rate, now);
            let between = if text.is_empty() { "" } else { ", " };
            let seconds = full.as_secs() + u64::from(full.subsec_nanos() > 0);
            let _ = write!(text, "{between}\"{name}\";r={};t={}", integer(left), integer(seconds));
        }
        if let Ok(left) = HeaderValue::try_from(text) {
            headers.insert(RATELIMIT, left);
            headers.insert(RATELIMIT_POLICY, account.quota.policy.clone());
        }
    }

    fn account(&self) -> Option<(&Limiter, &TenantId, &Account)> {
        let metered = self.0.as_deref()?;
        let (tenant, account) = metered.account.get()?;
        Some((&metered.limits.0, tenant, account))
    }
}

fn wait_for(bucket: &Bucket, rate: Option<Rate>, now: Moment) -> Option<Duration> {
    bucket.wait(rate?, now)
}

fn owe(bucket: &Bucket, rate: Option<Rate>, count: usize, now: Moment) {
    if let Some(rate) = rate.filter(|_| count > 0) {
        bucket.owe(rate, count as u64, now);
    }
}
