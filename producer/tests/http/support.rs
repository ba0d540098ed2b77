//! A producer on a free port of loopback, in front of a scripted AWS.

use std::net::SocketAddr;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_types::region::Region;
use clap::Parser as _;
use producer::Settings;
use serde_json::Value;
use tenancy::aws::{Connect, Endpoints};
use tests::http::{Answer, Http};
use tests::scripted::{Aws, SeenMessage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Producer {
    pub(crate) http: Http,
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
    run: JoinHandle<bool>,
}

/// An AWS that has the environment.
pub(crate) fn aws_with(environment: &str) -> Aws {
    let aws = Aws::start();
    aws.provision(environment);
    aws
}

impl Producer {
    /// Starts one, with settings as on a command line, and waits until it is ready.
    pub(crate) async fn start(aws: &Aws, environment: &str, settings: &[&str]) -> Self {
        let producer = Self::start_unready(aws, environment, settings).await;
        producer.becomes_ready().await;
        producer
    }

    pub(crate) async fn start_unready(aws: &Aws, environment: &str, settings: &[&str]) -> Self {
        let fixed = [
            "producer",
            "--environment",
            environment,
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--admin-port",
            "0",
            "--drain-delay",
            "0",
        ];
        let settings = Settings::try_parse_from([&fixed[..], settings].concat()).unwrap();
        tenancy::config::Settings::check(&settings).unwrap();
        let credentials = Credentials::new("AKIATEST", "secret", None, None, "test");
        let connect = Connect {
            region: Region::new(aws.region().to_owned()),
            endpoints: Endpoints::all(aws.endpoint()),
            credentials: SharedCredentialsProvider::new(credentials),
        };
        let app = producer::build(settings, connect.clients()).await.unwrap();
        let address = app.public_addr();
        let stop = CancellationToken::new();
        let signal = stop.clone();
        let run = tokio::spawn(async move { app.run(signal).await.is_ok() });
        Self { http: Http::new(), address, stop, run }
    }

    pub(crate) async fn becomes_ready(&self) {
        let ready = async {
            while self.get("/producer/readiness-probe", &[]).await.status != 200 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, ready).await.expect("ready in time");
    }

    /// Tells it to stop, and waits for its end: whether that was a good one.
    pub(crate) async fn stop(self) -> bool {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.run).await.expect("an end in time").unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.http.get(&self.url(path), headers).await
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

/// Asserts that an answer is a problem in its fixed form; its `detail`.
#[track_caller]
pub(crate) fn problem(answer: &Answer, status: u16, kind: &str) -> String {
    let body = answer.json();
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!(body["type"], format!("urn:tenant-plane:problem:{kind}"), "{body}");
    assert_eq!(body["status"], status);
    assert_eq!(body["msg"], body["title"]);
    let mut keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["detail", "msg", "status", "title", "type"]);
    detail(&body)
}

pub(crate) fn detail(body: &Value) -> String {
    body["detail"].as_str().unwrap_or_default().to_owned()
}
