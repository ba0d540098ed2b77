//! Situations from the field, for payments: connections that die in silence while nobody pays.

use std::sync::Arc;
use std::time::Duration;

use tests::scripted::{Aws, Op, QueueSpec, Service as AwsService, TableSpec};
use tests::service::Service;
use tokio::task::JoinSet;

use super::{REQUEST_TIMEOUT, payments};

/// A table and a queue at two addresses, as in AWS, so that each has connections of its own.
struct Places {
    tables: Aws,
    queues: Aws,
}

impl Places {
    async fn with_payments() -> (Self, Service) {
        let (tables, queues) = (Aws::start(), Aws::start());
        queues.create_queue(QueueSpec::named("consumer-acme"));
        tables.set_parameter("/acme/consumer_sqs", &tables.queue_arn("consumer-acme"));
        let table = tables.create_table(TableSpec::named("consumer-acme"));
        tables.set_parameter("/acme/consumer_ddb", &table);
        let service = payments(&tables).set("AWS_ENDPOINT_URL_SQS", queues.endpoint()).start().await;
        (Self { tables, queues }, service)
    }

    /// Connections that are open get no answer any more, and no end either.
    fn silence_connections(&self) {
        self.tables.silence_connections();
        self.queues.silence_connections();
    }

    /// How many claims and how many sends there were.
    fn calls(&self) -> (u64, u64) {
        (self.tables.count(Op::PutItem), self.queues.count(Op::SendMessageBatch))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_whose_two_connections_have_died_in_silence_is_taken_within_its_time() {
    let (places, service) = Places::with_payments().await;
    assert_eq!(service.payment("acme", "key-1").await.status, 202);
    places.silence_connections();
    let answer = service.payment("acme", "key-2").await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert!(answer.took < REQUEST_TIMEOUT, "{:?}", answer.took);
    assert_eq!(places.calls(), (3, 2), "the call that found one dead took the other out of use");
    assert_eq!((places.tables.row_count("consumer-acme"), places.queues.queue("consumer-acme").len()), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_gap_in_which_all_connections_died_in_silence_a_payment_is_as_quick_as_ever() {
    let (places, service) = Places::with_payments().await;
    // Long enough for the calls of a burst to overlap, each over a connection of its own.
    places.tables.latency(AwsService::DynamoDb, Duration::from_secs(1));
    places.queues.latency(AwsService::Sqs, Duration::from_secs(1));
    let (service, mut burst) = (Arc::new(service), JoinSet::new());
    for n in 0..20 {
        let service = Arc::clone(&service);
        burst.spawn(async move { service.payment("acme", &format!("key-{n}")).await });
    }
    for answer in burst.join_all().await {
        assert_eq!(answer.status, 202, "{}", answer.text());
    }
    assert!(places.tables.connections_opened() > 5, "{} connections", places.tables.connections_opened());
    places.tables.latency(AwsService::DynamoDb, Duration::ZERO);
    places.queues.latency(AwsService::Sqs, Duration::ZERO);
    places.silence_connections();
    let (claims, sends) = places.calls();
    // Longer than the 15 s that a connection is kept that nobody uses.
    places.tables.holds_within(Duration::from_secs(18), |_| false).await;
    let answer = service.payment("acme", "after").await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert_eq!(places.calls(), (claims + 1, sends + 1), "no call went out on a dead connection");
    assert!(answer.took < Duration::from_secs(4), "{:?}", answer.took);
}
