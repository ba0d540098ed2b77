//! A command of a service's binary, run to its end: what it printed, and how it ended.

use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Child;

use crate::service::Launch;

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A command under way.
pub struct Running {
    child: Child,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit status; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ended {
    /// The lines of standard output that are JSON.
    #[must_use]
    pub fn json(&self) -> Vec<Value> {
        self.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// Starts a command with a service's environment; `typed` is what a person types.
pub async fn begin(launch: &Launch, arguments: &[&str], typed: &str) -> Running {
    let mut command = launch.command();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A command that asks nothing has closed it already.
    let _ = stdin.write_all(typed.as_bytes()).await;
    drop(stdin);
    Running { child }
}

impl Running {
    /// Sends a signal such as `INT`.
    pub async fn signal(&self, signal: &str) {
        if let Some(id) = self.child.id() {
            let kill = tokio::process::Command::new("kill").arg(format!("-{signal}")).arg(id.to_string()).status();
            assert!(kill.await.is_ok_and(|status| status.success()), "kill -{signal} {id}");
        }
    }

    /// Waits for its end. Panics after two minutes.
    pub async fn ended(self) -> Ended {
        let output = tokio::time::timeout(PATIENCE, self.child.wait_with_output()).await;
        let Output { status, stdout, stderr } = output.expect("the command ends").expect("its output can be read");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
        Ended { code: status.code(), out: text(stdout), err: text(stderr) }
    }
}

/// Runs a command to its end.
pub async fn run(launch: &Launch, arguments: &[&str]) -> Ended {
    begin(launch, arguments, "").await.ended().await
}
