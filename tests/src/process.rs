//! A service as a process of its own, with the environment that a pod would give it.

use std::fmt::Write as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::scripted::Aws;

/// How long a process may take to say or do what a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a process has printed so far.
#[derive(Default)]
struct Output {
    lines: Mutex<Vec<String>>,
    more: Notify,
}

impl Output {
    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn read(self: Arc<Self>, from: impl AsyncRead + Unpin) {
        let mut lines = BufReader::new(from).lines();
        // The end of the stream, or bytes that are no text: the process says nothing more.
        while let Ok(Some(line)) = lines.next_line().await {
            self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            self.more.notify_waiters();
        }
    }
}

/// A running process. It is killed when it is dropped.
pub struct Process {
    name: String,
    child: Child,
    output: Arc<Output>,
    readers: Vec<JoinHandle<()>>,
}

/// The environment that lets a process reach `aws` and nothing else.
#[must_use]
pub fn aws_environment(aws: &Aws) -> Vec<(String, String)> {
    environment_at(aws.endpoint(), aws.region())
}

/// The environment that lets a process reach the AWS at `endpoint` and nothing else.
#[must_use]
pub fn environment_at(endpoint: &str, region: &str) -> Vec<(String, String)> {
    [
        ("AWS_REGION", region),
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_ACCESS_KEY_ID", "AKIATEST"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

impl Process {
    /// Starts `command`; what it prints is kept.
    pub fn start(name: &str, mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        let output = Arc::new(Output::default());
        let mut readers = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            readers.push(tokio::spawn(Arc::clone(&output).read(stdout)));
        }
        if let Some(stderr) = child.stderr.take() {
            readers.push(tokio::spawn(Arc::clone(&output).read(stderr)));
        }
        Self { name: name.to_owned(), child, output, readers }
    }

    /// Its id, while it runs.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Whether it has not ended yet.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// What it has printed so far, both streams.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.output.lines()
    }

    /// Its log lines that are JSON.
    #[must_use]
    pub fn log(&self) -> Vec<Value> {
        self.lines().iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits for a line that `wanted` says yes to. Panics after 60 s with all that was printed.
    pub async fn line(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut more = std::pin::pin!(self.output.more.notified());
            more.as_mut().enable();
            if let Some(line) = self.lines().into_iter().find(|line| wanted(line)) {
                return line;
            }
            if tokio::time::timeout_at(deadline.into(), more).await.is_err() {
                panic!("{} did not print {what} within {PATIENCE:?}:\n{}", self.name, self.story());
            }
        }
    }

    /// The last of what it has printed.
    #[must_use]
    pub fn story(&self) -> String {
        let lines = self.lines();
        let mut story = String::new();
        for line in &lines[lines.len().saturating_sub(40)..] {
            let _ = writeln!(story, "  {line}");
        }
        story
    }

    /// Sends a signal such as `TERM`. Nothing happens to a process that has ended.
    pub async fn signal(&self, signal: &str) {
        if let Some(id) = self.child.id() {
            let sent = Command::new("kill").arg(format!("-{signal}")).arg(id.to_string()).status().await;
            assert!(sent.is_ok_and(|status| status.success()) || self.child.id().is_none(), "kill -{signal} {id}");
        }
    }

    /// Waits for its end: its exit code (`None` after a signal) and how long it took. All that it printed is there
    /// then. Panics after 60 s.
    pub async fn ended(&mut self) -> (Option<i32>, Duration) {
        let start = Instant::now();
        let ended = match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(Ok(status)) => (status.code(), start.elapsed()),
            Ok(Err(error)) => panic!("{}: {error}", self.name),
            Err(_) => panic!("{} has not ended within {PATIENCE:?}:\n{}", self.name, self.story()),
        };
        // Its last lines may still be in the pipes. A process that it left behind could hold those open for ever.
        for reader in self.readers.drain(..) {
            let _ = tokio::time::timeout(PATIENCE, reader).await;
        }
        ended
    }
}
