//! Who the process is to AWS, and how that stays valid.
//!
//! The source is chosen once, from the environment, and never changed: a web identity token that cannot be read is an error
//! that names the file, not a reason to try the node's role. Credentials are renewed in the background well before they
//! expire, in a task of its own that no caller's timeout cuts short; one renewal at a time, whoever asks.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::ecs::EcsCredentialsProvider;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::web_identity_token::WebIdentityTokenCredentialsProvider;
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, SharedCredentialsProvider, future};
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::region::Region;
use tokio::sync::watch;

/// How long one try to get credentials may take. STS is now and then slow for seconds, right when many pods start.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(20);

/// Credentials are renewed when this much of their life is left, or a fifth of it if that is less.
const RENEW_BEFORE: Duration = Duration::from_secs(300);

/// Credentials are not used any more when this much is left: the call has to arrive while they are valid.
const LAST_USE: Duration = Duration::from_secs(2);

/// Credentials that AWS does not take are renewed at once, but not if they are newer than this: it would not take the next
/// ones either.
const REJECTED_AGAIN: Duration = Duration::from_secs(10);

/// Pauses after failed renewals: they double from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// Where credentials come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialSource {
    /// `AWS_ACCESS_KEY_ID` and its companions.
    Variables,
    /// IRSA: the token in that file is exchanged at STS for a session of that role.
    WebIdentity {
        /// `AWS_WEB_IDENTITY_TOKEN_FILE`
        token_file: String,
        /// `AWS_ROLE_ARN`
        role: String,
    },
    /// EKS Pod Identity or ECS: an agent at that address.
    Container(String),
    /// The SDK's own order: profiles, then the instance's metadata service.
    Default,
}

impl CredentialSource {
    /// The source that the environment, read by `variable`, names.
    pub fn find(variable: impl Fn(&str) -> Option<String>) -> Self {
        if variable("AWS_ACCESS_KEY_ID").is_some() {
            return Self::Variables;
        }
        if let Some(token_file) = variable("AWS_WEB_IDENTITY_TOKEN_FILE") {
            return Self::WebIdentity { token_file, role: variable("AWS_ROLE_ARN").unwrap_or_default() };
        }
        ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"]
            .iter()
            .find_map(|name| variable(name))
            .map_or(Self::Default, Self::Container)
    }
}

impl fmt::Display for CredentialSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variables => f.write_str("environment variables"),
            Self::WebIdentity { token_file, role } => write!(f, "web identity token {token_file} for role {role}"),
            Self::Container(address) => write!(f, "container credentials at {address}"),
            Self::Default => f.write_str("the SDK's default order (no identity is set in the environment)"),
        }
    }
}

/// A provider that keeps the credentials of another one fresh. Cheap to clone; clones share them.
#[derive(Clone)]
pub struct Refreshing(Arc<Inner>);

struct Inner {
    name: String,
    source: Source,
    state: Mutex<State>,
}

/// Built on first use, so that a source which does I/O to exist (the default order) does none before it is needed.
enum Source {
    Ready(SharedCredentialsProvider),
    Default(tokio::sync::OnceCell<SharedCredentialsProvider>, Box<ProviderConfig>),
}

#[derive(Default)]
struct State {
    current: Option<Held>,
    /// The renewal under way, for those who have to wait for it.
    renewal: Option<watch::Receiver<Option<Outcome>>>,
    failures: u32,
    /// After a failure: when the next renewal may start, and what the last one said.
    pause: Option<(Instant, Arc<CredentialsError>)>,
}

type Outcome = Result<Credentials, Arc<CredentialsError>>;

struct Held {
    credentials: Credentials,
    since: Instant,
    renew_at: Option<SystemTime>,
    unusable_at: Option<SystemTime>,
}

impl Held {
    fn new(credentials: Credentials, now: SystemTime) -> Self {
        let expiry = credentials.expiry();
        let life = expiry.and_then(|at| at.duration_since(now).ok());
        let renew_before = life.map(|life| RENEW_BEFORE.min(life / 5)).unwrap_or_default();
        Self {
            renew_at: expiry.and_then(|at| at.checked_sub(renew_before)),
            // However short the life, there is a time to renew in which the old ones are still good.
            unusable_at: expiry.and_then(|at| at.checked_sub(LAST_USE.min(renew_before / 2))),
            since: Instant::now(),
            credentials,
        }
    }
}

impl Refreshing {
    /// Keeps the credentials of `provider` fresh; `name` is what log lines call it.
    pub fn new(name: impl Into<String>, provider: SharedCredentialsProvider) -> Self {
        Self::with_source(name.into(), Source::Ready(provider))
    }

