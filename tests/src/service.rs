//! A service as tests meet it: a process with a pod's environment, two addresses, a log and signals.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::http::{Answer, Http};
use crate::process::{Process, environment_at};
use crate::scripted::Aws;

/// How long a service may take to become ready.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Takes events.
    Producer,
    /// Drains the queue.
    Consumer,
    /// Takes payments.
    Payments,
}

impl Kind {
    /// Its name, and the name of its binary.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Consumer => "consumer",
            Self::Payments => "payments",
        }
    }
}

/// A service to be started.
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `start`"]
pub struct Launch {
    kind: Kind,
    variables: Vec<(String, String)>,
}

/// The binary of a service: the one that cargo built for these tests, or one of `SERVICE_BIN_DIR`, such as a release's.
fn binary(kind: Kind) -> PathBuf {
    if let Some(folder) = std::env::var_os("SERVICE_BIN_DIR") {
        return PathBuf::from(folder).join(kind.name());
    }
    // Tests run from target/PROFILE/deps (benchmarks and examples beside it); binaries are one above.
    let here = std::env::current_exe().expect("the path of the running test");
    let folders = here.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join("service")).find(|binary| binary.is_file());
    found.unwrap_or_else(|| panic!("no binary `service` beside {}: run `cargo build -p tests --bins`", here.display()))
}

impl Launch {
    /// A service of `environment` that reaches `aws`, on free ports of loopback, without a drain delay.
    pub fn new(kind: Kind, aws: &Aws, environment: &str) -> Self {
        Self::at(kind, aws.endpoint(), aws.region(), environment)
    }

    /// As [`Launch::new`], with the AWS at an address.
    pub fn at(kind: Kind, endpoint: &str, region: &str, environment: &str) -> Self {
        let launch = Self { kind, variables: environment_at(endpoint, region) };
        launch
            .set("SERVICE", kind.name())
            .set("ENVIRONMENT", environment)
            .set("HOST", "127.0.0.1")
            .set("PORT", "0")
            .set("ADMIN_PORT", "0")
            .set("DRAIN_DELAY", "0")
    }

    /// Sets a variable, or sets it anew.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self = self.unset(name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves a variable out.
    pub fn unset(mut self, name: &str) -> Self {
        self.variables.retain(|(variable, _)| variable != name);
        self
    }

    /// Its binary with its environment, not started.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary(self.kind));
        // PATH and the like stay; what an outer environment says about AWS or a service must not reach it.
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts the process alone: for settings that it refuses.
    pub fn process(&self) -> Process {
        Process::start(self.kind.name(), self.command())
    }

    /// Starts it and waits until it listens.
    pub async fn listening(&self) -> Service {
        let process = self.process();
        let line = process.line("where it listens", |line| line.contains("\"listening\"")).await;
        let line: Value = serde_json::from_str(&line).expect("log lines are JSON");
        let address = |name: &str| {
            let found = line.get(name).or_else(|| line["fields"].get(name)).and_then(Value::as_str);
            format!("http://{}", found.unwrap_or_else(|| panic!("no {name} in {line}")))
        };
        let (url, admin) = (address("address"), address("admin_address"));
        Service { kind: self.kind, url, admin, process, http: Http::new() }
    }

    /// Starts it and waits until it is ready.
    pub async fn start(&self) -> Service {
        let service = self.listening().await;
        service.until_ready().await;
        service
    }
}

/// A running service. Dropping it kills it.
pub struct Service {
    /// Which one.
    pub kind: Kind,
    /// `http://127.0.0.1:PORT` for tenants.
    pub url: String,
    /// The same for operators.
    pub admin: String,
    /// The process.
    pub process: Process,
    /// A client with connections of its own.
    pub http: Http,
}

impl Service {
    /// Whether `/readyz` says 200.
    pub async fn is_ready(&self) -> bool {
        let answer = self.http.try_send(hyper::Method::GET, &format!("{}/readyz", self.admin), &[], "").await;
        answer.is_ok_and(|answer| answer.status == 200)
    }

    /// Waits until it is ready. Panics after 60 s with its log.
    pub async fn until_ready(&self) {
        let start = Instant::now();
        while !self.is_ready().await {
            assert!(
                start.elapsed() < PATIENCE,
                "{} is not ready after {PATIENCE:?}:\n{}",
                self.kind.name(),
                self.process.story()
            );
            // A probe's period: readiness has no other sign than its endpoint.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// `POST /producer` of an event for `tenant`.
    pub async fn event(&self, tenant: &str, body: &str) -> Answer {
        self.http.post(&format!("{}/producer", self.url), &[("tenantID", tenant)], body.to_owned()).await
    }

    /// `POST /payments` for `tenant` under `key`.
    pub async fn payment(&self, tenant: &str, key: &str) -> Answer {
        let body = json!({"amount": "12.50", "currency": "EUR", "reference": "order 1"}).to_string();
        self.http.post(&format!("{}/payments", self.url), &[("tenantID", tenant), ("Idempotency-Key", key)], body).await
    }

    /// The counters and gauges of `/metrics` as text.
    pub async fn metrics(&self) -> String {
        self.http.get(&format!("{}/metrics", self.admin), &[]).await.text()
    }

    /// Sends SIGTERM and waits for the end: exit code and how long it took.
    pub async fn stop(&mut self) -> (Option<i32>, Duration) {
        self.process.signal("TERM").await;
        self.process.ended().await
    }
}
