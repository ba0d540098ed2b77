//! A producer on a free port of loopback, in front of a scripted AWS.

use std::ops::Deref;
use std::time::Duration;

use serde_json::Value;
use tests::http::Answer;
use tests::inside::Inside;
pub(crate) use tests::inside::{aws_with, problem};
use tests::scripted::{Aws, SeenMessage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Producer(Inside);

impl Deref for Producer {
    type Target = Inside;

    fn deref(&self) -> &Inside {
        &self.0
    }
}

impl Producer {
    /// Starts one, with settings as on a command line, and waits until it is ready.
    pub(crate) async fn start(aws: &Aws, environment: &str, settings: &[&str]) -> Self {
        let producer = Self::start_unready(aws, environment, settings).await;
        producer.becomes_ready().await;
        producer
    }

    pub(crate) async fn start_unready(aws: &Aws, environment: &str, settings: &[&str]) -> Self {
        Self(Inside::start(producer::NAME, producer::build, aws, environment, settings).await)
    }

    /// Tells it to stop, and waits for its end: whether that was a good one.
    pub(crate) async fn stop(self) -> bool {
        self.0.stop().await
    }

    /// POST of JSON for a tenant.
    pub(crate) async fn post(&self, path: &str, tenant: &str, body: impl Into<bytes::Bytes>) -> Answer {
        self.http.post(&self.url(path), &[("tenantID", tenant)], body).await
    }

    /// POST with exactly these headers.
    pub(crate) async fn post_with(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<bytes::Bytes>,
    ) -> Answer {
        self.http.send(http::Method::POST, &self.url(path), headers, body).await
    }

    /// Sends bytes over a connection of their own and reads until `answers` answers without a body's end in doubt have come.
    pub(crate) async fn raw(&self, request: &[u8], answers: usize) -> Vec<(u16, String)> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut bytes = Vec::new();
        tokio::time::timeout(PATIENCE, async {
            while parse(&bytes).len() < answers {
                if stream.read_buf(&mut bytes).await.unwrap() == 0 {
                    break;
                }
            }
        })
        .await
        .expect("answers in time");
        parse(&bytes)
    }
}

/// Status and body of each answer that is complete.
fn parse(bytes: &[u8]) -> Vec<(u16, String)> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.as_ref();
    let mut answers = Vec::new();
    while let Some((head, tail)) = rest.split_once("\r\n\r\n") {
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        let length = head
            .to_ascii_lowercase()
            .split_once("content-length: ")
            .and_then(|(_, after)| after.lines().next().and_then(|length| length.parse::<usize>().ok()));
        let Some(body) = tail.get(..length.unwrap_or_default()) else { break };
        answers.push((status, body.to_owned()));
        rest = &tail[body.len()..];
    }
    answers
}

/// The only message of a queue.
#[track_caller]
pub(crate) fn only_message(aws: &Aws, queue: &str) -> SeenMessage {
    let messages = aws.messages(queue);
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages.into_iter().next().unwrap()
}

pub(crate) fn detail(body: &Value) -> String {
    body["detail"].as_str().unwrap_or_default().to_owned()
}
