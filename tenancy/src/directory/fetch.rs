//! Reading parameters: gathered into `GetParameters` of up to ten names, one call at a time. Where SSM denies that, a call has one
//! name, and the budget for ids not yet known is as many calls as before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_ssm::error::ProvideErrorMetadata as _;

use super::LookupError;
use crate::aws::describe;

mod line;
mod turned_away;

use line::{Line, Next, Waiting};

/// Names that SSM may refuse, with none that it answers, before the others that wait with them fail too: then it is the role.
const REFUSED_BEFORE_ANY: usize = 2;

/// Whether a lookup counts against the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Of an id that exists for all we know: our own, or one read before.
    Known,
    /// Of an id that anyone may have made up, or for a reason that a client may make up.
    New,
}

/// What SSM says of a name: its value, or that there is none.
pub(super) type Fetched = Result<Option<String>, LookupError>;

#[derive(Debug, Clone)]
pub(super) struct Fetcher(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    ssm: aws_sdk_ssm::Client,
    line: Mutex<Line>,
    calls: metrics::Counter,
    failures: metrics::Counter,
}

/// What became of a call for several names.
enum Together {
    /// What SSM says of each name; of one that is not in here it says nothing.
    Answer(HashMap<String, Option<String>>),
    /// The operation, or one of the names.
    Denied,
    Failed,
}

/// What became of a call for one name.
enum Single {
    Answer(Option<String>),
    /// This name: it is denied, or the answer says nothing.
    Refused,
    Failed,
}

impl Fetcher {
    pub(super) fn new(ssm: aws_sdk_ssm::Client) -> Self {
        Self(Arc::new(Inner {
            ssm,
            line: Mutex::new(Line::new()),
            calls: metrics::counter!("directory_calls_total"),
            failures: metrics::counter!("directory_failed_calls_total"),
        }))
    }

    /// The value of one parameter.
    pub(super) async fn fetch(&self, name: String, urgency: Urgency) -> Fetched {
        let told = {
            let mut line = self.0.line();
            let told = line.join(name, urgency)?;
            if line.begin() {
                let this = self.clone();
                tokio::spawn(async move { this.work().await });
            }
            told
        };
        told.await.unwrap_or(Err(LookupError::Unavailable))
    }

    /// Whether there is no answer to be expected just now: whoever has something in hand need not wait for one.
    pub(super) fn is_down(&self) -> bool {
        self.0.line().is_down()
    }

    /// Calls until nobody waits.
    async fn work(&self) {
        // Lookups made together, such as a queue and a table at start, find themselves in one call.
        tokio::task::yield_now().await;
        loop {
            let next = self.0.line().next();
            match next {
                Next::Call { batch, singly: false } => self.call_together(batch).await,
                Next::Call { batch, singly: true } => self.call_singly(batch, false).await,
                Next::Wait(time) => tokio::time::sleep(time).await,
                Next::Nothing => return,
            }
        }
    }

    async fn call_together(&self, batch: Vec<Waiting>) {
        match self.read_together(&batch).await {
            Together::Answer(values) => {
                self.0.line().answered();
                for waiting in batch {
                    let value = values.get(&waiting.name).cloned().ok_or(LookupError::Unavailable);
                    let _ = waiting.tell.send(value);
                }
            }
            Together::Denied => {
                // It may be the doing of one of them; and each that counts against the budget is another call.
                let (known, new) = batch.into_iter().partition(Waiting::is_known);
                self.0.line().put_back(new);
                self.call_singly(known, true).await;
            }
            Together::Failed => self.fail(batch),
        }
    }

