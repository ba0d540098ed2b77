//! Payments on a free port of loopback, in front of a scripted AWS.

use std::ops::Deref;

use tenancy::aws::Connect;
use tests::http::Answer;
use tests::inside::Inside;
pub(crate) use tests::inside::{aws_with, problem};
use tests::scripted::{Aws, Op, Row};

/// A request for the payment that most tests are about.
pub(crate) const INVOICE_7: &str = r#"{"amount":"12.50","currency":"EUR","reference":"invoice 7"}"#;

/// The id of a payment of tenant `acme` under the key `order-1`. Written down: a client's retry may span a deployment.
pub(crate) const ORDER_1: &str = "1f2a7a06-cdcc-5068-832e-9ec704f0abf4";

pub(crate) struct Payments(Inside);

impl Deref for Payments {
    type Target = Inside;

    fn deref(&self) -> &Inside {
        &self.0
    }
}

impl Payments {
    /// Starts it, with settings as on a command line, and waits until it is ready.
    pub(crate) async fn start(aws: &Aws, environment: &str, settings: &[&str]) -> Self {
        let payments = Self::start_unready(aws, environment, settings).await;
        payments.becomes_ready().await;
        payments
    }

    pub(crate) async fn start_unready(aws: &Aws, environment: &str, settings: &[&str]) -> Self {
        Self(Inside::start(payments::NAME, payments::build, aws, environment, settings).await)
    }

    /// Tells it to stop, and waits for its end: whether that was a good one.
    pub(crate) async fn stop(self) -> bool {
        self.0.stop().await
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
        self.http.send(http::Method::POST, &self.url("/payments"), headers, body).await
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
    use aws_sdk_dynamodb::types::AttributeValue::S;
    let clients = Connect::with_keys(aws.region(), aws.endpoint(), "AKIATEST", "secret").clients();
    let put = clients.dynamodb.put_item().table_name(format!("consumer-{tenant}"));
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
