//! What lies between the consumer and AWS: connections that die in silence, words that are not AWS's, one tenant among others.

use std::time::{Duration, Instant};

use tests::scripted::{Aws, Fault, Op, QueueSpec, Service as AwsService, TableSpec, Which};
use tests::service::{Kind, Launch};

use super::{DEAD, QUEUE, TABLE, acme, consumer, put, put_many};

#[tokio::test(flavor = "multi_thread")]
async fn a_table_whose_connections_all_died_in_silence_costs_one_time_limit_and_not_one_a_connection() {
    let (queues, tables) = (acme(10), Aws::start());
    tables.create_table(TableSpec::named(TABLE));
    tables.latency(AwsService::DynamoDb, Duration::from_millis(500));
    // Writes that take 500 ms overlap, each over a connection of its own.
    let events = put_many(&queues, 200);
    let _service = consumer(&queues)
        .set("AWS_ENDPOINT_URL_DYNAMODB", tables.endpoint())
        .set("VISIBILITY_TIMEOUT", "30s")
        .start()
        .await;
    queues.wait_until("all to be drained", |aws| aws.queue(QUEUE).is_empty()).await;
    assert_eq!(tables.row_count(TABLE), events.len());
    let connections = tables.connections_opened();
    assert!(connections > 3, "{connections} connections");
    tables.latency(AwsService::DynamoDb, Duration::ZERO);
    tables.silence_connections();
    put(&queues, "after", "1");
    let began = Instant::now();
    queues.wait_until("the next one to be drained", |aws| aws.queue(QUEUE).is_empty()).await;
    // A write may take 4 s before its connection counts as dead. On a second dead one it would have had 8 s more.
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    assert_eq!(tables.row_count(TABLE), events.len() + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_the_table_refuses_is_logged_in_the_table_s_words_and_a_gateway_s_word_refuses_none() {
    // Whatever comes a second time ends as a dead letter.
    let aws = acme(1);
    let events = put_many(&aws, 5);
    put(&aws, "bad", "{\"secret\":1}");
    let words = "One or more parameter values were invalid: scripted";
    aws.on(Op::BatchWriteItem).times(6).fail(Fault::Error(404, "NotFound", "there is no such page"));
    let refused = |asked: &tests::scripted::Asked<'_>| asked.body.windows(5).any(|part| part == b"\"bad\"");
    aws.on(Op::BatchWriteItem).when(refused).fail(Fault::Error(400, "ValidationException", words));
    let service = consumer(&aws).set("VISIBILITY_TIMEOUT", "30s").start().await;
    aws.wait_until("the end of all", |aws| aws.queue(QUEUE).is_empty()).await;
    assert_eq!(aws.row_count(TABLE), events.len(), "stored on the first receive, after six answers of a gateway");
    let about = |line: &str| line.contains("cannot be stored");
    let line = service.process.line("about the bad one", about).await;
    assert!(line.contains("\"code\":\"ValidationException\"") && line.contains(words), "{line}");
    assert!(!line.contains("secret"), "{line}");
    assert_eq!(aws.queue(DEAD).len(), 1);
    assert_eq!(aws.messages(DEAD)[0].attributes["message_id"], "bad");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_of_a_pool_whose_partition_has_no_room_does_not_keep_the_others_waiting() {
    let aws = Aws::start();
    let (queue, table) = (aws.create_queue(QueueSpec::named("pool")), aws.create_table(TableSpec::named("pool")));
    aws.set_parameter("/pool-1/consumer_sqs", &queue);
    aws.set_parameter("/pool-1/consumer_ddb", &table);
    let put = |tenant: &str, n: usize| {
        aws.put_message("pool", "{}", &[("tenant_id", tenant), ("message_id", &format!("{tenant}-{n}"))]);
    };
    (0..10).for_each(|n| put("hot", n));
    let hot = aws.on(Op::BatchWriteItem).fail(Fault::Unprocessed(Which::Containing("hot-".to_owned())));
    let _service = Launch::new(Kind::Consumer, &aws, "pool-1").set("SHUTDOWN_TIMEOUT", "5s").start().await;
    aws.wait_until("five writes that leave everything over", |_| hot.hits() >= 5).await;
    for n in 0..3 {
        put("cold", n);
        aws.wait_until("the record of another tenant", |aws| aws.row_count("pool") == n + 1).await;
    }
    hot.lift();
    aws.wait_until("all to be drained", |aws| aws.queue("pool").is_empty()).await;
    assert_eq!(aws.row_count("pool"), 13);
}
