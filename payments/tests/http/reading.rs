//! `GET /payments/{payment_id}`.

use serde_json::json;

use crate::support::{INVOICE_7, ORDER_1, Payments, aws_with, claims, operations, problem, record};

const READS: [&str; 2] = ["--record-reads", "on"];

#[tokio::test]
async fn a_payment_is_requested_until_its_record_exists_and_then_recorded() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &READS).await;
    payments.pay("acme", "order-1", INVOICE_7).await;
    let shown = |state: &str| {
        json!({
            "tenant_id": "acme",
            "payment_id": ORDER_1,
            "state": state,
            "amount": "12.50",
            "currency": "EUR",
            "reference": "invoice 7",
            "created_at": claims(&aws, "consumer-acme")[0].get("created_at"),
        })
    };
    let answer = payments.shown("acme", ORDER_1).await;
    assert_eq!((answer.status.as_u16(), answer.json()), (200, shown("requested")));
    record(&aws, "acme", ORDER_1).await;
    let answer = payments.shown("acme", ORDER_1).await;
    assert_eq!((answer.status.as_u16(), answer.json()), (200, shown("recorded")));
}

#[tokio::test]
async fn another_tenant_s_payment_none_and_what_is_no_id_look_alike() {
    let aws = aws_with("pool-1");
    for tenant in ["acme", "other"] {
        aws.register(tenant, "pool-1");
    }
    let payments = Payments::start(&aws, "pool-1", &READS).await;
    payments.pay("acme", "order-1", INVOICE_7).await;
    assert_eq!(payments.shown("acme", ORDER_1).await.status, 200);
    let foreign = payments.shown("other", ORDER_1).await;
    problem(&foreign, 404, "not-found");
    for id in [
        "fd4c5c23-75ea-5812-b888-93e8bf1770c3",
        &ORDER_1.to_uppercase(),
        &ORDER_1.replace('-', ""),
        "1",
        "%ff",
        "%00",
        "..%2f..%2fetc",
        "payment%23x",
        &"9".repeat(5_000),
    ] {
        let answer = payments.shown("other", id).await;
        assert_eq!((answer.status, answer.text()), (foreign.status, foreign.text()), "{id:.60}");
    }
}

#[tokio::test]
async fn an_event_of_the_producer_is_no_payment() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &READS).await;
    let id = "fd4c5c23-75ea-5812-b888-93e8bf1770c3";
    record(&aws, "acme", id).await;
    problem(&payments.shown("acme", id).await, 404, "not-found");
}

#[tokio::test]
async fn payments_cannot_be_read_unless_reads_are_on() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    payments.pay("acme", "order-1", INVOICE_7).await;
    let before = operations(&aws);
    problem(&payments.shown("acme", ORDER_1).await, 404, "not-found");
    assert_eq!(operations(&aws), before);
}

#[tokio::test]
async fn reading_needs_the_tenant_header_like_everything_else() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &READS).await;
    let path = format!("/payments/{ORDER_1}");
    for headers in
        [&[][..], &[("tenantID", "")], &[("tenantID", "Acme")], &[("tenantID", "acme"), ("tenantID", "acme")]]
    {
        problem(&payments.get(&path, headers).await, 400, "tenant-header");
    }
    problem(&payments.get(&path, &[("tenantID", "acme"), ("tier", "gold")]).await, 400, "tier-header");
    problem(&payments.shown("other", ORDER_1).await, 403, "tenant-not-served");
    assert_eq!(operations(&aws), []);
}

#[tokio::test]
async fn identity_and_probe_answer_without_a_tenant_and_are_not_taken_for_payments() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[&READS[..], &["--service-version", "7"]].concat()).await;
    assert_eq!(
        payments.get("/payments", &[]).await.json(),
        json!({"tenant_id": null, "environment": "acme", "version": "7", "microservice": "payments"})
    );
    assert_eq!(payments.get("/payments/readiness-probe", &[]).await.json(), json!({"Status": "OK"}));
    problem(&payments.get("/payments/", &[("tenantID", "acme")]).await, 404, "not-found");
}
