//! Every call that a service makes is one that meets every fault.

use std::collections::BTreeSet;

use tests::matrix::calls_of;
use tests::scripted::{Aws, Fault, Op};
use tests::service::{Kind, Launch, Service};

use super::{DEAD, TABLE, acme, launch};

/// Two AWSs: one where all is as it should be, one where roles have as little as older policies give them.
fn both() -> [Aws; 2] {
    let older = acme();
    older.on(Op::GetParameters).fail(Fault::AccessDenied);
    older.on(Op::BatchWriteItem).fail(Fault::AccessDenied);
    [acme(), older]
}

fn calls(aws: &[Aws; 2]) -> BTreeSet<&'static str> {
    Op::ALL.iter().filter(|op| aws.iter().any(|aws| aws.count(**op) > 0)).map(|op| op.name()).collect()
}

fn with_session(kind: Kind, aws: &Aws, container: bool) -> Launch {
    let file = std::env::temp_dir().join(format!("token-of-{}-{}", kind.name(), std::process::id()));
    std::fs::write(&file, "token").expect("a file in the folder for temporary files");
    let (path, keyless) = (file.to_str().expect("a path that is text"), launch(kind, aws));
    let keyless = keyless.unset("AWS_ACCESS_KEY_ID").unset("AWS_SECRET_ACCESS_KEY");
    if container {
        return keyless
            .set("AWS_CONTAINER_CREDENTIALS_FULL_URI", &aws.container_credentials_uri())
            .set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path);
    }
    keyless.set("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/a-role").set("AWS_WEB_IDENTITY_TOKEN_FILE", path)
}

/// Everything that the service does: what a client asks of it, and what a queue brings.
async fn use_all_of(service: &Service, aws: &Aws) {
    match service.kind {
        Kind::Producer => {
            assert_eq!(service.event("acme", "{}").await.status, 200);
            let url = format!("{}/producer/batch", service.url);
            assert_eq!(service.http.post(&url, &[("tenantID", "acme")], "[1,2]").await.status, 200);
        }
        Kind::Consumer => {
            aws.put_message(super::QUEUE, "{}", &[("tenant_id", "acme")]);
            aws.put_message(super::QUEUE, "nobody's", &[]);
            aws.wait_until("the record, the dead letter and a look at the queue's depth", |aws| {
                aws.row_count(TABLE) == 1
                    && aws.count(Op::GetQueueAttributes) > 0
                    && aws.count(Op::ChangeMessageVisibilityBatch) > 0
                    && aws.count(Op::DeleteMessageBatch) > 0
            })
            .await;
            let url = format!("{}/consumer/messages", service.url);
            assert_eq!(service.http.get(&url, &[("tenantID", "acme")]).await.status, 200);
        }
        Kind::Payments => {
            let answer = service.payment("acme", "key-1").await;
            assert_eq!(answer.status, 202);
            let url = format!("{}/payments/{}", service.url, answer.json()["payment_id"].as_str().unwrap_or_default());
            assert_eq!(service.http.get(&url, &[("tenantID", "acme")]).await.status, 200);
            assert_eq!(service.payment("acme", "key-1").await.status, 202);
        }
    }
    let url = format!("{}/{}", service.url, service.kind.name());
    assert_eq!(service.http.get(&url, &[("tenantID", "acme")]).await.status, 200);
    assert!(aws.queue(DEAD).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_that_a_service_makes_is_in_the_matrix_and_no_other() {
    for kind in [Kind::Producer, Kind::Consumer, Kind::Payments] {
        let aws = both();
        for (at, aws) in aws.iter().enumerate() {
            let launch = with_session(kind, aws, at == 1);
            let launch = if kind == Kind::Producer { launch } else { launch.set("RECORD_READS", "on") };
            let service = launch.start().await;
            use_all_of(&service, aws).await;
        }
        let expected: BTreeSet<&str> = calls_of(kind).iter().map(|op| op.name()).collect();
        assert_eq!(calls(&aws), expected, "{kind:?}");
    }
}
