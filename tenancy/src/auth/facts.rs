//! What identity counts and logs.

use metrics::{Counter, counter};

use super::Refusal;

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

/// The issuer's keys were fetched.
pub(super) fn fetched(keys: usize, changed: bool) {
    counter!("auth_key_fetches_total", "result" => "ok").increment(1);
    if changed {
        tracing::info!(keys, "the issuer's keys were read");
    }
}

/// They were not.
pub(super) fn not_fetched(error: &dyn std::error::Error, keys: usize) {
    counter!("auth_key_fetches_total", "result" => "failed").increment(1);
    let text = if keys == 0 {
        "the issuer's keys could not be read; requests with tokens get 503 until they are"
    } else {
        "the issuer's keys could not be read; the last ones stay in use"
    };
    tracing::error!(%error, keys, "{text}");
}
