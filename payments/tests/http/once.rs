//! One key, one payment.

use serde_json::json;
use tests::scripted::{Cut, Fault, Op};

use crate::support::{INVOICE_7, ORDER_1, Payments, accepted, aws_with, claims, operations, problem, record};

const QUEUE: &str = "consumer-acme";

#[tokio::test]
async fn a_payment_is_claimed_in_the_table_and_then_sent_to_the_queue() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &["--service-version", "7"]).await;
    let answer = payments.pay("acme", "order-1", INVOICE_7).await;
    assert_eq!(answer.status, 202);
    assert_eq!(
        answer.json(),
        json!({"tenant_id": "acme", "environment": "acme", "version": "7", "microservice": "payments", "payment_id": ORDER_1})
    );
    assert_eq!(operations(&aws), [Op::PutItem, Op::SendMessageBatch]);

    let claims = claims(&aws, QUEUE);
    assert_eq!(claims.len(), 1);
    let attributes: Vec<(&str, &str)> =
        claims[0].attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let created_at = claims[0].get("created_at");
    assert_eq!(
        attributes,
        [
            ("amount", "12.50"),
            ("created_at", created_at),
            ("currency", "EUR"),
            // printf '12.50\0EUR\0invoice 7' | sha256sum
            ("digest", "ba7b0761194f4aa615e96273cd8cc3fb3876e0c6b263a09f84926215a0a34d33"),
            ("message_id", &format!("payment#{ORDER_1}")),
            ("reference", "invoice 7"),
            ("state", "requested"),
            ("tenant_id", "acme"),
        ]
    );
    assert!(created_at.len() == 24 && created_at.starts_with("20") && created_at.ends_with('Z'), "{created_at}");

    let messages = aws.messages(QUEUE);
    assert_eq!(messages.len(), 1);
    assert_eq!(
        messages[0].body,
        format!(
            r#"{{"type":"payment.requested","payment_id":"{ORDER_1}","amount":"12.50","currency":"EUR","reference":"invoice 7"}}"#
        )
    );
    let attributes: Vec<(&str, &str)> =
        messages[0].attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        attributes,
        [
            ("content_type", "application/json"),
            ("message_id", ORDER_1),
            ("producer_environment", "acme"),
            ("tenant_id", "acme")
        ]
    );
}

#[tokio::test]
async fn without_a_key_nothing_is_paid() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    let answer = payments.post(&[("tenantID", "acme")], INVOICE_7).await;
    assert_eq!(
        problem(&answer, 400, "parameter"),
        "the Idempotency-Key header is missing; send 1 to 255 visible ASCII characters of your own, and the same again when you retry"
    );
    let long = "k".repeat(256);
    for keys in [&[""][..], &["a b"], &["é"], &[&long], &["a", "b"]] {
        let headers: Vec<(&str, &str)> =
            [("tenantID", "acme")].into_iter().chain(keys.iter().map(|key| ("Idempotency-Key", *key))).collect();
        problem(&payments.post(&headers, INVOICE_7).await, 400, "parameter");
    }
    assert_eq!(operations(&aws), []);
}

#[tokio::test]
async fn the_same_key_again_gets_the_same_answer_and_the_event_of_the_same_record() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    let first = payments.pay("acme", "order-1", INVOICE_7).await;
    // In another order and spelling, it is the same payment.
    let again = payments
        .pay("acme", "order-1", r#" {"reference": "invoice\u00207", "currency": "EUR", "amount": "12.50"}"#)
        .await;
    assert_eq!((again.status, again.text()), (first.status, first.text()));
    assert_eq!(claims(&aws, QUEUE).iter().map(|claim| claim.writes).collect::<Vec<_>>(), [1]);
    let messages = aws.messages(QUEUE);
    assert_eq!(messages.len(), 2);
    assert_eq!((&messages[0].body, &messages[0].attributes), (&messages[1].body, &messages[1].attributes));
}

#[tokio::test]
async fn a_repeat_of_a_recorded_payment_sends_nothing() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    let first = payments.pay("acme", "order-1", INVOICE_7).await;
    record(&aws, "acme", ORDER_1).await;
    let sent = aws.queue(QUEUE).len();
    let again = payments.pay("acme", "order-1", INVOICE_7).await;
    assert_eq!((again.status, again.text()), (first.status, first.text()));
    assert_eq!(aws.queue(QUEUE).len(), sent);
}

