//! Settings: what every service takes from its environment, how values are written, and how a wrong one is reported.
//!
//! Each service has one settings struct that flattens [`Common`]. A field's doc comment is its user documentation: `--help`
//! prints it. Everything is checked before any I/O; a wrong value is one line that names the variable, and exit status 2.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, ValueEnum};
use thiserror::Error;

use crate::tenant::Environment;

mod auth;
mod share;
mod traces;

pub use auth::{Auth, Identity, IssuerUrl, IssuerUrlError};
pub use share::{Overrides, OverridesError, Rates, Share, Shares};
pub use traces::{CollectorUrl, CollectorUrlError, Ratio, RatioError, SamplerName, Traces};

/// Settings that all services share.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Where this deployment lives: a tenant's id (silo) or a pool such as pool-1.
    #[arg(long, env, hide_env_values = true)]
    pub environment: Environment,

    /// Address to listen on.
    #[arg(long, env, hide_env_values = true, default_value = "0.0.0.0")]
    pub host: IpAddr,

    /// Port for tenants; 0 takes a free one.
    #[arg(long, env, hide_env_values = true, default_value_t = 8080)]
    pub port: u16,

    /// Port for /livez, /readyz and /metrics; 0 takes a free one.
    #[arg(long, env, hide_env_values = true, default_value_t = 9090)]
    pub admin_port: u16,

    /// Whether one tenant is served or the tenants of a pool [default: pool if ENVIRONMENT is a pool, else silo].
    #[arg(long, env, hide_env_values = true)]
    pub tenant_model: Option<TenantModel>,

    /// In a pool: whether a tenant must be registered (/TENANT/consumer_sqs exists), or the older rule by tier header holds.
    #[arg(long, env, hide_env_values = true, default_value = "required")]
    pub tenant_registration: TenantRegistration,

    /// How long a parameter of SSM is taken as read before it is read again, in the background.
    #[arg(long, env, hide_env_values = true, default_value = "5m")]
    pub directory_ttl: Span,

    /// Within this time a request is answered, and within this time its body has to arrive.
    #[arg(long, env, hide_env_values = true, default_value = "10s")]
    pub request_timeout: Span,

    /// After a stop signal: how long to go on serving, not ready, so that load balancers notice.
    #[arg(long, env, hide_env_values = true, default_value = "5s")]
    pub drain_delay: Span,

    /// After a stop signal: when the process has ended at the latest, drain delay included.
    #[arg(long, env, hide_env_values = true, default_value = "30s")]
    pub shutdown_timeout: Span,

    /// The largest body of a request, in bytes.
    #[arg(long, env, hide_env_values = true, default_value_t = 10_485_760)]
    pub max_body_bytes: usize,

    /// Requests being answered at one time; more get 503 with Retry-After. In a pool, those for one queue may be three quarters.
    #[arg(long, env, hide_env_values = true, default_value_t = 4096)]
    pub max_requests: usize,

    /// Open connections on the tenants' port; more get 503 with Retry-After and are closed.
    #[arg(long, env, hide_env_values = true, default_value_t = 4096)]
    pub max_connections: usize,

    /// Memory for request bodies that are being read or sent, and for pages of records until clients have taken them, in bytes; more get 503 with Retry-After. In a pool, bodies for one queue may take three quarters, one tenant's pages half.
    #[arg(long, env, hide_env_values = true, default_value_t = 16_777_216)]
    pub max_buffered_bytes: usize,

    /// Whether requests need a token.
    #[command(flatten)]
    pub auth: Auth,

    /// How much one tenant may send.
    #[command(flatten)]
    pub share: Share,

    /// Where spans go.
    #[command(flatten)]
    pub traces: Traces,

    /// Tenants that have a series of their own in metrics by tenant, the first ones that are served; the others are counted together as _other. At most 1000.
    #[arg(long, env, hide_env_values = true, default_value_t = 100)]
    pub metrics_tenants: usize,

    /// How log lines are written.
    #[arg(long, env, hide_env_values = true, default_value = "json")]
    pub log_format: LogFormat,

    /// Which log lines are written, in the directives of tracing's EnvFilter, such as info,tenancy=debug.
    #[arg(long, env, hide_env_values = true, default_value = "info")]
    pub rust_log: String,

    /// The version to report; images set it to their tag [default: the build's version].
    #[arg(long, env, hide_env_values = true)]
    pub service_version: Option<String>,
}

/// Who is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TenantModel {
    /// One tenant, the one that ENVIRONMENT names.
    Silo,
    /// The tenants of a pool.
    Pool,
}

/// How a pool decides which queue is a tenant's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TenantRegistration {
    /// By `/TENANT/consumer_sqs`, which exists for every tenant.
    Required,
    /// By the tier header: basic or none takes the pool's queue.
    Open,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// A duration as settings write it: `250ms`, `5s`, `2m`, or a bare number of seconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(Duration);

/// A text that is no duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a duration is a whole number with ms, s or m, such as 250ms, 5s or 2m; a bare number is seconds")]
pub struct SpanError;

impl Span {
    /// A duration of whole seconds.
    #[must_use]
    pub const fn secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// A duration of milliseconds.
    #[must_use]
    pub const fn millis(milliseconds: u64) -> Self {
        Self(Duration::from_millis(milliseconds))
    }

