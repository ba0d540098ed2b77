//! A payment's trace: its claim and the look for its record have spans of their own.

use tests::collector::{Collector, Manner, Seen};
use tests::scripted::{Fault, Op};
use tests::service::{Kind, Service};

use super::{CALLER, TABLE, TRACE, TRACEPARENT, acme, traced};

const BODY: &str = "{\"amount\":\"12.50\",\"currency\":\"EUR\",\"reference\":\"order-1\"}";

async fn pay(payments: &Service) -> tests::http::Answer {
    let headers = [("tenantID", "acme"), ("traceparent", TRACEPARENT), ("Idempotency-Key", "pay-1")];
    payments.http.post(&format!("{}/payments", payments.url), &headers, BODY).await
}

/// The spans of a name, once there are so many.
async fn spans(collector: &Collector, name: &str, count: usize) -> Vec<Seen> {
    let of = |own: &Collector| own.spans().into_iter().filter(|span| span.name == name).collect::<Vec<Seen>>();
    collector.until(&format!("{count} of {name}"), |own| of(own).len() >= count).await;
    let found = of(collector);
    assert_eq!(found.len(), count, "{found:#?}");
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_claim_and_the_look_for_the_record_stand_below_the_request() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    let payments = traced(Kind::Payments, &aws, &collector).set("RECORD_READS", "on").start().await;
    let answer = pay(&payments).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let id = answer.json()["payment_id"].as_str().unwrap().to_owned();

    let server = collector.span("POST /payments").await;
    assert_eq!((server.kind, server.trace.as_str(), server.parent.as_str()), ("SERVER", TRACE, CALLER));
    let claim = spans(&collector, "PutItem consumer-acme", 1).await.remove(0);
    assert_eq!((claim.kind, &claim.trace, &claim.parent), ("CLIENT", &server.trace, &server.id));
    for (name, value) in [
        ("db.system.name", "aws.dynamodb"),
        ("db.operation.name", "PutItem"),
        ("db.collection.name", TABLE),
        ("tenant_plane.tenant_id", "acme"),
        ("tenant_plane.message_id", &id),
    ] {
        assert_eq!(claim.get(name), value, "{name}");
    }
    let create = collector.span("create consumer-acme").await;
    assert_eq!((&create.parent, create.get("tenant_plane.message_id")), (&server.id, id.as_str()));
    assert!(server.time.0 <= claim.time.0 && claim.time.1 <= create.time.0, "the claim comes before its event");

    // The same once more: the claim is there, which is no failure, and its record is looked for before the event is sent again.
    assert_eq!(pay(&payments).await.status, 202);
    let again = spans(&collector, "PutItem consumer-acme", 2).await.remove(1);
    let look = spans(&collector, "GetItem consumer-acme", 1).await.remove(0);
    let server = spans(&collector, "POST /payments", 2).await.remove(1);
    assert_eq!((&again.parent, &look.parent), (&server.id, &server.id));
    assert!(!again.failed && !look.failed);

    let headers = [("tenantID", "acme"), ("traceparent", TRACEPARENT)];
    let shown = payments.http.get(&format!("{}/payments/{id}", payments.url), &headers).await;
    assert_eq!(shown.status, 200, "{}", shown.text());
    let server = collector.span("GET /payments/{payment_id}").await;
    let looks = spans(&collector, "GetItem consumer-acme", 3).await;
    assert_eq!(looks.iter().filter(|span| span.parent == server.id).count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_fails_says_so_in_its_span() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    aws.on(Op::PutItem).always().fail(Fault::AccessDenied);
    let payments = traced(Kind::Payments, &aws, &collector).start().await;
    assert_eq!(pay(&payments).await.status, 503);
    let claim = spans(&collector, "PutItem consumer-acme", 1).await.remove(0);
    assert_eq!((claim.failed, claim.get("error.type")), (true, "denied"));
    assert!(collector.span("POST /payments").await.failed);
    assert!(!collector.spans().iter().any(|span| span.name.starts_with("create")));
}
