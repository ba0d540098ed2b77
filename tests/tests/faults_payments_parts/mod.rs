//! Every call that payments makes, with every fault that it can meet; and two clients at once.

mod field;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tests::http::Answer;
use tests::matrix::{assert_honest, assert_in_time, each};
use tests::scripted::{Asked, Aws, Fault, Op};
use tests::service::{Kind, Launch, Service};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

fn payments(aws: &Aws) -> Launch {
    Launch::new(Kind::Payments, aws, "acme").set("RECORD_READS", "on")
}

/// The calls that taking a payment makes, the first time and when it is repeated, with every fault of each.
fn calls_and_faults() -> Vec<(Op, Fault)> {
    [Op::PutItem, Op::SendMessageBatch, Op::GetItem]
        .into_iter()
        .flat_map(|op| Fault::each_of(op).into_iter().map(move |fault| (op, fault)))
        .collect()
}

/// The ids of the payments whose events are in the queue.
fn events(aws: &Aws) -> BTreeSet<String> {
    aws.messages("consumer-acme").into_iter().map(|message| message.attributes["message_id"].clone()).collect()
}

fn payment_id(answer: &Answer) -> String {
    answer.json()["payment_id"].as_str().unwrap_or_default().to_owned()
}

/// Repeats a payment as a client does, as long as it is told to come back.
async fn repeated(service: &Service, key: &str) -> Answer {
    for _ in 0..15 {
        let answer = service.payment("acme", key).await;
        if answer.status != 503 {
            return answer;
        }
        assert_honest(&answer);
        tokio::time::sleep(Duration::from_secs(answer.header("retry-after").parse().unwrap_or(1))).await;
    }
    service.payment("acme", key).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_of_any_call_leaves_one_payment_for_one_key() {
    each(calls_and_faults(), |(op, fault)| async move {
        let aws = Aws::start();
        aws.provision("acme");
        let service = payments(&aws).start().await;
        let rule = aws.on(op).nth(1).fail(fault);
        if op == Op::GetItem {
            // Only a repeat looks for the record; and this one has to send what the first could not.
            aws.on(Op::SendMessageBatch).nth(1).fail(Fault::AccessDenied);
        }
        let first = service.payment("acme", "key-1").await;
        assert_in_time(&first, REQUEST_TIMEOUT);
        if first.status == 202 {
            assert_eq!(
                events(&aws),
                BTreeSet::from([payment_id(&first)]),
                "a 202 for an event that is not in the queue"
            );
        } else {
            assert_honest(&first);
        }
        let again = repeated(&service, "key-1").await;
        assert_eq!(again.status, 202, "the client's retry: {}", again.text());
        assert_eq!(events(&aws), BTreeSet::from([payment_id(&again)]));
        if first.status == 202 {
            assert_eq!(payment_id(&first), payment_id(&again));
        }
        let rows = aws.rows("consumer-acme");
        assert_eq!(rows.len(), 1, "one claim");
        assert_eq!((rows[0].sort.as_str(), rows[0].writes), (format!("payment#{}", payment_id(&again)).as_str(), 1));
        let other = json!({"amount": "13.00", "currency": "EUR", "reference": "order 1"}).to_string();
        let other = service
            .http
            .post(&format!("{}/payments", service.url), &[("tenantID", "acme"), ("Idempotency-Key", "key-1")], other)
            .await;
        assert_eq!(other.status, 422, "{}", other.text());
        assert_eq!(events(&aws).len(), 1);
        assert_eq!(rule.hits(), 1, "the fault was met");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_that_stays_is_503_in_time_and_passes_with_its_cause() {
    each(calls_and_faults(), |(op, fault)| async move {
        let aws = Aws::start();
        aws.provision("acme");
        // Less than one attempt of a call may take.
        let limit = Duration::from_secs(3);
        let service = payments(&aws).set("REQUEST_TIMEOUT", "3s").start().await;
        let rule = aws.on(op).fail(fault.clone());
        let first = service.payment("acme", "key-1").await;
        assert_in_time(&first, limit);
        if first.status == 202 {
            assert_eq!(events(&aws), BTreeSet::from([payment_id(&first)]));
        } else {
            assert_honest(&first);
        }
        if op == Op::GetItem {
            let second = service.payment("acme", "key-1").await;
            assert_in_time(&second, limit);
            if second.status == 202 {
                assert_eq!(payment_id(&second), payment_id(&first));
            } else {
                assert_honest(&second);
            }
        }
        assert!(rule.hits() >= 1, "the fault was met");
        rule.lift();
        let again = repeated(&service, "key-1").await;
        assert_eq!(again.status, 202, "{}", again.text());
        assert_eq!(events(&aws), BTreeSet::from([payment_id(&again)]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_is_read_is_the_one_that_was_stored_or_503() {
    each(Fault::each_of(Op::GetItem), |fault| async move {
        let aws = Aws::start();
        aws.provision("acme");
        let service = payments(&aws).start().await;
        let id = payment_id(&service.payment("acme", "key-1").await);
        let created_at = aws.rows("consumer-acme")[0].get("created_at").to_owned();
        let stored = json!({
            "tenant_id": "acme", "payment_id": id, "state": "requested", "amount": "12.50", "currency": "EUR",
            "reference": "order 1", "created_at": created_at,
        });
        let url = format!("{}/payments/{id}", service.url);
        // A read asks for the claim and for the record.
        for (what, key) in [("the claim", format!("\"payment#{id}\"")), ("the record", format!("\"{id}\""))] {
            let asks = move |asked: &Asked<'_>| String::from_utf8_lossy(asked.body).contains(&key);
            let rule = aws.on(Op::GetItem).when(asks).nth(1).fail(fault.clone());
            let answer = service.http.get(&url, &[("tenantID", "acme")]).await;
            assert_in_time(&answer, REQUEST_TIMEOUT);
            if answer.status == 200 {
                assert_eq!(answer.json(), stored, "{what} under a fault");
            } else {
                assert_eq!(answer.status, 503, "{what}: {}", answer.text());
                assert_honest(&answer);
            }
            assert_eq!(rule.hits(), 1, "{what} was asked for");
            let answer = service.http.get(&url, &[("tenantID", "acme")]).await;
            assert_eq!((answer.status.as_u16(), answer.json()), (200, stored.clone()));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_at_once_under_one_key_are_one_payment() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = payments(&aws).start().await;
    aws.latency(tests::scripted::Service::DynamoDb, Duration::from_millis(100));
    let (one, two) = tokio::join!(service.payment("acme", "key-1"), service.payment("acme", "key-1"));
    assert_eq!((one.status.as_u16(), two.status.as_u16()), (202, 202), "{} {}", one.text(), two.text());
    assert_eq!(payment_id(&one), payment_id(&two));
    assert_eq!(events(&aws), BTreeSet::from([payment_id(&one)]));
    assert_eq!(aws.row_count("consumer-acme"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_the_table_s_claims_nothing_and_hides_no_payment() {
    let error = r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}"#;
    each(vec![(200, ""), (204, ""), (200, "[]"), (200, error)], |(status, body): (u16, &'static str)| async move {
        let aws = Aws::start();
        aws.provision("acme");
        let service = payments(&aws).start().await;
        let fault = Fault::Reply(status, body.to_owned());
        let rule = aws.on(Op::PutItem).fail(fault.clone());
        let answer = service.payment("acme", "key-1").await;
        assert_eq!((answer.status.as_u16(), events(&aws).len()), (503, 0), "{fault:?}: {}", answer.text());
        assert_honest(&answer);
        rule.lift();
        let id = payment_id(&repeated(&service, "key-1").await);
        assert_eq!(events(&aws), BTreeSet::from([id.clone()]), "{fault:?}");
        let rule = aws.on(Op::GetItem).fail(fault.clone());
        let url = format!("{}/payments/{id}", service.url);
        let answer = service.http.get(&url, &[("tenantID", "acme")]).await;
        assert_eq!(answer.status, 503, "{fault:?}: {}", answer.text());
        rule.lift();
        assert_eq!(service.http.get(&url, &[("tenantID", "acme")]).await.status, 200, "{fault:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_claim_whose_answer_shows_too_little_of_the_other_is_compared_with_what_is_stored() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = payments(&aws).start().await;
    let first = service.payment("acme", "key-1").await;
    let refused = |item: &str| {
        let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
        Fault::Reply(400, format!(r#"{{"__type":"{kind}","message":"The conditional request failed","Item":{item}}}"#))
    };
    for item in ["{}", r#"{"tenant_id":{"S":"acme"}}"#] {
        let rule = aws.on(Op::PutItem).nth(1).fail(refused(item));
        let again = service.payment("acme", "key-1").await;
        assert_eq!((again.status.as_u16(), rule.hits()), (202, 1), "{item}: {}", again.text());
        assert_eq!(payment_id(&again), payment_id(&first), "{item}");
    }
    assert_eq!(aws.row_count("consumer-acme"), 1);
}
