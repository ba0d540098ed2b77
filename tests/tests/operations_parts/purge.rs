//! `consumer purge`: one tenant's partition, and nobody else's.

use std::time::{Duration, Instant};

use tests::command::{begin, run};
use tests::http::Http;
use tests::matrix::each;
use tests::scripted::{Aws, Cut, Fault, Op, Which};

use super::{consumer, operator};

const POOL_TABLE: &str = "consumer-pool-1";
const PURGE: &[&str] = &["purge", "--tenant", "acme", "--yes-delete", "acme", "--rate", "10000/s"];

/// A pool in whose table several tenants have records; ids share beginnings. `acme` has left.
async fn pool(records: usize) -> Aws {
    let aws = Aws::start();
    aws.provision("pool-1");
    for neighbour in ["acm", "acme-2", "acme2", "b"] {
        fill(&aws, POOL_TABLE, neighbour, 3).await;
    }
    fill(&aws, POOL_TABLE, "acme", records).await;
    aws
}

/// Writes records of a tenant, every tenth with a payment's claim beside it.
pub(crate) async fn fill(aws: &Aws, table: &str, tenant: &str, records: usize) {
    let mut keys: Vec<String> = (0..records).map(|n| format!("m-{n:04}")).collect();
    keys.extend((0..records).step_by(10).map(|n| format!("payment#m-{n:04}")));
    for key in keys {
        put(aws, table, tenant, &key).await;
    }
}

async fn put(aws: &Aws, table: &str, tenant: &str, key: &str) {
    let item = serde_json::json!({"tenant_id": {"S": tenant}, "message_id": {"S": key}, "body": {"S": "{}"}});
    let target = [("x-amz-target", "DynamoDB_20120810.PutItem"), ("content-type", "application/x-amz-json-1.0")];
    let body = serde_json::json!({"TableName": table, "Item": item}).to_string();
    assert_eq!(Http::new().post(aws.endpoint(), &target, body).await.status, 200);
}

fn count(aws: &Aws, tenant: &str) -> usize {
    aws.rows(POOL_TABLE).iter().filter(|row| row.partition == tenant).count()
}

