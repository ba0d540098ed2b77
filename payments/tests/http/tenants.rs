//! Whose payments are taken, and where they go.

use tests::scripted::Op;

use crate::support::{INVOICE_7, ORDER_1, Payments, accepted, aws_with, claims, operations, problem};

#[tokio::test]
async fn a_pool_s_payments_are_those_of_its_own_queue_and_lie_in_the_pool_s_table() {
    let aws = aws_with("pool-1");
    aws.provision("large");
    for tenant in ["small", "acme"] {
        aws.register(tenant, "pool-1");
    }
    let payments = Payments::start(&aws, "pool-1", &[]).await;
    // One key of two tenants is two payments.
    let small = accepted(&payments.pay("small", "order-1", INVOICE_7).await);
    let acme = accepted(&payments.pay("acme", "order-1", INVOICE_7).await);
    assert_eq!(acme, ORDER_1);
    assert_ne!(small, acme);
    let claims: Vec<(String, String)> =
        claims(&aws, "consumer-pool-1").into_iter().map(|row| (row.partition, row.sort)).collect();
    assert_eq!(
        claims,
        [("acme".to_owned(), format!("payment#{acme}")), ("small".to_owned(), format!("payment#{small}"))]
    );
    assert_eq!(aws.queue("consumer-pool-1").len(), 2);
    assert!(
        aws.messages("consumer-pool-1").iter().all(|message| message.attributes["producer_environment"] == "pool-1")
    );

    problem(&payments.pay("large", "order-1", INVOICE_7).await, 403, "tenant-not-served");
    problem(&payments.pay("nobody", "order-1", INVOICE_7).await, 404, "tenant-unknown");
    let advanced = [("tenantID", "small"), ("tier", "advanced"), ("Idempotency-Key", "order-1")];
    problem(&payments.post(&advanced, INVOICE_7).await, 409, "tier-conflict");
    assert_eq!((aws.row_count("consumer-large"), aws.queue("consumer-large").len()), (0, 0));
}

#[tokio::test]
async fn bad_headers_are_told_before_anything_else_and_nothing_is_claimed() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    let bad: [(&[(&str, &str)], &str); 10] = [
        (&[], "tenant-header"),
        (&[("tenantID", "")], "tenant-header"),
        (&[("tenantID", "acme"), ("tenantID", "acme")], "tenant-header"),
        (&[("tenantID", "acme,other")], "tenant-header"),
        (&[("tenantID", "ACME")], "tenant-header"),
        (&[("tenantID", "{x}")], "tenant-header"),
        (&[("tenantID", "../other")], "tenant-header"),
        (&[("tenantID", "tést")], "tenant-header"),
        (&[("tenantID", "acme"), ("tier", "")], "tier-header"),
        (&[("tenantID", "acme"), ("tier", "gold")], "tier-header"),
    ];
    for (headers, kind) in bad {
        let headers = [headers, &[("Idempotency-Key", "k")]].concat();
        problem(&payments.post(&headers, INVOICE_7).await, 400, kind);
    }
    problem(&payments.pay("other", "k", INVOICE_7).await, 403, "tenant-not-served");
    assert_eq!(operations(&aws), []);
}

#[tokio::test]
async fn a_silo_serves_its_tenant_whatever_the_tier() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    for tier in ["basic", "advanced", "premium"] {
        let answer =
            payments.post(&[("tenantID", "acme"), ("tier", tier), ("Idempotency-Key", "order-1")], INVOICE_7).await;
        assert_eq!(accepted(&answer), ORDER_1);
    }
}

#[tokio::test]
async fn at_the_start_both_parameters_are_read_in_one_call_and_no_more_is_asked_later() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &["--record-reads", "on"]).await;
    for number in 0..100 {
        accepted(&payments.pay("acme", &number.to_string(), INVOICE_7).await);
    }
    payments.shown("acme", ORDER_1).await;
    assert_eq!(aws.count(Op::GetParameters), 1);
    // What its role allows, and nothing else.
    for op in operations(&aws) {
        assert!(matches!(op, Op::PutItem | Op::GetItem | Op::SendMessageBatch), "{op:?}");
    }
}