    /// As the standard library has it.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl std::str::FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let millis_each: u64 = match &text[digits.len()..] {
            "ms" => 1,
            "s" | "" => 1_000,
            "m" => 60_000,
            _ => return Err(SpanError),
        };
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(SpanError);
        }
        let number: u64 = digits.parse().map_err(|_| SpanError)?;
        // A day is more than any of these settings can mean; it also keeps sums of durations far from overflow.
        let millis = number.checked_mul(millis_each).filter(|ms| *ms <= 86_400_000);
        Ok(Self::millis(millis.ok_or(SpanError)?))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_millis() {
            ms if ms % 60_000 == 0 && ms > 0 => write!(f, "{}m", ms / 60_000),
            ms if ms % 1_000 == 0 => write!(f, "{}s", ms / 1_000),
            ms => write!(f, "{ms}ms"),
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A settings struct of a service.
pub trait Settings: Parser {
    /// The settings that all services share.
    fn common(&self) -> &Common;

    /// Refuses values that contradict each other. [`Common`]'s own are checked already.
    ///
    /// # Errors
    /// The first contradiction, naming a variable.
    fn check(&self) -> Result<(), ConfigError>;
}

/// A setting that is missing, malformed or contradicts another one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{variable}: {reason}")]
pub struct ConfigError {
    /// The environment variable to change.
    pub variable: String,
    /// What is wrong with it, and what would be right.
    pub reason: String,
}

impl ConfigError {
    /// An error about `variable`.
    pub fn new(variable: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { variable: variable.into(), reason: reason.into() }
    }
}

impl Common {
    /// Whether this deployment serves a pool.
    #[must_use]
    pub fn model(&self) -> TenantModel {
        match &self.environment {
            Environment::Pool(_) => TenantModel::Pool,
            Environment::Tenant(_) => TenantModel::Silo,
        }
    }

    /// The version to report: `SERVICE_VERSION`, else that of the build.
    #[must_use]
    pub fn version(&self, build: &str) -> String {
        self.service_version.clone().filter(|version| !version.is_empty()).unwrap_or_else(|| build.to_owned())
    }

    /// Refuses values that contradict each other.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(model) = self.tenant_model
            && model != self.model()
        {
            let needs = match model {
                TenantModel::Pool => "pool needs an ENVIRONMENT such as pool-1",
                TenantModel::Silo => "silo needs an ENVIRONMENT that is a tenant's id",
            };
            return Err(ConfigError::new("TENANT_MODEL", format!("{needs}, not {}", self.environment)));
        }
        if self.port != 0 && self.port == self.admin_port {
            return Err(ConfigError::new("ADMIN_PORT", format!("must differ from PORT, both are {}", self.port)));
        }
        if self.request_timeout.get().is_zero() {
            return Err(ConfigError::new("REQUEST_TIMEOUT", "must be longer than 0"));
        }
        if self.drain_delay >= self.shutdown_timeout {
            let reason =
                format!("must be longer than DRAIN_DELAY ({}), not {}", self.drain_delay, self.shutdown_timeout);
            return Err(ConfigError::new("SHUTDOWN_TIMEOUT", reason));
        }
        for (variable, value) in [
            ("MAX_BODY_BYTES", self.max_body_bytes),
            ("MAX_REQUESTS", self.max_requests),
            ("MAX_CONNECTIONS", self.max_connections),
        ] {
            if value == 0 {
                return Err(ConfigError::new(variable, "must be at least 1"));
            }
        }
        if self.max_buffered_bytes < self.max_body_bytes {
            let reason = format!("must be at least MAX_BODY_BYTES ({})", self.max_body_bytes);
            return Err(ConfigError::new("MAX_BUFFERED_BYTES", reason));
        }
        if self.metrics_tenants > 1_000 {
            let reason = format!("must be at most 1000, not {}", self.metrics_tenants);
            return Err(ConfigError::new("METRICS_TENANTS", reason));
        }
        self.auth.identity()?;
        self.share.shares()?;
        self.traces.check()?;
        crate::telemetry::check_filter(&self.rust_log).map_err(|reason| ConfigError::new("RUST_LOG", reason))
    }
}

/// What a command line and an environment ask for.
#[derive(Debug)]
pub enum Parsed<S> {
    /// To run with these settings.
    Run(S),
    /// To print this text (help) and end.
    Print(String),
}

/// Reads `S` from `args` and the process's environment, and checks it as a whole.
///
/// # Errors
/// The first setting that is wrong, with the variable's name.
pub fn parse<S: Settings>(args: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Parsed<S>, ConfigError> {
    let settings = match S::try_parse_from(args) {
        Ok(settings) => settings,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            return Ok(Parsed::Print(error.to_string()));
        }
        Err(error) => return Err(one_line(&error)),
    };
    settings.common().check()?;
    settings.check()?;
    Ok(Parsed::Run(settings))
}

/// clap explains over several lines and by flag; an operator sets variables and greps for one line.
fn one_line(error: &clap::Error) -> ConfigError {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let variable = |argument: &str| {
        let name = argument.trim_start_matches('-');
        let end = name.find([' ', '=', ',']).unwrap_or(name.len());
        name[..end].replace('-', "_").to_ascii_uppercase()
    };
    match error.kind() {
        ErrorKind::MissingRequiredArgument => ConfigError::new(variable(&argument), "must be set"),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::NoEquals => {
            let value = context(ContextKind::InvalidValue).unwrap_or_default();
            let reason = match (std::error::Error::source(error), context(ContextKind::ValidValue)) {
                (Some(source), _) => source.to_string(),
                (None, Some(valid)) => format!("it is one of {valid}"),
                (None, None) => "it is not valid".to_owned(),
            };
            ConfigError::new(variable(&argument), format!("invalid value {value:?}: {reason}"))
        }
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            ConfigError::new("command line", line.trim_start_matches("error: ").to_owned())
        }
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
