//! A table that is slow, refuses, or is gone.

use std::time::Duration;

use tests::scripted::{Aws, Fault, Op, TableSpec};

use crate::support::{INVOICE_7, ORDER_1, Payments, accepted, aws_with, claims, problem};

#[tokio::test]
async fn a_throttled_or_failing_claim_is_tried_again_before_the_answer() {
    for fault in
        [Fault::Throttled, Fault::ThrottledOtherwise, Fault::InternalError, Fault::Unavailable, Fault::Page(503)]
    {
        let aws = aws_with("acme");
        let payments = Payments::start(&aws, "acme", &[]).await;
        aws.on(Op::PutItem).times(2).fail(fault.clone());
        assert_eq!(accepted(&payments.pay("acme", "order-1", INVOICE_7).await), ORDER_1, "{fault:?}");
        assert_eq!((claims(&aws, "consumer-acme").len(), aws.queue("consumer-acme").len()), (1, 1), "{fault:?}");
    }
}

#[tokio::test]
async fn while_the_table_cannot_be_used_nothing_is_sent_and_clients_are_told_to_come_back() {
    for fault in
        [Fault::AccessDenied, Fault::Throttled, Fault::InternalError, Fault::ExpiredToken, Fault::Gone, Fault::Stall]
    {
        let aws = aws_with("acme");
        let payments = Payments::start(&aws, "acme", &["--request-timeout", "700ms"]).await;
        aws.on(Op::PutItem).always().fail(fault.clone());
        let answer = payments.pay("acme", "order-1", INVOICE_7).await;
        problem(&answer, 503, "unavailable");
        assert!(matches!(answer.header("retry-after"), "1" | "5"), "{fault:?}");
        for word in ["Access", "dynamo", "arn:", "consumer-acme", "throttl", "Throttl"] {
            assert!(!answer.text().contains(word), "{fault:?}: {}", answer.text());
        }
        assert!(answer.took < Duration::from_secs(5), "{fault:?}: {:?}", answer.took);
        assert!(aws.queue("consumer-acme").is_empty(), "{fault:?}");
        aws.behave();
        assert_eq!(accepted(&payments.pay("acme", "order-1", INVOICE_7).await), ORDER_1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_repeat_whose_record_cannot_be_looked_for_is_told_to_come_back() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &["--request-timeout", "700ms", "--record-reads", "on"]).await;
    payments.pay("acme", "order-1", INVOICE_7).await;
    let down = aws.on(Op::GetItem).always().fail(Fault::Throttled);
    problem(&payments.pay("acme", "order-1", INVOICE_7).await, 503, "unavailable");
    problem(&payments.shown("acme", ORDER_1).await, 503, "unavailable");
    down.lift();
    assert_eq!(accepted(&payments.pay("acme", "order-1", INVOICE_7).await), ORDER_1);
}

#[tokio::test]
async fn a_table_that_was_replaced_is_found_without_a_restart() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    payments.pay("acme", "order-1", INVOICE_7).await;
    aws.delete_table("consumer-acme");
    let next = aws.create_table(TableSpec::named("consumer-acme-2"));
    aws.set_parameter("/acme/consumer_ddb", &next);
    let found = async {
        loop {
            let answer = payments.pay("acme", "order-2", INVOICE_7).await;
            if answer.status == 202 {
                return;
            }
            problem(&answer, 503, "unavailable");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), found).await.expect("found");
    assert_eq!(claims(&aws, "consumer-acme-2").len(), 1);
}

#[tokio::test]
async fn it_is_not_ready_before_queue_and_table_are_known_and_is_soon_after() {
    let aws = Aws::start();
    let payments = Payments::start_unready(&aws, "acme", &[]).await;
    assert_eq!(payments.get("/payments/readiness-probe", &[]).await.status, 503);
    problem(&payments.pay("acme", "order-1", INVOICE_7).await, 503, "unavailable");
    aws.provision("acme");
    payments.becomes_ready().await;
    assert_eq!(accepted(&payments.pay("acme", "order-1", INVOICE_7).await), ORDER_1);
}

#[tokio::test]
async fn at_the_signal_a_payment_under_way_is_finished() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    let claim = aws.on(Op::PutItem).nth(1).fail(Fault::SlowAnswer(Duration::from_millis(500)));
    let running = payments.pay("acme", "order-1", INVOICE_7);
    let (answer, ()) = tokio::join!(running, async {
        aws.wait_until("the claim to begin", |_| claim.hits() == 1).await;
        payments.signal();
    });
    assert_eq!(accepted(&answer), ORDER_1);
    assert!(payments.stop().await);
    assert_eq!(aws.queue("consumer-acme").len(), 1);
}
