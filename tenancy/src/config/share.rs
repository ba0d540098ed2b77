//! The settings of fair share: how much one tenant may send.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use thiserror::Error;

use super::{ConfigError, Span};
use crate::tenant::{TenantId, TenantIdError};

/// The highest limit that is taken, a second. What is more limits nothing that a process could do.
const MOST_PER_SECOND: u64 = 1_000_000_000_000;

/// Bounds of the burst.
const BURSTS: (Span, Span) = (Span::secs(1), Span::secs(3_600));

/// How much one tenant may send to one process. Off unless set.
#[derive(Debug, Clone, Args)]
pub struct Share {
    /// Requests a second that one tenant may send to this process; more get 429 with Retry-After. A batch of n events counts as n requests [default: no limit].
    #[arg(long, env, hide_env_values = true, value_parser = per_second)]
    pub limit_requests: Option<NonZeroU64>,

    /// Bytes of bodies a second that one tenant may send to this process; more get 429 with Retry-After [default: no limit].
    #[arg(long, env, hide_env_values = true, value_parser = per_second)]
    pub limit_bytes: Option<NonZeroU64>,

    /// How much of its limits a tenant that was quiet may use at once, as the time in which they allow it; whole seconds from 1s to 60m.
    #[arg(long, env, hide_env_values = true, default_value = "2s")]
    pub limit_burst: Span,

    /// Tenants with limits of their own, such as acme=500:1048576,globex=50,initech=-:-; requests, then bytes (as everybody's where left out); - is no limit [default: none].
    #[arg(long, env, hide_env_values = true)]
    pub limit_overrides: Option<Overrides>,
}

fn per_second(text: &str) -> Result<NonZeroU64, String> {
    let whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<NonZeroU64>().ok().filter(|number| whole && number.get() <= MOST_PER_SECOND);
    number.ok_or_else(|| format!("it is a whole number from 1 to {MOST_PER_SECOND}; leave it unset for no limit"))
}

/// What a tenant may send a second; `None` is as much as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Requests.
    pub requests: Option<NonZeroU64>,
    /// Bytes of bodies.
    pub bytes: Option<NonZeroU64>,
}

/// Fair share as configured, once it has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shares {
    /// Of every tenant that has none of its own.
    pub general: Rates,
    /// Of those that have.
    pub own: HashMap<TenantId, Rates>,
    /// How much may be used at once.
    pub burst: Duration,
}

impl Share {
    /// The limits; `None` where there are none at all.
    ///
    /// # Errors
    /// A burst that is no window of whole seconds.
    pub fn shares(&self) -> Result<Option<Shares>, ConfigError> {
        let burst = self.limit_burst;
        if burst < BURSTS.0 || burst > BURSTS.1 || burst.get().subsec_nanos() != 0 {
            let reason = format!("must be whole seconds from {} to {}, not {burst}", BURSTS.0, BURSTS.1);
            return Err(ConfigError::new("LIMIT_BURST", reason));
        }
        let general = Rates { requests: self.limit_requests, bytes: self.limit_bytes };
        let own: HashMap<_, _> = self.limit_overrides.iter().flat_map(|all| &all.0).cloned().collect();
        let own: HashMap<_, _> = own.into_iter().map(|(tenant, own)| (tenant, own.over(general))).collect();
        let limited = general != Rates::default() || own.values().any(|rates| *rates != Rates::default());
        Ok(limited.then(|| Shares { general, own, burst: burst.get() }))
    }
}

/// Limits of single tenants, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overrides(Vec<(TenantId, Override)>);

/// One tenant's limits; the inner `None` is no limit, the outer one as everybody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Override {
    requests: Option<NonZeroU64>,
    bytes: Option<Option<NonZeroU64>>,
}

impl Override {
    fn over(self, general: Rates) -> Rates {
        Rates { requests: self.requests, bytes: self.bytes.unwrap_or(general.bytes) }
    }
}

/// Why a text is not a list of tenants' limits.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OverridesError {
    /// Not of the form TENANT=REQUESTS or TENANT=REQUESTS:BYTES.
    #[error("{0:?} is not written TENANT=REQUESTS or TENANT=REQUESTS:BYTES")]
    Form(String),
    /// The name is no tenant's id.
    #[error("{0:?}: {1}")]
    Tenant(String, TenantIdError),
    /// A limit is no number.
    #[error("{0:?}: {1}")]
    Number(String, String),
    /// A tenant has two.
    #[error("{0} is named twice")]
    Twice(TenantId),
}

impl FromStr for Overrides {
    type Err = OverridesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all: Vec<(TenantId, Override)> = Vec::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, limits) = entry.split_once('=').ok_or_else(|| OverridesError::Form(entry.to_owned()))?;
            let tenant: TenantId = name.parse().map_err(|error| OverridesError::Tenant(name.to_owned(), error))?;
            let number = |text: &str| match text {
                "-" => Ok(None),
                text => per_second(text).map(Some).map_err(|error| OverridesError::Number(entry.to_owned(), error)),
            };
            let (requests, bytes) = match limits.split_once(':') {
                None => (number(limits)?, None),
                Some((requests, bytes)) => (number(requests)?, Some(number(bytes)?)),
            };
            if all.iter().any(|(other, _)| *other == tenant) {
                return Err(OverridesError::Twice(tenant));
            }
            all.push((tenant, Override { requests, bytes }));
        }
        Ok(Self(all))
    }
}