    /// From a source named by the environment.
    pub(super) fn from_source(source: &CredentialSource, region: &Region, http: SharedHttpClient) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(super::CONNECT_TIMEOUT)
            .operation_attempt_timeout(RENEWAL_TIMEOUT)
            .build();
        let config = ProviderConfig::empty()
            .with_sleep_impl(TokioSleep::new())
            .with_region(Some(region.clone()))
            .with_timeout_config(timeouts)
            .with_http_client(http);
        let provider = match source {
            CredentialSource::Variables => {
                SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new())
            }
            CredentialSource::WebIdentity { .. } => SharedCredentialsProvider::new(
                WebIdentityTokenCredentialsProvider::builder().configure(&config).build(),
            ),
            CredentialSource::Container(_) => {
                SharedCredentialsProvider::new(EcsCredentialsProvider::builder().configure(&config).build())
            }
            CredentialSource::Default => {
                return Self::with_source(source.to_string(), Source::Default(Default::default(), Box::new(config)));
            }
        };
        Self::new(source.to_string(), provider)
    }

    fn with_source(name: String, source: Source) -> Self {
        Self(Arc::new(Inner { name, source, state: Mutex::default() }))
    }

    /// AWS did not take the credentials in use, although it is not past their time. They are renewed in the background; until
    /// then they stay in use, since AWS may have been wrong.
    pub(super) fn rejected(&self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        // What an older session is answered may come when the next one is in use: that one is too new to be meant.
        let due = state.current.as_ref().is_some_and(|held| held.since.elapsed() >= REJECTED_AGAIN);
        let paused = state.pause.as_ref().is_some_and(|(until, _)| *until > Instant::now());
        if due && state.renewal.is_none() && !paused {
            tracing::warn!(source = %self.0.name, "AWS does not take the credentials in use; they are renewed");
            self.start_renewal(&mut state);
        }
    }

    async fn credentials(&self) -> provider::Result {
        let mut renewal = match self.look() {
            Look::Valid(credentials) => return Ok(credentials),
            Look::Failed(error) => return Err(CredentialsError::provider_error(error)),
            Look::Wait(renewal) => renewal,
        };
        let outcome = renewal.wait_for(Option::is_some).await.ok().and_then(|outcome| (*outcome).clone());
        match outcome {
            Some(Ok(credentials)) => Ok(credentials),
            Some(Err(error)) => Err(CredentialsError::provider_error(error)),
            None => Err(CredentialsError::unhandled("the renewal of credentials ended without an outcome")),
        }
    }

    /// What is known now; starts a renewal when one is due.
    fn look(&self) -> Look {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        let due = |at: Option<SystemTime>| at.is_some_and(|at| at <= now);
        let usable = state.current.as_ref().filter(|held| !due(held.unusable_at));
        let usable = usable.map(|held| (held.credentials.clone(), due(held.renew_at)));
        if let Some((credentials, false)) = usable {
            return Look::Valid(credentials);
        }
        let paused = state.pause.as_ref().filter(|(until, _)| *until > Instant::now()).map(|(_, error)| error.clone());
        let renewal = match (state.renewal.clone(), &paused) {
            (Some(renewal), _) => Some(renewal),
            (None, Some(_)) => None,
            (None, None) => Some(self.start_renewal(&mut state)),
        };
        match (usable, renewal, paused) {
            (Some((credentials, _)), _, _) => Look::Valid(credentials),
            (None, Some(renewal), _) => Look::Wait(renewal),
            (None, None, Some(error)) => Look::Failed(error),
            (None, None, None) => Look::Failed(Arc::new(CredentialsError::unhandled("no credentials"))),
        }
    }

    /// A task of its own: whoever asked may give up, the renewal goes on and serves the next one.
    fn start_renewal(&self, state: &mut State) -> watch::Receiver<Option<Outcome>> {
        let (done, renewal) = watch::channel(None);
        state.renewal = Some(renewal.clone());
        let this = self.clone();
        tokio::spawn(async move {
            let outcome = match tokio::time::timeout(RENEWAL_TIMEOUT, this.0.load()).await {
                Ok(outcome) => outcome.and_then(not_over_yet).map_err(Arc::new),
                Err(_) => Err(Arc::new(CredentialsError::provider_timed_out(RENEWAL_TIMEOUT))),
            };
            this.finish(&outcome);
            let _ = done.send(Some(outcome));
        });
        renewal
    }

    fn finish(&self, outcome: &Outcome) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.renewal = None;
        let result = if outcome.is_ok() { "ok" } else { "failed" };
        metrics::counter!("aws_credential_renewals_total", "result" => result).increment(1);
        match outcome {
            Ok(credentials) => {
                state.current = Some(Held::new(credentials.clone(), SystemTime::now()));
                state.failures = 0;
                state.pause = None;
            }
            Err(error) => {
                let pause = PAUSES.0.saturating_mul(1 << state.failures.min(10)).min(PAUSES.1);
                let pause = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
                state.failures = state.failures.saturating_add(1);
                state.pause = Some((Instant::now() + pause, error.clone()));
                tracing::error!(
                    source = %self.0.name,
                    error = super::causes(error.as_ref()),
                    "credentials could not be had; calls to AWS fail when the last ones expire"
                );
            }
        }
    }
}

impl Inner {
    async fn load(&self) -> provider::Result {
        match &self.source {
            Source::Ready(provider) => provider.provide_credentials().await,
            Source::Default(cell, config) => {
                let chain = || async {
                    let chain = DefaultCredentialsChain::builder().configure((**config).clone());
                    SharedCredentialsProvider::new(chain.build().await)
                };
                cell.get_or_init(chain).await.provide_credentials().await
            }
        }
    }
}

/// Credentials that are past their time when they come would be asked for again by every call.
fn not_over_yet(credentials: Credentials) -> provider::Result {
    match credentials.expiry() {
        Some(end) if end <= SystemTime::now() => {
            let end: aws_smithy_types::DateTime = end.into();
            Err(CredentialsError::provider_error(format!(
                "the credentials that came had ended before ({end}): is this machine's clock right?"
            )))
        }
        _ => Ok(credentials),
    }
}

enum Look {
    Valid(Credentials),
    Wait(watch::Receiver<Option<Outcome>>),
    Failed(Arc<CredentialsError>),
}

impl fmt::Debug for Refreshing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Refreshing").field(&self.0.name).finish()
    }
}

impl ProvideCredentials for Refreshing {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.credentials())
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
