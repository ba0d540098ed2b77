//! Where AWS is: regions, partitions, endpoints, and never the metadata service.

use std::time::{Duration, Instant};

use tests::scripted::{Aws, Op, QueueSpec, TableSpec};
use tests::service::{Kind, Launch};

use super::{KINDS, TokenFile, with_pod_identity, with_web_identity};

/// How a service is given an identity.
type Identity = fn(Kind, &Aws, &TokenFile) -> Launch;

#[tokio::test(flavor = "multi_thread")]
async fn without_a_region_each_service_ends_at_once_and_names_it() {
    let aws = Aws::start();
    for kind in KINDS {
        let start = Instant::now();
        let mut process = Launch::new(kind, &aws, "acme").unset("AWS_REGION").process();
        let (code, _) = process.ended().await;
        assert_eq!(code, Some(2));
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        let line = process.line("what is missing", |line| line.contains("AWS_REGION")).await;
        assert!(line.starts_with(kind.name()), "{line}");
    }
    assert!(aws.all_calls().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_region_and_an_identity_the_metadata_service_is_never_asked() {
    let (web, pod): (Identity, Identity) = (with_web_identity, with_pod_identity);
    for (kind, identity) in KINDS.into_iter().flat_map(|kind| [(kind, web), (kind, pod)]) {
        let (aws, token) = (Aws::start(), TokenFile::new("token"));
        aws.provision("acme");
        aws.only_sessions();
        // A metadata service that was asked would cost a second or more, each time. A busy machine may, now and then.
        let mut quickest = Duration::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            let service = identity(kind, &aws, &token)
                .set("AWS_EC2_METADATA_DISABLED", "false")
                .set("AWS_EC2_METADATA_SERVICE_ENDPOINT", aws.endpoint())
                .start()
                .await;
            quickest = quickest.min(start.elapsed());
            drop(service);
            if quickest < Duration::from_secs(1) {
                break;
            }
        }
        assert!(quickest < Duration::from_secs(1), "{kind:?} is ready after {quickest:?}");
        assert_eq!(aws.count(Op::Metadata), 0, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_service_honours_the_shared_endpoint_and_a_service_s_own() {
    // What goes to the wrong one is a call to something that is not there.
    let (shared, own) = (Aws::start(), Aws::start());
    own.create_queue(QueueSpec::named("consumer-acme"));
    shared.set_parameter("/acme/consumer_sqs", &shared.queue_arn("consumer-acme"));
    let table = shared.create_table(TableSpec::named("consumer-acme"));
    shared.set_parameter("/acme/consumer_ddb", &table);
    let at_both = |kind| Launch::new(kind, &shared, "acme").set("AWS_ENDPOINT_URL_SQS", own.endpoint());
    let producer = at_both(Kind::Producer).start().await;
    let payments = at_both(Kind::Payments).start().await;
    assert_eq!(producer.event("acme", "{}").await.status, 200);
    assert_eq!(payments.payment("acme", "key").await.status, 202);
    let _consumer = at_both(Kind::Consumer).set("SHUTDOWN_TIMEOUT", "5s").start().await;
    shared.wait_until("both records and the claim", |aws| aws.row_count("consumer-acme") == 3).await;
    own.wait_until("an empty queue", |aws| aws.queue("consumer-acme").is_empty()).await;
    let urls: Vec<String> = own
        .calls(Op::SendMessageBatch)
        .iter()
        .map(|call| call.json()["QueueUrl"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert!(urls.iter().all(|url| *url == own.queue_url("consumer-acme")), "{urls:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_arn_of_another_partition_works_and_one_of_another_region_is_refused_by_name() {
    for (partition, region) in [("aws-cn", "cn-north-1"), ("aws-us-gov", "us-gov-west-1")] {
        let aws = Aws::builder().region(region).start();
        aws.create_queue(QueueSpec::named("consumer-acme"));
        aws.set_parameter("/acme/consumer_sqs", &format!("arn:{partition}:sqs:{region}:123456789012:consumer-acme"));
        let service = Launch::new(Kind::Producer, &aws, "acme").start().await;
        assert_eq!(service.event("acme", "{}").await.status, 200);
        assert_eq!(aws.queue("consumer-acme").len(), 1);
    }
    for value in [
        "arn:aws:sqs:us-east-1:123456789012:consumer-acme",
        "https://sqs.eu-central-1.amazonaws.com/123456789012/q",
        "",
        "arn:aws:sqs",
    ] {
        let aws = Aws::start();
        aws.provision("acme");
        aws.set_parameter("/acme/consumer_sqs", value);
        let service = Launch::new(Kind::Producer, &aws, "acme").listening().await;
        service.process.line("the parameter", |line| line.contains("/acme/consumer_sqs")).await;
        assert!(!service.is_ready().await);
        assert_eq!(service.event("acme", "{}").await.status, 503);
        aws.set_parameter("/acme/consumer_sqs", &aws.queue_arn("consumer-acme"));
        service.until_ready().await;
    }
}
