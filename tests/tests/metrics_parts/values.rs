//! The numbers themselves, where an operator would look.

use std::time::{Duration, Instant};

use tests::scripted::{Aws, Cut, Fault, Op};
use tests::service::{Kind, Launch, Service};

use super::{DEAD, QUEUE, TABLE, acme};

/// The value of a series, its labels in the order they are shown.
async fn value(service: &Service, series: &str) -> Option<f64> {
    let scrape = service.metrics().await;
    scrape.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

/// Waits until a series has a value that is right.
async fn until(service: &Service, series: &str, right: impl Fn(f64) -> bool) {
    let began = Instant::now();
    let mut last = None;
    while began.elapsed() < Duration::from_secs(60) {
        last = value(service, series).await;
        if last.is_some_and(&right) {
            return;
        }
        // A scrape's period: a gauge has no other sign than its value.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{series} is {last:?}\n{}", service.metrics().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_to_aws_are_counted_by_what_came_of_them() {
    let aws = acme();
    let producer = Launch::new(Kind::Producer, &aws, "acme").start().await;
    let calls = |result: &str| format!("aws_calls_total{{operation=\"SendMessageBatch\",result=\"{result}\"}}");
    assert_eq!(value(&producer, &calls("throttled")).await, Some(0.0), "a counter is there before it counts");
    aws.on(Op::SendMessageBatch).nth(1).fail(Fault::Throttled);
    assert_eq!(producer.event("acme", "{}").await.status, 200);
    assert_eq!(value(&producer, &calls("throttled")).await, Some(1.0));
    assert_eq!(value(&producer, &calls("ok")).await, Some(1.0));
    assert_eq!(value(&producer, "publisher_retries_total").await, Some(1.0));
    assert_eq!(value(&producer, "aws_call_duration_seconds_count{operation=\"SendMessageBatch\"}").await, Some(2.0));
    let answered =
        "http_requests_total{service=\"producer\",route=\"/producer\",method=\"POST\",status=\"200\",problem=\"none\"}";
    assert_eq!(value(&producer, answered).await, Some(1.0));
    assert_eq!(value(&producer, "publisher_lane_messages").await, Some(0.0));
    assert_eq!(value(&producer, "publisher_lanes").await, Some(1.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_ends_and_credentials_that_cannot_be_had_are_counted_apart() {
    let aws = acme();
    let producer = Launch::new(Kind::Producer, &aws, "acme").start().await;
    let calls = |result: &str| format!("aws_calls_total{{operation=\"SendMessageBatch\",result=\"{result}\"}}");
    aws.on(Op::SendMessageBatch).nth(1).fail(Fault::CutBefore(Cut::Close));
    assert_eq!(producer.event("acme", "{}").await.status, 200);
    assert_eq!(value(&producer, &calls("no_credentials")).await, Some(0.0));
    assert_eq!(value(&producer, &calls("transient")).await, Some(1.0));

    let stranger = Launch::new(Kind::Producer, &aws, "acme")
        .unset("AWS_ACCESS_KEY_ID")
        .unset("AWS_SECRET_ACCESS_KEY")
        .set("AWS_CONTAINER_CREDENTIALS_FULL_URI", &aws.container_credentials_uri());
    aws.on(Op::ContainerCredentials).always().fail(Fault::AccessDenied);
    let stranger = stranger.listening().await;
    until(&stranger, "aws_calls_total{operation=\"GetParameters\",result=\"no_credentials\"}", |calls| calls > 0.0)
        .await;
    assert_eq!(value(&stranger, "aws_calls_total{operation=\"GetParameters\",result=\"transient\"}").await, Some(0.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_failed_is_no_failed_call() {
    let aws = acme();
    let payments = Launch::new(Kind::Payments, &aws, "acme").start().await;
    for _ in 0..2 {
        assert_eq!(payments.payment("acme", "key-1").await.status, 202);
    }
    let calls = |result: &str| format!("aws_calls_total{{operation=\"PutItem\",result=\"{result}\"}}");
    assert_eq!(value(&payments, &calls("ok")).await, Some(1.0));
    assert_eq!(value(&payments, &calls("condition_failed")).await, Some(1.0));
    assert_eq!(value(&payments, &calls("refused")).await, Some(0.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_written_goes_on_ageing_and_receiving_shows_as_paused() {
    let aws = acme();
    aws.on(Op::BatchWriteItem).always().fail(Fault::InternalError);
    aws.put_message(QUEUE, "{}", &[("tenant_id", "acme"), ("message_id", "m-1")]);
    let consumer = Launch::new(Kind::Consumer, &aws, "acme").start().await;
    let age = "consumer_oldest_message_age_seconds";
    until(&consumer, age, |age| age > 0.0).await;
    let before = value(&consumer, age).await.unwrap();
    until(&consumer, age, |age| age > before + 0.5).await;
    until(&consumer, "consumer_receiving_paused{because=\"writes\"}", |paused| paused == 1.0).await;
    aws.behave();
    aws.wait_until("the record", |aws| aws.row_count(TABLE) == 1).await;
    until(&consumer, age, |age| age == 0.0).await;
    until(&consumer, "consumer_receiving_paused{because=\"writes\"}", |paused| paused == 0.0).await;
    assert_eq!(value(&consumer, "consumer_records_stored_total").await, Some(1.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_nobody_knows_make_no_series() {
    let aws = acme();
    let producer = Launch::new(Kind::Producer, &aws, "pool-1").listening().await;
    let ask = async |id: String| {
        let url = format!("{}/{id}/producer", producer.url);
        producer.http.post(&url, &[("tenantID", id.as_str())], "{}").await;
        producer.event(&id, "{}").await;
    };
    ask("first".to_owned()).await;
    ask("x".repeat(41)).await;
    let before = producer.metrics().await;
    for id in 0..300 {
        ask(format!("tenant{id}")).await;
    }
    let after = producer.metrics().await;
    let series = |scrape: &str| {
        let names = scrape.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
        names.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    let new: Vec<String> = series(&after).into_iter().filter(|name| !series(&before).contains(name)).collect();
    assert_eq!(new, Vec::<String>::new());
    assert!(!after.contains("tenant1"), "{after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_s_first_tenants_have_series_of_their_own_and_the_others_are_counted_together() {
    let aws = Aws::start();
    aws.provision("pool-1");
    ["acme", "globex", "initech", "hooli"].iter().for_each(|tenant| aws.register(tenant, "pool-1"));
    let start = async |kind| Launch::new(kind, &aws, "pool-1").set("METRICS_TENANTS", "2").start().await;
    let (producer, consumer) = (start(Kind::Producer).await, start(Kind::Consumer).await);
    let sent = ["acme", "globex", "initech", "acme", "hooli", "acme"];
    for (count, tenant) in sent.iter().enumerate() {
        assert_eq!(producer.event(tenant, "{}").await.status, 200);
        aws.wait_until("its record", |aws| aws.row_count("consumer-pool-1") == count + 1).await;
    }
    assert_eq!(producer.event("nobody", "{}").await.status, 404);
    let all = [("acme", Some(3.0)), ("globex", Some(1.0)), ("_other", Some(2.0)), ("initech", None), ("nobody", None)];
    for (tenant, count) in all {
        let sent = format!("publisher_tenant_messages_total{{tenant_id=\"{tenant}\"}}");
        assert_eq!(value(&producer, &sent).await, count, "{tenant}");
    }
    until(&consumer, "consumer_records_stored_total", |stored| stored == 6.0).await;
    for (tenant, count) in all {
        let stored = format!("consumer_tenant_records_stored_total{{tenant_id=\"{tenant}\"}}");
        assert_eq!(value(&consumer, &stored).await, count, "{tenant}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_over_the_limit_shows() {
    let aws = Aws::start();
    aws.provision("pool-1");
    ["acme", "globex"].iter().for_each(|tenant| aws.register(tenant, "pool-1"));
    let producer = Launch::new(Kind::Producer, &aws, "pool-1").set("LIMIT_OVERRIDES", "acme=1,globex=1000");
    let producer = producer.set("LIMIT_BURST", "60s").start().await;
    let statuses = async |tenant: &str| {
        let mut limited = 0;
        for _ in 0..70 {
            limited += u32::from(producer.event(tenant, "{}").await.status == 429);
        }
        f64::from(limited)
    };
    let (acme, globex) = (statuses("acme").await, statuses("globex").await);
    assert!(acme > 0.0 && globex == 0.0, "{acme} {globex}");
    let limited = |tenant: &str| format!("limited_tenant_requests_total{{tenant_id=\"{tenant}\"}}");
    assert_eq!(value(&producer, &limited("acme")).await, Some(acme));
    assert_eq!(value(&producer, &limited("globex")).await, None);
    assert_eq!(value(&producer, "limited_requests_total{limit=\"requests\"}").await, Some(acme));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_depth_of_the_queue_and_of_its_dead_letter_queue_shows() {
    let aws = acme();
    aws.on(Op::BatchWriteItem).always().fail(Fault::InternalError);
    for id in ["m-1", "m-2", "m-3"] {
        aws.put_message(DEAD, "{}", &[("tenant_id", "acme"), ("message_id", id)]);
    }
    aws.put_message(QUEUE, "{}", &[("tenant_id", "acme"), ("message_id", "m-4")]);
    let consumer = Launch::new(Kind::Consumer, &aws, "acme").set("QUEUE_DEPTH_INTERVAL", "1s").start().await;
    until(&consumer, "consumer_dead_letters", |letters| letters == 3.0).await;
    until(&consumer, "consumer_queue_messages{state=\"in_flight\"}", |messages| messages == 1.0).await;
    assert_eq!(value(&consumer, "consumer_queue_messages{state=\"visible\"}").await, Some(0.0));
    aws.behave();
    until(&consumer, "consumer_queue_messages{state=\"in_flight\"}", |messages| messages == 0.0).await;
    // What was known and is not any more is no number, rather than an old one.
    aws.on(Op::GetQueueAttributes).always().fail(Fault::Unavailable);
    until(&consumer, "consumer_dead_letters", f64::is_nan).await;
    assert!(value(&consumer, "consumer_queue_messages{state=\"visible\"}").await.is_some_and(f64::is_nan));
    aws.behave();
    until(&consumer, "consumer_dead_letters", |letters| letters == 3.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_without_the_right_to_the_depth_drains_all_the_same_and_says_so_once() {
    let aws = acme();
    aws.on(Op::GetQueueAttributes).always().fail(Fault::AccessDenied);
    let consumer = Launch::new(Kind::Consumer, &aws, "acme").set("QUEUE_DEPTH_INTERVAL", "1s").start().await;
    aws.put_message(QUEUE, "{}", &[("tenant_id", "acme"), ("message_id", "m-1")]);
    aws.wait_until("the record", |aws| aws.row_count(TABLE) == 1).await;
    consumer.process.line("that the depth is not known", |line| line.contains("depth of the queue is not known")).await;
    assert_eq!(value(&consumer, "consumer_queue_messages{state=\"visible\"}").await, None);
    assert_eq!(value(&consumer, "consumer_dead_letters").await, None);
    assert_eq!(aws.count(Op::GetQueueAttributes), 1, "after a refusal it waits ten intervals");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_interval_nobody_asks_for_the_depth() {
    let aws = acme();
    let mut consumer = Launch::new(Kind::Consumer, &aws, "acme").set("QUEUE_DEPTH_INTERVAL", "0").start().await;
    aws.put_message(QUEUE, "{}", &[("tenant_id", "acme"), ("message_id", "m-1")]);
    aws.wait_until("the record", |aws| aws.row_count(TABLE) == 1).await;
    assert_eq!(consumer.stop().await.0, Some(0));
    assert_eq!(aws.count(Op::GetQueueAttributes), 0);
    let mut refused = Launch::new(Kind::Consumer, &aws, "acme").set("QUEUE_DEPTH_INTERVAL", "500ms").process();
    assert_eq!(refused.ended().await.0, Some(2));
    let said = "consumer: QUEUE_DEPTH_INTERVAL: must be 0 or at least 1s, not 500ms";
    refused.line("what is wrong", |line| line == said).await;
}
