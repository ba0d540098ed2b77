//! What identity counts and logs.

use metrics::{Counter, counter};

use super::Refusal;
use super::keys::KeySet;

#[derive(Clone)]
pub(super) struct Facts {
    /// Its handle is kept: the good case is every request.
    ok: Counter,
}

impl Facts {
    pub(super) fn new() -> Self {
        Self { ok: counter!("auth_tokens_total", "result" => "ok") }
    }

    /// A request's token was looked at.
    pub(super) fn token(&self, refusal: Option<&Refusal>) {
        match refusal {
            None => self.ok.increment(1),
            Some(refusal) => counter!("auth_tokens_total", "result" => refusal.as_str()).increment(1),
        }
    }
}

/// What may come of reading the issuer's keys, in words for metrics. `empty` is an answer too: there are none.
pub(crate) const FETCHES: &[&str] = &["ok", "empty", "failed"];

/// The issuer's keys were fetched.
pub(super) fn fetched(set: &KeySet, changed: bool) {
    let (keys, passed_over) = (set.len(), set.passed_over());
    counter!("auth_key_fetches_total", "result" => if keys == 0 { "empty" } else { "ok" }).increment(1);
    if keys == 0 {
        tracing::error!(
            passed_over,
            "the issuer publishes no key for RS256, ES256 or EdDSA; every token gets 401 until it does"
        );
    } else if changed {
        tracing::info!(keys, passed_over, "the issuer's keys were read");
    }
}

/// They were not.
pub(super) fn not_fetched(error: &dyn std::error::Error, known: Option<&KeySet>) {
    counter!("auth_key_fetches_total", "result" => "failed").increment(1);
    let text = match known {
        None => "the issuer's keys could not be read; requests with tokens get 503 until they are",
        Some(_) => "the issuer's keys could not be read; the last ones stay in use",
    };
    tracing::error!(%error, keys = known.map_or(0, KeySet::len), "{text}");
}
