//! Which traces are taken, and that nothing happens without a collector.

use tests::collector::{Collector, Manner};
use tests::service::{Kind, Launch};

use super::{QUEUE, TRACE, TRACEPARENT, acme, traced};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_caller_s_span_begins_a_trace_that_reaches_the_queue() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    let producer = traced(Kind::Producer, &aws, &collector).start().await;
    let answer = producer.event("acme", "{}").await;
    let server = collector.span("POST /producer").await;
    assert_eq!((server.parent.as_str(), server.trace.len()), ("", 32));
    assert_eq!(answer.header("traceresponse"), format!("00-{}-{}-01", server.trace, server.id));
    let create = collector.span("create consumer-acme").await;
    let sent = aws.messages(QUEUE)[0].attributes["traceparent"].clone();
    assert_eq!(sent, format!("00-{}-{}-01", server.trace, create.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_does_not_take_its_trace_is_followed() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    let mut producer = traced(Kind::Producer, &aws, &collector).start().await;
    let unsampled = TRACEPARENT.replace("-01", "-00");
    let url = format!("{}/producer", producer.url);
    let answer = producer.http.post(&url, &[("tenantID", "acme"), ("traceparent", &unsampled)], "{}").await;
    assert_eq!((answer.status.as_u16(), answer.header("traceresponse")), (200, ""));
    // Who asks without naming anybody is a load balancer.
    assert_eq!(producer.http.get(&url, &[]).await.status, 200);
    assert_eq!(producer.stop().await.0, Some(0));
    assert!(!aws.messages(QUEUE)[0].attributes.contains_key("traceparent"));
    assert_eq!((collector.spans().len(), collector.batches()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sampler_that_takes_nothing_lets_the_caller_s_context_pass() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    let mut producer = traced(Kind::Producer, &aws, &collector).set("OTEL_TRACES_SAMPLER", "always_off").start().await;
    let url = format!("{}/producer", producer.url);
    producer.http.post(&url, &[("tenantID", "acme"), ("traceparent", TRACEPARENT)], "{}").await;
    producer.event("acme", "{}").await;
    assert_eq!(producer.stop().await.0, Some(0));
    let mut contexts: Vec<_> =
        aws.messages(QUEUE).iter().map(|message| message.attributes.get("traceparent").cloned()).collect();
    contexts.sort();
    assert_eq!(contexts, [None, Some(TRACEPARENT.to_owned())]);
    assert_eq!(collector.batches(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_endpoint_nothing_is_exported_and_the_caller_s_context_passes() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    // Variables that other services of the cluster have; only the endpoint switches traces on here.
    let mut producer = Launch::new(Kind::Producer, &aws, "acme")
        .set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &format!("{}/v1/traces", collector.url()))
        .set("OTEL_SERVICE_NAME", "producer")
        .set("OTEL_BSP_SCHEDULE_DELAY", "1")
        .start()
        .await;
    let url = format!("{}/producer", producer.url);
    let answer = producer.http.post(&url, &[("tenantID", "acme"), ("traceparent", TRACEPARENT)], "{}").await;
    assert_eq!((answer.status.as_u16(), answer.header("traceresponse")), (200, ""));
    assert_eq!(aws.messages(QUEUE)[0].attributes["traceparent"], TRACEPARENT);
    assert_eq!(producer.stop().await.0, Some(0));
    assert_eq!(collector.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_the_largest_size_is_taken_and_goes_without_its_context() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    let producer = traced(Kind::Producer, &aws, &collector).set("MAX_MESSAGE_BYTES", "1024").start().await;
    // What is left of 1,024 bytes beside the four attributes that every message has.
    let attributes = [("tenant_id", 4), ("producer_environment", 4), ("message_id", 36), ("content_type", 16)];
    let taken: usize = attributes.iter().map(|(name, value)| name.len() + "String".len() + value).sum();
    let body = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    assert_eq!(producer.event("acme", &body(1_024 - taken)).await.status, 200);
    assert_eq!(producer.event("acme", &body(1_025 - taken)).await.status, 413);
    assert!(!aws.messages(QUEUE)[0].attributes.contains_key("traceparent"));
    assert_eq!(producer.event("acme", "{}").await.status, 200);
    assert!(aws.messages(QUEUE).iter().any(|message| message.attributes.contains_key("traceparent")));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_cannot_be_meant_are_refused_at_the_start() {
    let aws = acme();
    for (name, value, said) in [
        (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "collector:4318",
            "OTEL_EXPORTER_OTLP_ENDPOINT: invalid value \"collector:4318\": it is an http or https URL without query, its port a number from 1 to 65535, such as http://collector:4318",
        ),
        (
            "OTEL_TRACES_SAMPLER",
            "sometimes",
            "OTEL_TRACES_SAMPLER: invalid value \"sometimes\": it is one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio",
        ),
        (
            "OTEL_TRACES_SAMPLER_ARG",
            "5%",
            "OTEL_TRACES_SAMPLER_ARG: invalid value \"5%\": it is a number from 0 to 1, such as 0.05",
        ),
    ] {
        let mut process = Launch::new(Kind::Producer, &aws, "acme").set(name, value).process();
        assert_eq!(process.ended().await.0, Some(2), "{name}");
        process.line(name, |line| line == format!("producer: {said}")).await;
    }
    let mut process = Launch::new(Kind::Consumer, &aws, "acme")
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
        .set("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
        .process();
    assert_eq!(process.ended().await.0, Some(2));
    process.line("the protocol", |line| line.contains("OTEL_EXPORTER_OTLP_PROTOCOL: invalid value \"grpc\"")).await;
    assert_eq!(TRACE.len(), 32);
}
