//! AWS as a script: each call takes the time and gives the answer that the test says, and is written down.

mod calls;
mod seen;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};
use tenancy::aws::Fault;
use tenancy::directory::LookupError;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::drain::seam::{Ask, FailedEntry, Failure};
use crate::record::Record;

/// A call that was made, with what it was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Receive,
    Write(Vec<String>),
    Put(String),
    Delete(Vec<String>),
    Hide(Vec<(String, u64)>),
}

/// What a call answers, and after how long.
pub(super) type Answer<T> = (Duration, Result<T, Failure>);

type Rule<I, T> = Box<dyn FnMut(usize, &I) -> Answer<T> + Send>;

struct Script {
    queue: Result<String, LookupError>,
    /// How long a lookup of the queue takes.
    lookup: Duration,
    table: Result<String, LookupError>,
    receives: VecDeque<Answer<Vec<Message>>>,
    /// When the receives of the script are used up: how long they go on waiting. `None` is as long as was asked for.
    idle: Option<Duration>,
    /// The receive with this number panics.
    broken_receive: Option<usize>,
    write: Rule<Vec<String>, Vec<usize>>,
    put: Rule<String, ()>,
    delete: Rule<Vec<String>, Vec<FailedEntry>>,
    hide: Rule<Vec<(String, u64)>, Vec<FailedEntry>>,
    counts: BTreeMap<&'static str, usize>,
}

struct Inner {
    start: Instant,
    script: Mutex<Script>,
    arrived: Notify,
    log: Mutex<Vec<(u64, Call)>>,
    tables_written: Mutex<Vec<String>>,
    stored: Mutex<BTreeMap<String, (u64, String)>>,
    asks: Mutex<Vec<Ask>>,
    gone: Mutex<Vec<String>>,
}

#[derive(Clone)]
pub(super) struct Fake(Arc<Inner>);

pub(super) fn failure(fault: Fault, code: &str) -> Failure {
    Failure { fault, code: Some(code.to_owned()), text: code.to_owned(), timed_out: false }
}

pub(super) fn throttled() -> Failure {
    failure(Fault::Throttled, "ThrottlingException")
}

pub(super) fn denied() -> Failure {
    failure(Fault::Denied, "AccessDeniedException")
}

pub(super) fn invalid() -> Failure {
    failure(Fault::Refused, "ValidationException")
}

pub(super) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A message of tenant acme whose ids, handle and body follow from `name`.
pub(super) fn message(name: &str) -> Message {
    message_of(name, Some("acme"), name, &format!("h-{name}"))
}

pub(super) fn message_of(key: &str, tenant: Option<&str>, sqs_id: &str, handle: &str) -> Message {
    let text = |value: &str| MessageAttributeValue::builder().data_type("String").string_value(value).build().unwrap();
    let mut message = Message::builder()
        .message_id(sqs_id)
        .receipt_handle(handle)
        .body(format!("body of {sqs_id}"))
        .attributes(MessageSystemAttributeName::ApproximateReceiveCount, "1")
        .message_attributes("message_id", text(key));
    if let Some(tenant) = tenant {
        message = message.message_attributes("tenant_id", text(tenant));
    }
    message.build()
}

pub(super) fn messages(names: impl IntoIterator<Item = impl std::fmt::Display>) -> Vec<Message> {
    names.into_iter().map(|name| message(&name.to_string())).collect()
}

impl Fake {
    pub(super) fn new() -> Self {
        let script = Script {
            queue: Ok("arn:aws:sqs:eu-central-1:123456789012:consumer-acme".to_owned()),
            lookup: Duration::ZERO,
            table: Ok("arn:aws:dynamodb:eu-central-1:123456789012:table/consumer-acme".to_owned()),
            receives: VecDeque::new(),
            idle: None,
            broken_receive: None,
            write: Box::new(|_, _| (Duration::ZERO, Ok(Vec::new()))),
            put: Box::new(|_, _| (Duration::ZERO, Ok(()))),
            delete: Box::new(|_, _| (Duration::ZERO, Ok(Vec::new()))),
            hide: Box::new(|_, _| (Duration::ZERO, Ok(Vec::new()))),
            counts: BTreeMap::new(),
        };
        Self(Arc::new(Inner {
            start: Instant::now(),
            script: Mutex::new(script),
            arrived: Notify::new(),
            log: Mutex::default(),
            tables_written: Mutex::default(),
            stored: Mutex::default(),
            asks: Mutex::default(),
            gone: Mutex::default(),
        }))
    }

    /// Rules may panic, on purpose, while they are held.
    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.0.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // What AWS is to do.

    /// The next receive brings this at once.
    pub(super) fn brings(self, messages: Vec<Message>) -> Self {
        self.receives_in(Duration::ZERO, Ok(messages))
    }

    /// The next receive ends so, after so long.
    pub(super) fn receives_in(self, after: Duration, answer: Result<Vec<Message>, Failure>) -> Self {
        self.script().receives.push_back((after, answer));
        self
    }

    /// Later on, for polls that are open then.
    pub(super) fn arrives(&self, messages: Vec<Message>) {
        self.script().receives.push_back((Duration::ZERO, Ok(messages)));
        self.0.arrived.notify_one();
    }

    pub(super) fn idle_for(self, idle: Duration) -> Self {
        self.script().idle = Some(idle);
        self
    }

    /// The receive with this number (from 1) panics.
    pub(super) fn breaks_at_receive(&self, number: usize) {
        self.script().broken_receive = Some(number);
    }

    /// By the number of the call (from 1) and the ids of its records.
    pub(super) fn writes(self, rule: impl FnMut(usize, &Vec<String>) -> Answer<Vec<usize>> + Send + 'static) -> Self {
        self.script().write = Box::new(rule);
        self
    }

    pub(super) fn puts(self, rule: impl FnMut(usize, &String) -> Answer<()> + Send + 'static) -> Self {
        self.script().put = Box::new(rule);
        self
    }

    pub(super) fn deletes(
        self,
        rule: impl FnMut(usize, &Vec<String>) -> Answer<Vec<FailedEntry>> + Send + 'static,
    ) -> Self {
        self.script().delete = Box::new(rule);
        self
    }

    pub(super) fn hides(
        self,
        rule: impl FnMut(usize, &Vec<(String, u64)>) -> Answer<Vec<FailedEntry>> + Send + 'static,
    ) -> Self {
        self.script().hide = Box::new(rule);
        self
    }

    pub(super) fn set_queue(&self, name: Result<&str, LookupError>) {
        self.script().queue = name.map(|name| format!("arn:aws:sqs:eu-central-1:123456789012:{name}"));
    }

    /// From now on, looking the queue up takes so long.
    pub(super) fn set_lookup(&self, takes: Duration) {
        self.script().lookup = takes;
    }

    pub(super) fn set_table(&self, name: Result<&str, LookupError>) {
        self.script().table = name.map(|name| format!("arn:aws:dynamodb:eu-central-1:123456789012:table/{name}"));
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.start.elapsed().as_millis()).unwrap()
    }

    fn note(&self, kind: &'static str, call: Call) -> usize {
        self.0.log.lock().unwrap().push((self.now(), call));
        let mut script = self.script();
        let count = script.counts.entry(kind).or_default();
        *count += 1;
        *count
    }

    fn store(&self, record: &Record) {
        let entry = (self.now(), record.event.body.clone());
        self.0.stored.lock().unwrap().insert(record.event.message_id.clone(), entry);
    }
}
