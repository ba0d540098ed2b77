//! Tokens that were verified before.
//!
//! A client sends the same token with every request for minutes, and verifying one costs as much as all the rest of a request.
//! So what was verified is kept by its digest, until it expires, the keys change, or others push it out: each shard has a young
//! and an old half; a full young half becomes the old one, and what is used again comes back.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ring::digest::{SHA256, digest};

use crate::tenant::TenantId;

/// Parts with a lock of their own.
const SHARDS: usize = 16;

/// Tokens in half of a shard: 16,384 in all, with which the memory for them stays below 3 MiB.
const MOST_IN_HALF: usize = 512;

/// What a token is known by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    pub(super) fn of(token: &str) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        Self(bytes)
    }
}

struct Verified {
    tenant: TenantId,
    /// Seconds since 1970.
    until: f64,
    generation: u64,
}

#[derive(Default)]
struct Shard {
    young: HashMap<Digest, Verified>,
    old: HashMap<Digest, Verified>,
}

pub(super) struct Seen([Mutex<Shard>; SHARDS]);

impl Seen {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }

    /// The tenant of a token that keys of this generation have verified, and that is valid now.
    pub(super) fn find(&self, token: &Digest, generation: u64, now: f64) -> Option<TenantId> {
        let mut shard = self.shard(token)?.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(verified) = shard.young.get(token) {
            return verified.tenant_now(generation, now);
        }
        let verified = shard.old.remove(token)?;
        let tenant = verified.tenant_now(generation, now)?;
        shard.add(*token, verified);
        Some(tenant)
    }

    pub(super) fn keep(&self, token: Digest, tenant: TenantId, until: f64, generation: u64) {
        if let Some(shard) = self.shard(&token) {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.add(token, Verified { tenant, until, generation });
        }
    }

    fn shard(&self, token: &Digest) -> Option<&Mutex<Shard>> {
        self.0.get(usize::from(token.0[0]) % SHARDS)
    }
}

impl Verified {
    fn tenant_now(&self, generation: u64, now: f64) -> Option<TenantId> {
        (self.generation == generation && now < self.until).then(|| self.tenant.clone())
    }
}

impl Shard {
    fn add(&mut self, token: Digest, verified: Verified) {
        if self.young.len() >= MOST_IN_HALF {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(token, verified);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_until_it_expires_or_the_keys_change() {
        let (seen, token) = (Seen::new(), Digest::of("a.b.c"));
        seen.keep(token, "acme".parse().unwrap(), 100.0, 1);
        assert_eq!(seen.find(&token, 1, 99.9).unwrap().as_str(), "acme");
        assert_eq!(seen.find(&token, 1, 100.0), None);
        assert_eq!(seen.find(&token, 2, 50.0), None);
        assert_eq!(seen.find(&Digest::of("a.b.d"), 1, 50.0), None);
    }

    #[test]
    fn however_many_tokens_come_memory_is_bounded_and_the_one_in_use_stays() {
        let (seen, used) = (Seen::new(), Digest::of("used"));
        seen.keep(used, "acme".parse().unwrap(), 100.0, 1);
        for number in 0..50_000 {
            seen.keep(Digest::of(&number.to_string()), "globex".parse().unwrap(), 100.0, 1);
            assert!(seen.find(&used, 1, 0.0).is_some(), "after {number}");
        }
        let kept: usize = seen.0.iter().map(|shard| shard.lock().unwrap()).map(|s| s.young.len() + s.old.len()).sum();
        assert!(kept <= 2 * SHARDS * MOST_IN_HALF, "{kept}");
    }
}
