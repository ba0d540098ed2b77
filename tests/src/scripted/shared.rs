//! What the server's thread and the test share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

use super::dynamodb::DynamoDb;
use super::fault::Cut;
use super::identity::Identity;
use super::log::Log;
use super::op::{Op, Service};
use super::script::Script;
use super::sqs::Sqs;
use super::ssm::Ssm;

/// State behind locks that are held for one step each, never across a wait.
pub(crate) struct Shared {
    pub(crate) region: String,
    pub(crate) account: String,
    /// `http://127.0.0.1:PORT`.
    pub(crate) endpoint: String,
    /// Whether a poll whose client has gone still takes what arrives.
    pub(crate) dead_polls_take: bool,
    pub(crate) sqs: Mutex<Sqs>,
    pub(crate) dynamodb: Mutex<DynamoDb>,
    pub(crate) ssm: Mutex<Ssm>,
    pub(crate) identity: Mutex<Identity>,
    pub(crate) script: Mutex<Script>,
    pub(crate) log: Mutex<Log>,
    counts: Vec<AtomicU64>,
    latencies: Vec<AtomicU64>,
    pub(crate) connections: Mutex<HashMap<u64, Arc<Connection>>>,
    pub(crate) connections_opened: AtomicU64,
    /// Woken at each change that a test may wait for.
    pub(crate) change: Notify,
}

/// A connection that is open.
#[derive(Default)]
pub(crate) struct Connection {
    /// It reads but never answers again, as one whose other end has vanished.
    pub(crate) silent: AtomicBool,
    pub(crate) cut: Mutex<Option<Cut>>,
    pub(crate) cutting: Notify,
}

impl Connection {
    pub(crate) fn end(&self, cut: Cut) {
        *lock(&self.cut) = Some(cut);
        self.cutting.notify_one();
    }
}

impl Shared {
    pub(crate) fn new(region: &str, account: &str, endpoint: String, keep_log: bool, dead_polls_take: bool) -> Self {
        let zeros = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        Self {
            region: region.to_owned(),
            account: account.to_owned(),
            endpoint,
            dead_polls_take,
            sqs: Mutex::default(),
            dynamodb: Mutex::default(),
            ssm: Mutex::default(),
            identity: Mutex::default(),
            script: Mutex::default(),
            log: Mutex::new(Log { keep: keep_log, ..Log::default() }),
            counts: zeros(Op::ALL.len()),
            latencies: zeros(Service::ALL.len()),
            connections: Mutex::default(),
            connections_opened: AtomicU64::new(0),
            change: Notify::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        Self::new("eu-central-1", "123456789012", "http://127.0.0.1:1".into(), true, true)
    }

    /// Counts a call and gives its number.
    pub(crate) fn count_up(&self, op: Op) -> u64 {
        self.counts[op.index()].fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn count(&self, op: Op) -> u64 {
        self.counts[op.index()].load(Ordering::SeqCst)
    }

    pub(crate) fn latency(&self, service: Service) -> Duration {
        Duration::from_micros(self.latencies[service.index()].load(Ordering::Relaxed))
    }

    pub(crate) fn set_latency(&self, service: Service, latency: Duration) {
        self.latencies[service.index()].store(latency.as_micros() as u64, Ordering::Relaxed);
    }

    /// Tells tests that wait that something has changed.
    pub(crate) fn changed(&self) {
        self.change.notify_waiters();
    }

    pub(crate) fn arn(&self, service: &str, resource: &str) -> String {
        format!("arn:aws:{service}:{}:{}:{resource}", self.region, self.account)
    }

    pub(crate) fn queue_url(&self, name: &str) -> String {
        format!("{}/{}/{name}", self.endpoint, self.account)
    }
}

/// Locks; a test that panicked meanwhile is no reason for another panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Milliseconds since 1970.
pub(crate) fn millis_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