    /// A call for each. One that is refused fails alone, unless it looks like all.
    async fn call_singly(&self, batch: Vec<Waiting>, were_denied: bool) {
        let (mut answered, mut refused, mut known_refused) = (false, 0, false);
        let mut left = batch.into_iter();
        while let Some(waiting) = left.next() {
            match self.read_singly(&waiting.name, were_denied || waiting.alone).await {
                Single::Answer(value) => {
                    answered = true;
                    let _ = waiting.tell.send(Ok(value));
                }
                Single::Refused => {
                    refused += 1;
                    known_refused |= waiting.is_known();
                    waiting.fail();
                    if !answered && refused >= REFUSED_BEFORE_ANY {
                        break;
                    }
                }
                Single::Failed => return self.fail(std::iter::once(waiting).chain(left).collect()),
            }
        }
        // One that nobody knows may well be made up, and is no reason to let others wait.
        if known_refused && !answered {
            self.0.line().failed();
            left.for_each(Waiting::fail);
        }
    }

    fn fail(&self, batch: Vec<Waiting>) {
        self.0.failures.increment(1);
        self.0.line().failed();
        batch.into_iter().for_each(Waiting::fail);
    }

    async fn read_together(&self, batch: &[Waiting]) -> Together {
        let mut names: Vec<String> = Vec::with_capacity(batch.len());
        for waiting in batch {
            if !names.contains(&waiting.name) {
                names.push(waiting.name.clone());
            }
        }
        self.0.goes_out();
        let reply = match self.0.ssm.get_parameters().set_names(Some(names.clone())).send().await {
            Ok(reply) => reply,
            // The role as it is; credentials that have run out say nothing about it.
            Err(error) if error.code().is_some_and(is_access_denied) => {
                tracing::debug!(error = describe(&error), ?names, "SSM refused to read parameters together");
                self.0.line().denied();
                return Together::Denied;
            }
            Err(error) => {
                tracing::warn!(error = describe(&error), ?names, "parameters could not be read");
                return Together::Failed;
            }
        };
        let found = reply.parameters.unwrap_or_default().into_iter();
        let found = found.filter_map(|parameter| Some((parameter.name?, Some(parameter.value?))));
        let mut values: HashMap<_, _> = found.collect();
        for name in reply.invalid_parameters.unwrap_or_default() {
            values.entry(name).or_insert(None);
        }
        // Only a name that SSM says it does not know is not there; one that the answer leaves out may well be.
        names.retain(|name| !values.contains_key(name));
        if !names.is_empty() {
            tracing::warn!(?names, "SSM's answer says nothing of parameters that it was asked for");
            if values.is_empty() && batch.iter().any(Waiting::is_known) {
                return Together::Failed;
            }
            self.0.failures.increment(1);
        }
        Together::Answer(values)
    }

    async fn read_singly(&self, name: &str, was_denied: bool) -> Single {
        self.0.goes_out();
        let value = match self.0.ssm.get_parameter().name(name).send().await {
            Ok(reply) => match reply.parameter.and_then(|parameter| parameter.value) {
                Some(value) => Some(value),
                None => {
                    self.0.failures.increment(1);
                    tracing::warn!(name, "SSM's answer has no value");
                    self.0.line().answered();
                    return Single::Refused;
                }
            },
            Err(error) if error.as_service_error().is_some_and(|error| error.is_parameter_not_found()) => None,
            Err(error) if error.code().is_some_and(is_access_denied) => {
                self.0.failures.increment(1);
                tracing::error!(error = describe(&error), name, "SSM refused to read a parameter");
                self.0.line().denied_singly();
                return Single::Refused;
            }
            Err(error) => {
                tracing::warn!(error = describe(&error), name, "a parameter could not be read");
                return Single::Failed;
            }
        };
        let mut line = self.0.line();
        line.answered();
        if was_denied && line.read_singly_from_now() {
            tracing::warn!("ssm:GetParameters is denied, ssm:GetParameter is not: parameters are read one by one");
        }
        Single::Answer(value)
    }
}

/// Codes that say that the role may not call an operation.
fn is_access_denied(code: &str) -> bool {
    matches!(code.rsplit('#').next(), Some("AccessDeniedException" | "AccessDenied"))
}

impl Inner {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn goes_out(&self) {
        self.calls.increment(1);
        self.line().calls();
    }
}