#[tokio::test]
async fn the_same_key_for_another_payment_is_a_422_and_changes_nothing() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    payments.pay("acme", "order-1", INVOICE_7).await;
    let before = claims(&aws, QUEUE);
    for other in [
        r#"{"amount":"12.51","currency":"EUR","reference":"invoice 7"}"#,
        r#"{"amount":"12.50","currency":"USD","reference":"invoice 7"}"#,
        r#"{"amount":"12.50","currency":"EUR","reference":"invoice 8"}"#,
    ] {
        let answer = payments.pay("acme", "order-1", other).await;
        assert_eq!(
            problem(&answer, 422, "unprocessable"),
            "this Idempotency-Key was used for another amount, currency or reference; a new payment needs a new key"
        );
        assert!(!answer.text().contains("invoice 7"));
    }
    record(&aws, "acme", ORDER_1).await;
    let answer =
        payments.pay("acme", "order-1", r#"{"amount":"12.51","currency":"EUR","reference":"invoice 7"}"#).await;
    problem(&answer, 422, "unprocessable");
    assert_eq!(claims(&aws, QUEUE), before);
    assert_eq!(aws.queue(QUEUE).len(), 1);
}

#[tokio::test]
async fn twenty_at_once_under_one_key_are_one_payment() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    let answers = futures_util::future::join_all((0..20).map(|_| payments.pay("acme", "order-1", INVOICE_7))).await;
    for answer in &answers {
        assert_eq!(accepted(answer), ORDER_1);
    }
    assert_eq!(claims(&aws, QUEUE).iter().map(|claim| claim.writes).collect::<Vec<_>>(), [1]);
    assert!(aws.messages(QUEUE).iter().all(|message| message.attributes["message_id"] == ORDER_1));
}

#[tokio::test]
async fn two_different_payments_at_once_under_one_key_are_one_payment_and_a_422() {
    for _ in 0..10 {
        let aws = aws_with("acme");
        let payments = Payments::start(&aws, "acme", &[]).await;
        let other = r#"{"amount":"99.00","currency":"EUR","reference":"invoice 7"}"#;
        let (one, two) =
            tokio::join!(payments.pay("acme", "order-1", INVOICE_7), payments.pay("acme", "order-1", other));
        let mut statuses = [one.status.as_u16(), two.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [202, 422]);
        let amount = if one.status == 202 { "12.50" } else { "99.00" };
        assert_eq!(claims(&aws, QUEUE)[0].get("amount"), amount);
        assert!(aws.messages(QUEUE).iter().all(|message| message.body.contains(amount)));
    }
}

#[tokio::test]
async fn a_retry_after_a_failure_between_claim_and_event_completes_the_payment() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &["--request-timeout", "500ms"]).await;
    let down = aws.on(Op::SendMessageBatch).always().fail(Fault::AccessDenied);
    let failed = payments.pay("acme", "order-1", INVOICE_7).await;
    problem(&failed, 503, "unavailable");
    assert_eq!(failed.header("retry-after"), "1");
    assert_eq!((claims(&aws, QUEUE).len(), aws.queue(QUEUE).len()), (1, 0));
    down.lift();
    assert_eq!(accepted(&payments.pay("acme", "order-1", INVOICE_7).await), ORDER_1);
    assert_eq!(claims(&aws, QUEUE).iter().map(|claim| claim.writes).collect::<Vec<_>>(), [1]);
    assert_eq!(aws.queue(QUEUE).len(), 1);
}

#[tokio::test]
async fn a_claim_whose_answer_is_lost_is_still_this_request_s() {
    for lost in [Fault::CutAfter(Cut::Reset), Fault::CutAfter(Cut::Close), Fault::ReplyAfterWork(500, "{}".to_owned())]
    {
        let aws = aws_with("acme");
        let payments = Payments::start(&aws, "acme", &[]).await;
        let put = aws.on(Op::PutItem).nth(1).fail(lost.clone());
        assert_eq!(accepted(&payments.pay("acme", "order-1", INVOICE_7).await), ORDER_1, "{lost:?}");
        assert_eq!(put.hits(), 1);
        assert_eq!((claims(&aws, QUEUE).len(), aws.queue(QUEUE).len()), (1, 1), "{lost:?}");
    }
}

#[tokio::test]
async fn a_backend_that_does_not_hand_out_the_item_before_is_asked_for_it() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    payments.pay("acme", "order-1", INVOICE_7).await;
    let code = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
    aws.on(Op::PutItem).always().fail(Fault::Error(400, code, "The conditional request failed"));
    assert_eq!(accepted(&payments.pay("acme", "order-1", INVOICE_7).await), ORDER_1);
    let other = payments.pay("acme", "order-1", r#"{"amount":"1.00","currency":"EUR","reference":"invoice 7"}"#).await;
    problem(&other, 422, "unprocessable");
}

#[tokio::test]
async fn a_payment_is_forgotten_with_the_records_when_those_have_a_time_to_live() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &["--record-ttl-days", "30"]).await;
    payments.pay("acme", "order-1", INVOICE_7).await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let expires_at: u64 = claims(&aws, QUEUE)[0].get("expires_at").parse().unwrap();
    assert!((now + 30 * 86_400 - 60..=now + 30 * 86_400).contains(&expires_at), "{expires_at} at {now}");
}
