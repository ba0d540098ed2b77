//! Names, kinds, parents and links, by OpenTelemetry's conventions for HTTP, messaging and databases.

use std::collections::BTreeSet;

use tests::collector::{Collector, Manner, Seen};
use tests::scripted::{Fault, Op};
use tests::service::Kind;

use super::{CALLER, QUEUE, TABLE, TRACE, TRACEPARENT, acme, traced};

fn attributes<'a>(span: &'a Seen, names: &[&str]) -> Vec<&'a str> {
    names.iter().map(|name| span.get(name)).collect()
}

const MESSAGING: [&str; 4] =
    ["messaging.system", "messaging.operation.type", "messaging.operation.name", "messaging.destination.name"];

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_one_trace_from_the_caller_s_span_to_its_record() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    let producer = traced(Kind::Producer, &aws, &collector).start().await;
    let consumer = traced(Kind::Consumer, &aws, &collector).start().await;
    let headers = [("tenantID", "acme"), ("traceparent", TRACEPARENT)];
    let answer = producer.http.post(&format!("{}/producer", producer.url), &headers, "{\"n\":1}").await;
    assert_eq!(answer.status, 200);
    let message_id = answer.json()["message_id"].as_str().unwrap().to_owned();

    let server = collector.span("POST /producer").await;
    assert_eq!((server.kind, server.trace.as_str(), server.parent.as_str()), ("SERVER", TRACE, CALLER));
    assert_eq!(
        attributes(&server, &["http.request.method", "http.route", "http.response.status_code"]),
        ["POST", "/producer", "200"]
    );
    assert_eq!(answer.header("traceresponse"), format!("00-{TRACE}-{}-01", server.id));

    let create = collector.span("create consumer-acme").await;
    assert_eq!((create.kind, &create.trace, &create.parent), ("PRODUCER", &server.trace, &server.id));
    assert_eq!(attributes(&create, &MESSAGING), ["aws_sqs", "create", "create", QUEUE]);
    assert_eq!(
        attributes(&create, &["tenant_plane.tenant_id", "tenant_plane.message_id"]),
        ["acme", message_id.as_str()]
    );
    let to_create = vec![(create.trace.clone(), create.id.clone())];

    let send = collector.span("send consumer-acme").await;
    assert_eq!((send.kind, &send.trace, &send.parent), ("CLIENT", &create.trace, &create.id));
    assert_eq!(attributes(&send, &MESSAGING), ["aws_sqs", "send", "send", QUEUE]);
    assert_eq!((send.get("messaging.batch.message_count"), &send.links), ("1", &to_create));

    let receive = collector.span("receive consumer-acme").await;
    assert_eq!((receive.kind, &receive.trace, &receive.parent), ("CLIENT", &create.trace, &create.id));
    assert_eq!(attributes(&receive, &MESSAGING), ["aws_sqs", "receive", "receive", QUEUE]);
    assert_eq!((receive.get("messaging.batch.message_count"), &receive.links), ("1", &to_create));
    assert_eq!(receive.service, "consumer");

    let process = collector.span("process consumer-acme").await;
    assert_eq!((process.kind, &process.trace, &process.parent), ("CONSUMER", &create.trace, &create.id));
    assert_eq!(attributes(&process, &MESSAGING), ["aws_sqs", "process", "process", QUEUE]);
    assert_eq!(process.get("tenant_plane.message_id"), message_id);
    assert!(!process.get("messaging.message.id").is_empty());
    let to_process = vec![(process.trace.clone(), process.id.clone())];

    let write = collector.span("BatchWriteItem consumer-acme").await;
    assert_eq!((write.kind, &write.trace, &write.parent), ("CLIENT", &process.trace, &process.id));
    assert_eq!(
        attributes(&write, &["db.system.name", "db.operation.name", "db.collection.name"]),
        ["aws.dynamodb", "BatchWriteItem", TABLE]
    );
    assert_eq!(write.links, to_process);

    let settle = collector.span("settle consumer-acme").await;
    assert_eq!((settle.kind, &settle.trace, &settle.links), ("CLIENT", &process.trace, &to_process));
    assert_eq!(settle.get("messaging.operation.type"), "settle");

    let all = collector.spans();
    assert_eq!(all.len(), 7, "{all:#?}");
    assert!(all.iter().all(|span| !span.failed && span.time.0 <= span.time.1), "{all:#?}");
    assert!(process.time.0 <= write.time.0 && write.time.1 <= process.time.1, "the write is part of the processing");
    assert_eq!(server.service, "producer");
    assert_eq!(server.resource["deployment.environment.name"], "acme");
    assert_eq!(aws.rows(TABLE)[0].sort, message_id);
    drop(consumer);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_for_many_events_are_linked_to_each_of_them() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    let producer = traced(Kind::Producer, &aws, &collector).start().await;
    let headers = [("tenantID", "acme"), ("traceparent", TRACEPARENT)];
    let events: Vec<String> = (0..30).map(|n| n.to_string()).collect();
    let answer = producer
        .http
        .post(&format!("{}/producer/batch", producer.url), &headers, format!("[{}]", events.join(",")))
        .await;
    assert_eq!(answer.status, 200);
    let _consumer = traced(Kind::Consumer, &aws, &collector).start().await;
    aws.wait_until("thirty records", |aws| aws.row_count(TABLE) == 30 && aws.queue(QUEUE).is_empty()).await;
    let count = |name: &str| collector.spans().iter().filter(|span| span.name == name).count();
    collector
        .until("thirty of each", |_| count("create consumer-acme") == 30 && count("process consumer-acme") == 30)
        .await;
    let ids = |name: &str| -> BTreeSet<String> {
        collector.spans().into_iter().filter(|span| span.name == name).map(|span| span.id).collect()
    };
    let linked = |name: &str| -> Vec<String> {
        let calls = collector.spans().into_iter().filter(|span| span.name == name);
        calls
            .flat_map(|span| span.links)
            .map(|(trace, id)| {
                assert_eq!(trace, TRACE);
                id
            })
            .collect()
    };
    let all_linked = |call: &str| linked(call).len() == 30;
    collector
        .until("every link", |_| {
            ["send", "receive", "settle"].iter().all(|call| all_linked(&format!("{call} {QUEUE}")))
        })
        .await;
    collector.until("the links of writes", |_| all_linked("BatchWriteItem consumer-acme")).await;
    for (call, of) in [
        ("send consumer-acme", "create consumer-acme"),
        ("receive consumer-acme", "create consumer-acme"),
        ("BatchWriteItem consumer-acme", "process consumer-acme"),
        ("settle consumer-acme", "process consumer-acme"),
    ] {
        assert_eq!(linked(call).into_iter().collect::<BTreeSet<_>>(), ids(of), "{call}");
    }
    let sends: u32 = collector
        .spans()
        .iter()
        .filter(|span| span.name == "send consumer-acme")
        .map(|span| span.get("messaging.batch.message_count").parse::<u32>().unwrap())
        .sum();
    assert_eq!(sends, 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_shows_in_the_trace_and_its_id_in_the_log() {
    let (aws, collector) = (acme(), Collector::start(Manner::Take).await);
    aws.on(Op::SendMessageBatch).nth(1).fail(Fault::Throttled);
    let producer = traced(Kind::Producer, &aws, &collector).start().await;
    let headers = [("tenantID", "acme"), ("traceparent", TRACEPARENT)];
    let answer = producer.http.post(&format!("{}/producer", producer.url), &headers, "{}").await;
    assert_eq!(answer.status, 200);
    collector
        .until("both sends", |own| own.spans().iter().filter(|span| span.name == "send consumer-acme").count() == 2)
        .await;
    let sends: Vec<Seen> = collector.spans().into_iter().filter(|span| span.name == "send consumer-acme").collect();
    assert_eq!((sends[0].failed, sends[0].get("error.type")), (true, "throttled"));
    assert!(!sends[1].failed && !collector.span("create consumer-acme").await.failed);

    aws.put_message(QUEUE, "whose?", &[("message_id", "bad"), ("traceparent", TRACEPARENT)]);
    let consumer = traced(Kind::Consumer, &aws, &collector).start().await;
    let line = consumer.process.line("the isolated message", |line| line.contains("cannot be stored")).await;
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["trace_id"], &line["reason"]), (&TRACE.into(), &"no_tenant".into()), "{line}");
    assert!(line["sqs_message_id"].is_string() && line["level"] == "ERROR", "{line}");
    collector
        .until("its span", |own| own.spans().iter().any(|span| span.failed && span.get("error.type") == "no_tenant"))
        .await;
}
