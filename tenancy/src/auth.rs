//! Who may speak for a tenant: bearer tokens of one issuer.
//!
//! A request carries a JWT that the issuer has signed for our audience, and whose claim names the tenant. What is not asked of
//! the token is not believed: keys come from the issuer's own origin and never from a token's header, an algorithm belongs to
//! a key and is not the token's to choose, and claims are read only once the signature has been verified.
//!
//! | file | what it holds |
//! |---|---|
//! | `token` | a token's three parts: what its header may say, what its claims must |
//! | `keys` | the issuer's keys (a JWK set), and verifying with one |
//! | `fetch` | getting them from the issuer |
//! | `keeper` | having them: refreshed in the background and on an unknown key, at a bounded rate, kept through an outage |
//! | `seen` | tokens that were verified before, so that a request does not pay for it again |
//!
//! The cryptography is `ring`, which the TLS of this process stands on already.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, header};
use tokio::time::Instant;

use crate::config::Identity;
use crate::problem::Problem;
use crate::tenant::TenantId;

mod facts;
mod fetch;
mod keeper;
mod keys;
mod refusal;
mod seen;
mod token;

pub(crate) use facts::FETCHES;
pub use refusal::{RESULTS, Refusal};

use facts::Facts;
use fetch::Fetcher;
use keeper::{Freshness, Keeper};
use seen::{Digest, Seen};

/// The longest token that is looked at, in bytes. What large companies put into theirs stays below half of it.
pub const MOST_TOKEN_BYTES: usize = 8_192;

/// Verifies bearer tokens. Cheap to clone; clones share keys and memory.
#[derive(Clone)]
pub struct Verifier(Arc<Inner>);

struct Inner {
    identity: Identity,
    keeper: Keeper,
    seen: Seen,
    facts: Facts,
}

impl Verifier {
    /// A verifier that knows no keys until [`Verifier::keep_keys`] runs.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        let inner = Inner { identity, keeper: Keeper::new(), seen: Seen::new(), facts: Facts::new() };
        Self(Arc::new(inner))
    }

    /// Fetches the issuer's keys and keeps them fresh. To be run beside the server; does not end.
    pub async fn keep_keys(self) {
        let fetcher = Fetcher::new(&self.0.identity);
        self.0.keeper.keep(&fetcher).await;
    }

    /// Until the issuer's keys are known.
    pub async fn ready(self) {
        self.0.keeper.known().await;
    }

    /// The tenant that a request's token speaks for: the one that the request names, where it names one. A token that the known
    /// keys do not verify may wait up to `time` for newer ones.
    ///
    /// # Errors
    /// 401 without a valid token, 403 for one that names no tenant or another one, 400 for two, 503 while the issuer's keys
    /// cannot be had and the token may be of one of them.
    pub async fn tenant(
        &self,
        headers: &HeaderMap,
        named: Option<TenantId>,
        time: Duration,
    ) -> Result<TenantId, Problem> {
        let verified = match bearer(headers)? {
            None => Err(Refusal::Missing),
            Some(token) => self.verify(token, time).await,
        };
        let outcome = match (verified, named) {
            (Ok(tenant), Some(named)) if named != tenant => Err(Refusal::OtherTenant),
            (verified, _) => verified,
        };
        self.0.facts.token(outcome.as_ref().err());
        outcome.map_err(Problem::from)
    }

    async fn verify(&self, token: &str, time: Duration) -> Result<TenantId, Refusal> {
        if token.len() > MOST_TOKEN_BYTES {
            return Err(Refusal::TooLong);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        let digest = Digest::of(token);
        if let Some(tenant) = self.0.seen.find(&digest, self.0.keeper.generation(), now) {
            return Ok(tenant);
        }
        let parts = token::Parts::split(token)?;
        let (asked, begun) = (Instant::now(), self.0.keeper.begun());
        let mut generation = self.0.keeper.generation();
        let mut verified = self.judge(&parts, digest, now);
        loop {
            let Some(refusal) = verified.as_ref().err().copied().filter(|refusal| refusal.is_about_keys()) else {
                return verified;
            };
            let fresh = self.0.keeper.refreshed(begun, time.saturating_sub(asked.elapsed())).await;
            let changed = self.0.keeper.generation();
            let has_changed = changed != generation;
            if has_changed {
                generation = changed;
                verified = self.judge(&parts, digest, now);
            }
            match (refusal, fresh) {
                // A key may have been published since that fetch: once more, with one that begins later.
                (_, Freshness::Earlier) => {}
                _ if has_changed => return verified,
                // Of a key that nobody has seen nobody can say that it is not published. What the known keys say of a token of
                // theirs stands, though: a forger shall not have 503 for it.
                (Refusal::UnknownKey, Freshness::Unknown) => return Err(Refusal::Undecided),
                _ => return verified,
            }
        }
    }

    /// What the keys known now make of a token.
    fn judge(&self, parts: &token::Parts<'_>, digest: Digest, now: f64) -> Result<TenantId, Refusal> {
        let (key, generation) = self.0.keeper.find(parts.header.kid.as_deref(), parts.header.algorithm)?;
        if !key.verify(parts.signed, &parts.signature) {
            return Err(Refusal::Signature);
        }
        let claims = token::Claims::read(&parts.payload, &self.0.identity.tenant_claim)?;
        let (tenant, until) = claims.check(&self.0.identity, now)?;
        self.0.seen.keep(digest, tenant.clone(), until, generation);
        Ok(tenant)
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("identity", &self.0.identity).finish_non_exhaustive()
    }
}

/// The bearer token of a request; none when it authenticates in no way or in another one.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let value = match (all.next(), all.next()) {
        (None, _) => return Ok(None),
        (Some(_), Some(_)) => return Err(Problem::Parameter("send exactly one Authorization header".to_owned())),
        (Some(value), None) => value,
    };
    // What is no text is no token either; as an empty one it is refused for what it is.
    let text = value.to_str().unwrap_or("Bearer ");
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    Ok(scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_matches(' ')))
}
