//! The endpoint as a process of its own, seen by its control routes.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::http;
use crate::process::{Usage, usage};

/// Calls of one operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Count {
    pub(crate) calls: u64,
}

/// What was called since the last reset.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Counts {
    pub(crate) calls: BTreeMap<String, Count>,
    pub(crate) records: u64,
}

impl Counts {
    /// Calls of one operation.
    pub(crate) fn of(&self, operation: &str) -> u64 {
        self.calls.get(operation).map_or(0, |count| count.calls)
    }
}

/// What has become of a queue's messages.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Depth {
    pub(crate) deleted: u64,
}

/// The running endpoint. It ends when this is dropped.
pub(crate) struct Aws {
    process: Child,
    address: SocketAddr,
}

impl Aws {
    /// Starts `bench aws` on a free port.
    pub(crate) fn start(bench: &Path) -> io::Result<Self> {
        let mut process =
            Command::new(bench).args(["aws", "--port", "0"]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let address = line.trim().strip_prefix("http://").and_then(|text| text.parse().ok());
        let address = address.ok_or_else(|| io::Error::other("the AWS endpoint did not print its address"));
        Ok(Self { process, address: address? })
    }

    /// What an SDK is pointed to.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the endpoint itself has used: it shares the machine with what is measured.
    pub(crate) fn usage(&self) -> io::Result<Usage> {
        usage(self.process.id())
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> io::Result<Vec<u8>> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, answer) = http::call(self.address, method, path, &body)?;
        if status == 200 {
            return Ok(answer);
        }
        Err(io::Error::other(format!("{method} {path}: {status} {}", String::from_utf8_lossy(&answer))))
    }

    /// Forgets everything; from now on each call takes `latency_ms`.
    pub(crate) fn begin(&self, latency_ms: u64) -> io::Result<()> {
        self.ask("POST", "/bench/clear", &Value::Null)?;
        self.ask("POST", "/bench/latency", &json!({"millis": latency_ms})).map(drop)
    }

    /// Counts from zero.
    pub(crate) fn reset(&self) -> io::Result<()> {
        self.ask("POST", "/bench/reset", &Value::Null).map(drop)
    }

    /// How one queue differs.
    pub(crate) fn rule(&self, queue: &str, rule: &Value) -> io::Result<()> {
        self.ask("POST", &format!("/bench/rule/{queue}"), rule).map(drop)
    }

    /// Fills a queue with messages of `environment`'s own tenant.
    pub(crate) fn preload(&self, environment: &str, messages: u64, body_bytes: usize) -> io::Result<()> {
        let ask =
            json!({"messages": messages, "body_bytes": body_bytes, "tenant": environment, "environment": environment});
        self.ask("POST", &format!("/bench/preload/consumer-{environment}"), &ask).map(drop)
    }

    pub(crate) fn counts(&self) -> io::Result<Counts> {
        Ok(serde_json::from_slice(&self.ask("GET", "/bench/counts", &Value::Null)?)?)
    }

    pub(crate) fn depth(&self, queue: &str) -> io::Result<Depth> {
        Ok(serde_json::from_slice(&self.ask("GET", &format!("/bench/queue/{queue}"), &Value::Null)?)?)
    }

    /// When each record was first written, in microseconds since 1970, by its id.
    pub(crate) fn records(&self) -> io::Result<BTreeMap<String, u64>> {
        let lines = String::from_utf8(self.ask("GET", "/bench/records", &Value::Null)?).map_err(io::Error::other)?;
        Ok(lines.lines().filter_map(record).collect())
    }
}

/// A line of tenant, id and time.
fn record(line: &str) -> Option<(String, u64)> {
    let mut fields = line.split('\t').skip(1);
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

impl Drop for Aws {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_by_its_id() {
        assert_eq!(record("acme\t0190-a\t17"), Some(("0190-a".to_owned(), 17)));
        assert_eq!(record("acme"), None);
    }

    #[test]
    fn counts_are_read_as_the_endpoint_writes_them() {
        let text = r#"{"calls":{"SendMessageBatch":{"calls":3,"entries":21,"throttled":0}},"records":5}"#;
        let counts: Counts = serde_json::from_str(text).unwrap();
        assert_eq!((counts.of("SendMessageBatch"), counts.of("GetParameters"), counts.records), (3, 0, 5));
    }
}