fn assert_neighbours_are_whole(aws: &Aws) {
    for neighbour in ["acm", "acme-2", "acme2", "b"] {
        assert_eq!(count(aws, neighbour), 4, "{neighbour}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_records_and_claims_of_one_tenant_are_deleted_and_no_other_s() {
    let aws = pool(230).await;
    let ended = run(&operator(&aws, "pool-1"), &["purge", "--tenant", "acme", "--dry-run"]).await;
    let table = "arn:aws:dynamodb:eu-central-1:123456789012:table/consumer-pool-1";
    assert_eq!(
        (ended.code, ended.out),
        (Some(0), format!("would delete 230 records and 23 payment claims of acme from {table}\n"))
    );
    assert_eq!((count(&aws, "acme"), aws.count(Op::BatchWriteItem)), (253, 0));
    let ended = consumer(&aws, "pool-1", PURGE).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(
        ended.out.starts_with(&format!("deleted 230 records and 23 payment claims of acme from {table} in ")),
        "{}",
        ended.out
    );
    assert_eq!(count(&aws, "acme"), 0);
    assert_neighbours_are_whole(&aws);
    for call in aws.calls(Op::Query) {
        let body = call.json();
        assert_eq!(body["ExpressionAttributeValues"][":tenant"]["S"], "acme");
        assert!(
            body["FilterExpression"].is_null() && body["ProjectionExpression"].is_string(),
            "keys are all it reads"
        );
    }
    for entry in aws.calls(Op::BatchWriteItem).iter().flat_map(tests::scripted::Call::entries) {
        assert_eq!(entry["DeleteRequest"]["Key"]["tenant_id"]["S"], "acme");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_answer_says_never_leads_to_another_tenant_s_record() {
    let aws = pool(1).await;
    // A table, or somebody in between, that answers with a neighbour's keys.
    let stolen = r#"{"Items":[{"tenant_id":{"S":"acme-2"},"message_id":{"S":"m-0000"}}],"Count":1,"ScannedCount":1}"#;
    aws.on(Op::Query).nth(1).answer(stolen);
    assert_eq!(consumer(&aws, "pool-1", PURGE).await.code, Some(1), "a claim is left");
    assert_neighbours_are_whole(&aws);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_is_still_registered_is_not_purged() {
    let aws = pool(3).await;
    aws.register("acme", "pool-1");
    let ended = consumer(&aws, "pool-1", PURGE).await;
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.err.contains("acme is still registered (/acme/consumer_sqs is ")
            && ended.err.contains("Offboard it first"),
        "{}",
        ended.err
    );
    aws.provision("acme");
    let ended = consumer(&aws, "pool-1", PURGE).await;
    assert!(
        ended.err.contains("elsewhere than pool-1. If its records have moved there, --force deletes"),
        "{}",
        ended.err
    );
    assert_eq!((count(&aws, "acme"), aws.count(Op::BatchWriteItem)), (4, 0));
    let ended = consumer(&aws, "pool-1", &[PURGE, &["--force"]].concat()).await;
    assert_eq!((ended.code, count(&aws, "acme")), (Some(0), 0), "{}", ended.err);
    assert_neighbours_are_whole(&aws);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_deleted_before_the_id_is_typed() {
    let aws = pool(3).await;
    for typed in ["", "\n", "yes\n", "acm\n", "ACME\n", "acme-2\n"] {
        let ended = begin(&operator(&aws, "pool-1"), &["purge", "--tenant", "acme"], typed).await.ended().await;
        assert_eq!(ended.code, Some(2), "{typed:?}");
        assert!(
            ended.err.contains("This deletes every record and payment claim of acme in arn:aws:dynamodb:"),
            "{}",
            ended.err
        );
        assert!(
            ended.err.ends_with("nothing was deleted: that was not acme (without a terminal: --yes-delete acme)\n")
        );
        assert_eq!(count(&aws, "acme"), 4);
    }
    let ended = begin(&operator(&aws, "pool-1"), &["purge", "--tenant", "acme"], "acme\n").await.ended().await;
    assert_eq!((ended.code, count(&aws, "acme")), (Some(0), 0), "{}", ended.err);
}

/// Successes that do not say what is stored, or what is left over.
fn answers_that_say_nothing() -> Vec<(Op, Fault)> {
    let error = r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}"#;
    let each = [(200, ""), (204, ""), (200, "{}"), (200, error)];
    let both = [Op::Query, Op::BatchWriteItem].into_iter();
    both.flat_map(|op| each.map(|(status, body)| (op, Fault::Reply(status, body.to_owned())))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_says_nothing_is_never_taken_for_an_empty_partition_or_for_a_delete() {
    each(answers_that_say_nothing(), |(op, fault): (Op, Fault)| async move {
        let aws = pool(3).await;
        aws.on(op).fail(fault.clone());
        let ended = consumer(&aws, "pool-1", PURGE).await;
        assert_eq!((ended.code, count(&aws, "acme")), (Some(1), 4), "{op:?} {fault:?}: {}{}", ended.out, ended.err);
        assert!(ended.out.starts_with("deleted 0 records and 0 payment claims "), "{op:?} {fault:?}: {}", ended.out);
        let said = "got no good answer: try again: the answer leaves it open which records are stored";
        assert!(ended.err.contains(said), "{op:?} {fault:?}: {}", ended.err);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_that_ssm_does_not_speak_of_is_not_taken_for_none() {
    let other =
        r#"{"Parameters":[{"Name":"/acm/consumer_sqs","Value":"x"}],"InvalidParameters":["/acm/consumer_sqs"]}"#;
    each(vec![r#"{"Parameters":[],"InvalidParameters":[]}"#, other], |answer: &'static str| async move {
        let aws = pool(3).await;
        aws.register("acme", "pool-1");
        let rule = aws.on(Op::GetParameters).for_parameter("/acme/consumer_sqs").answer(answer);
        let ended = consumer(&aws, "pool-1", PURGE).await;
        assert_eq!((ended.code, count(&aws, "acme"), aws.count(Op::BatchWriteItem)), (Some(1), 4, 0), "{}", ended.out);
        assert!(ended.err.contains("/acme/consumer_sqs got no good answer: try again"), "{}", ended.err);
        assert!(rule.hits() > 1, "and it was asked again");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_misbehaves_for_a_while_is_emptied_all_the_same() {
    let mut faults: Vec<(Op, Fault)> = [Op::Query, Op::BatchWriteItem]
        .into_iter()
        .flat_map(|op| {
            let each = [
                Fault::Throttled,
                Fault::ThrottledOtherwise,
                Fault::InternalError,
                Fault::CutBefore(Cut::Reset),
                Fault::CutAfter(Cut::Reset),
            ];
            each.into_iter().map(move |fault| (op, fault))
        })
        .collect();
    for (op, fault) in answers_that_say_nothing() {
        faults.push((op, fault));
    }
    faults.push((Op::BatchWriteItem, Fault::Unprocessed(Which::First(7))));
    faults.push((Op::BatchWriteItem, Fault::Unprocessed(Which::All)));
    each(faults, |(op, fault): (Op, Fault)| async move {
        let aws = pool(60).await;
        aws.on(op).times(2).fail(fault.clone());
        let ended = consumer(&aws, "pool-1", PURGE).await;
        assert_eq!(ended.code, Some(0), "{op:?} {fault:?}: {}", ended.err);
        assert!(ended.out.starts_with("deleted 60 records and 6 payment claims "), "{op:?} {fault:?}: {}", ended.out);
        assert_eq!(count(&aws, "acme"), 0, "{op:?} {fault:?}");
        assert_neighbours_are_whole(&aws);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_halfway_it_goes_on_where_it_was() {
    let aws = pool(200).await;
    let slow = ["purge", "--tenant", "acme", "--yes-delete", "acme", "--rate", "50/s"];
    let start = Instant::now();
    let running = begin(&operator(&aws, "pool-1"), &slow, "").await;
    aws.wait_until("two deletes", |aws| aws.count(Op::BatchWriteItem) >= 2).await;
    assert!(start.elapsed() >= Duration::from_millis(500), "25 of 50 a second: {:?}", start.elapsed());
    running.signal("INT").await;
    let ended = running.ended().await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.ends_with("interrupted: run it again for the rest\n"), "{}", ended.err);
    let left = count(&aws, "acme");
    assert!((1..=170).contains(&left), "{left}");
    let ended = consumer(&aws, "pool-1", PURGE).await;
    assert_eq!((ended.code, count(&aws, "acme")), (Some(0), 0), "{}", ended.err);
    assert_neighbours_are_whole(&aws);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_arrive_meanwhile_are_noticed() {
    let aws = pool(30).await;
    aws.on(Op::BatchWriteItem).nth(2).fail(Fault::Late(Duration::from_millis(700)));
    let running = begin(&operator(&aws, "pool-1"), PURGE, "").await;
    aws.wait_until("the last delete", |aws| aws.count(Op::BatchWriteItem) >= 2).await;
    put(&aws, POOL_TABLE, "acme", "a-late-one").await;
    let ended = running.ended().await;
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.err, "records of acme arrived meanwhile: let the queue drain, then run it again\n");
    assert_eq!(count(&aws, "acme"), 1);
}
