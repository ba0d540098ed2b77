//! A service inside the test's own process: quicker to start than one of its own, with settings as on a command line.

use std::net::SocketAddr;
use std::time::Duration;

use tenancy::aws::{Clients, Connect};
use tenancy::config::{Parsed, Settings, parse};
use tenancy::server::{App, StartError};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::http::{Answer, Http};
use crate::scripted::Aws;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A service that runs in this process, on free ports of loopback.
pub struct Inside {
    /// Where it is.
    pub address: SocketAddr,
    /// Where it is for operators.
    pub admin: SocketAddr,
    /// A client with connections of its own.
    pub http: Http,
    name: &'static str,
    stop: CancellationToken,
    run: JoinHandle<bool>,
}

/// An AWS that has the environment.
#[must_use]
pub fn aws_with(environment: &str) -> Aws {
    let aws = Aws::start();
    aws.provision(environment);
    aws
}

impl Inside {
    /// Starts the service called `name`, which `build` builds, in `environment`, with further `settings`, such as
    /// `["--request-timeout", "2s"]`. Panics on settings that are refused.
    pub async fn start<S, F>(
        name: &'static str,
        build: impl FnOnce(S, Clients) -> F,
        aws: &Aws,
        environment: &str,
        settings: &[&str],
    ) -> Self
    where
        S: Settings,
        F: Future<Output = Result<App, StartError>>,
    {
        let fixed = ["--host", "127.0.0.1", "--port", "0", "--admin-port", "0", "--drain-delay", "0"];
        let line = [&[name, "--environment", environment][..], &fixed, settings].concat();
        let settings = match parse::<S>(line.into_iter().map(Into::into)) {
            Ok(Parsed::Run(settings)) => settings,
            Ok(Parsed::Print(text)) => panic!("{text}"),
            Err(error) => panic!("{error}"),
        };
        let clients = Connect::with_keys(aws.region(), aws.endpoint(), "AKIATEST", "secret").clients();
        let app = build(settings, clients).await.unwrap_or_else(|error| panic!("{error}"));
        let (address, admin, stop) = (app.public_addr(), app.admin_addr(), CancellationToken::new());
        let signal = stop.clone();
        let run = tokio::spawn(async move { app.run(signal).await.is_ok() });
        Self { address, admin, http: Http::new(), name, stop, run }
    }

    /// Waits until its readiness probe says so. Panics after 60 s.
    pub async fn becomes_ready(&self) {
        let probe = format!("/{}/readiness-probe", self.name);
        let ready = async {
            while self.get(&probe, &[]).await.status != 200 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, ready).await.expect("ready in time");
    }

    /// Tells it to stop.
    pub fn signal(&self) {
        self.stop.cancel();
    }

    /// Tells it to stop, and waits for its end: whether that was a good one. Panics after 60 s.
    pub async fn stop(self) -> bool {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.run).await.expect("an end in time").expect("no panic")
    }

    /// The URL of a path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// GET of a path.
    pub async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.http.get(&self.url(path), headers).await
    }
}

/// Asserts that an answer is a problem in its fixed form; its `detail`.
#[track_caller]
pub fn problem(answer: &Answer, status: u16, kind: &str) -> String {
    let body = answer.json();
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!(body["type"], format!("urn:tenant-plane:problem:{kind}"), "{body}");
    assert_eq!(body["status"], status);
    assert_eq!(body["msg"], body["title"]);
    let mut keys: Vec<&str> = body.as_object().into_iter().flat_map(|body| body.keys().map(String::as_str)).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["detail", "msg", "status", "title", "type"]);
    body["detail"].as_str().unwrap_or_default().to_owned()
}
