//! Payments on a free port of loopback, in front of a scripted AWS.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_types::region::Region;
use clap::Parser as _;
use payments::Settings;
use tenancy::aws::{Connect, Endpoints};
use tests::http::{Answer, Http};
use tests::scripted::{Aws, Op, Row};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request for the payment that most tests are about.
pub(crate) const INVOICE_7: &str = r#"{"amount":"12.50","currency":"EUR","reference":"invoice 7"}"#;

/// The id of a payment of tenant `acme` under the key `order-1`. Written down: a client's retry may span a deployment.
pub(crate) const ORDER_1: &str = "1f2a7a06-cdcc-5068-832e-9ec704f0abf4";

pub(crate) struct Payments {
    http: Http,
    base: String,
    stop: CancellationToken,
    run: JoinHandle<bool>,
}

/// An AWS that has the environment.
pub(crate) fn aws_with(environment: &str) -> Aws {
    let aws = Aws::start();
    aws.provision(environment);
    aws
}

impl Payments {
    /// Starts it, with settings as on a command line, and waits until it is ready.
    pub(crate) async fn start(aws: &Aws, environment: &str, settings: &[&str]) -> Self {
        let payments = Self::start_unready(aws, environment, settings).await;
        payments.becomes_ready().await;
        payments
    }

    pub(crate) async fn start_unready(aws: &Aws, environment: &str, settings: &[&str]) -> Self {
        let fixed = [
            "payments",
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
        let app = payments::build(settings, connect.clients()).await.unwrap();
        let base = format!("http://{}", app.public_addr());
        let stop = CancellationToken::new();
        let signal = stop.clone();
        let run = tokio::spawn(async move { app.run(signal).await.is_ok() });
        Self { http: Http::new(), base, stop, run }
    }

    pub(crate) async fn becomes_ready(&self) {
        let ready = async {
            while self.get("/payments/readiness-probe", &[]).await.status != 200 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, ready).await.expect("ready in time");
    }

    /// Tells it to stop.
    pub(crate) fn signal(&self) {
        self.stop.cancel();
    }

    /// Tells it to stop, and waits for its end: whether that was a good one.
    pub(crate) async fn stop(self) -> bool {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.run).await.expect("an end in time").unwrap()
    }

    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.http.get(&format!("{}{path}", self.base), headers).await
    }

    /// `POST /payments` for a tenant under a key.
    pub(crate) async fn pay(&self, tenant: &str, key: &str, body: &str) -> Answer {
        self.post(
            &[("tenantID", tenant), ("Idempotency-Key", key), ("content-type", "application/json")],
            body.to_owned(),
        )
        .await
    }

    /// `POST /payments` with exactly these headers.
    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: impl Into<bytes::Bytes>) -> Answer {
        self.http.send(http::Method::POST, &format!("{}/payments", self.base), headers, body).await
    }

    /// The payment as shown to its tenant.
    pub(crate) async fn shown(&self, tenant: &str, id: &str) -> Answer {
        self.get(&format!("/payments/{id}"), &[("tenantID", tenant)]).await
    }
}

/// The payment's id in a 202.
#[track_caller]
pub(crate) fn accepted(answer: &Answer) -> String {
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["payment_id"].as_str().unwrap().to_owned()
}

/// The claims of a table.
pub(crate) fn claims(aws: &Aws, table: &str) -> Vec<Row> {
    aws.rows(table).into_iter().filter(|row| row.sort.starts_with("payment#")).collect()
}

/// What the consumer of a silo does with a payment's event.
pub(crate) async fn record(aws: &Aws, tenant: &str, id: &str) {
    let credentials = Credentials::new("AKIATEST", "secret", None, None, "test");
    let connect = Connect {
        region: Region::new(aws.region().to_owned()),
        endpoints: Endpoints::all(aws.endpoint()),
        credentials: SharedCredentialsProvider::new(credentials),
    };
    use aws_sdk_dynamodb::types::AttributeValue::S;
    let put = connect.clients().dynamodb.put_item().table_name(format!("consumer-{tenant}"));
    put.item("tenant_id", S(tenant.to_owned()))
        .item("message_id", S(id.to_owned()))
        .item("body", S("{}".to_owned()))
        .send()
        .await
        .unwrap();
}

/// The operations that were called, but for those of SSM, in order.
pub(crate) fn operations(aws: &Aws) -> Vec<Op> {
    aws.all_calls().into_iter().map(|call| call.op).filter(|op| *op != Op::GetParameters).collect()
}

/// Asserts that an answer is a problem in its fixed form; its `detail`.
#[track_caller]
pub(crate) fn problem(answer: &Answer, status: u16, kind: &str) -> String {
    let body = answer.json();
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!(body["type"], format!("urn:tenant-plane:problem:{kind}"), "{body}");
    assert_eq!((&body["status"], &body["msg"]), (&status.into(), &body["title"]));
    body["detail"].as_str().unwrap_or_default().to_owned()
}
