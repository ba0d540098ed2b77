//! A collector that is slow, broken or not there costs nobody anything.

use std::time::Duration;

use tests::collector::{Collector, Manner};
use tests::service::{Kind, Service};

use super::{QUEUE, acme, traced};

/// Far more than a request takes here, far less than any timeout of the exporter.
const PROMPT: Duration = Duration::from_secs(5);

async fn answers_promptly(producer: &Service) {
    for _ in 0..50 {
        let answer = producer.event("acme", "{}").await;
        assert_eq!(answer.status, 200);
        assert!(answer.took < PROMPT, "{:?}", answer.took);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_that_are_left_at_the_stop_are_sent() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    let hour = "3600000";
    let mut producer = traced(Kind::Producer, &aws, &collector).set("OTEL_BSP_SCHEDULE_DELAY", hour).start().await;
    assert_eq!(producer.event("acme", "{}").await.status, 200);
    assert_eq!(collector.batches(), 0);
    assert_eq!(producer.stop().await.0, Some(0));
    let names: Vec<String> = collector.spans().into_iter().map(|span| span.name).collect();
    for name in ["POST /producer", "create consumer-acme", "send consumer-acme"] {
        assert!(names.iter().any(|seen| seen == name), "{name}: {names:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_never_answers_delays_no_request_and_no_stop() {
    let (aws, collector) = (acme(), Collector::start(Manner::Stall).await);
    let mut producer = traced(Kind::Producer, &aws, &collector).start().await;
    producer.event("acme", "{}").await;
    collector.until("a batch", |own| own.batches() > 0).await;
    answers_promptly(&producer).await;
    let (code, took) = producer.stop().await;
    assert_eq!(code, Some(0));
    // SHUTDOWN_TIMEOUT is 6 s here, and the exporter would wait for 10 s.
    assert!(took < Duration::from_secs(9), "{took:?}");
    assert_eq!(aws.messages(QUEUE).len(), 51);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_not_there_is_one_line_in_the_log() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    // A port that nobody listens on: discard, which is not a service of today.
    let mut producer =
        traced(Kind::Producer, &aws, &collector).set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9").start().await;
    answers_promptly(&producer).await;
    producer.process.line("that spans are lost", |line| line.contains("the collector does not take spans")).await;
    let (code, took) = producer.stop().await;
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(9), "{took:?}");
    let said = producer.process.lines().iter().filter(|line| line.contains("does not take spans")).count();
    assert_eq!(said, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_refuses_is_counted() {
    let (aws, collector) = (acme(), Collector::start(Manner::Refuse(400)).await);
    let producer = traced(Kind::Producer, &aws, &collector).start().await;
    producer.event("acme", "{}").await;
    producer.process.line("the refusal", |line| line.contains("does not take spans") && line.contains("400")).await;
    let metrics = producer.metrics().await;
    let refused = metrics.lines().find_map(|line| line.strip_prefix("trace_exports_total{result=\"refused\"} "));
    assert!(refused.is_some_and(|count| count.parse::<u64>().is_ok_and(|count| count >= 1)), "{metrics}");
}
