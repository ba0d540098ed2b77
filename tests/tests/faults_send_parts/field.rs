//! Situations from the field, for a service that sends.

use std::collections::BTreeSet;
use std::time::Duration;

use tests::scripted::{Aws, Fault, Op, QueueSpec, Service};

use super::{message_ids, producer};

#[tokio::test]
async fn the_first_request_after_connections_died_in_silence_succeeds() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = producer(&aws).start().await;
    assert_eq!(service.event("acme", "{}").await.status, 200);
    aws.silence_connections();
    let answer = service.event("acme", "{}").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.took < Duration::from_secs(10), "{:?}", answer.took);
    assert_eq!(message_ids(&aws).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_after_many_connections_died_in_silence_together_loses_one_attempt_to_them() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = producer(&aws).start().await;
    let slow = aws.on(Op::SendMessageBatch).fail(Fault::Late(Duration::from_millis(500)));
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (http, url) = (service.http.clone(), format!("{}/producer", service.url));
        running.spawn(async move { http.post(&url, &[("tenantID", "acme")], "{}").await.status.as_u16() });
    }
    assert_eq!(running.join_all().await, vec![200; 100]);
    slow.lift();
    aws.silence_connections();
    let answer = service.event("acme", "{}").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    // An attempt may take 4 s.
    assert!(answer.took < Duration::from_secs(8), "{:?}", answer.took);
}

#[tokio::test]
async fn an_sqs_that_is_down_is_503_meanwhile_and_needs_no_restart() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = producer(&aws).set("REQUEST_TIMEOUT", "3s").start().await;
    aws.go_down().await;
    for _ in 0..3 {
        let answer = service.event("acme", "{}").await;
        assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, "1"));
    }
    aws.come_back().await;
    let mut status = 0;
    for _ in 0..10 {
        status = service.event("acme", "{}").await.status.as_u16();
        if status == 200 {
            break;
        }
    }
    assert_eq!(status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_read_each_parameter_once_and_share_their_sends() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = producer(&aws).start().await;
    let reads = aws.count_service(Service::Ssm);
    assert!(reads <= 1, "{reads} reads at start");
    aws.throttle_above(Service::Ssm, 1);
    // While sends take so long, what comes meanwhile gathers, however slow the clients are.
    aws.latency(Service::Sqs, Duration::from_millis(100));
    let mut running = tokio::task::JoinSet::new();
    for client in 0..50 {
        let (http, url) = (service.http.clone(), format!("{}/producer", service.url));
        running.spawn(async move {
            for n in 0..20 {
                let answer = http.post(&url, &[("tenantID", "acme")], format!("{{\"c\":{client},\"n\":{n}}}")).await;
                assert_eq!(answer.status, 200, "{}", answer.text());
            }
        });
    }
    running.join_all().await;
    assert_eq!(aws.queue("consumer-acme").len(), 1_000);
    assert_eq!(message_ids(&aws).len(), 1_000);
    assert_eq!(aws.count_service(Service::Ssm), reads, "a request read parameters");
    assert_eq!(aws.count(Op::GetQueueUrl), 0);
    let sends = aws.count(Op::SendMessageBatch);
    assert!(sends <= 500, "{sends} sends for 1,000 events of 50 clients");
}

#[tokio::test]
async fn a_replaced_queue_is_found_without_a_restart() {
    for fault in [Fault::Gone, Fault::GoneByHeader] {
        let aws = Aws::start();
        aws.provision("acme");
        let service = producer(&aws).start().await;
        assert_eq!(service.event("acme", "{}").await.status, 200);
        let arn = aws.create_queue(QueueSpec::named("consumer-acme-2"));
        aws.set_parameter("/acme/consumer_sqs", &arn);
        aws.on(Op::SendMessageBatch).for_queue("consumer-acme").fail(fault.clone());
        let answer = service.event("acme", "{\"n\":2}").await;
        assert_eq!(answer.status, 200, "{fault:?}: {}", answer.text());
        assert_eq!(aws.messages("consumer-acme-2")[0].body, "{\"n\":2}");
    }
}

#[tokio::test]
async fn a_throttled_entry_is_sent_again_and_a_refused_one_fails_alone() {
    use tests::scripted::Which;
    let aws = Aws::start();
    aws.provision("acme");
    let service = producer(&aws).start().await;
    let refused = Fault::FailEntries {
        which: Which::Containing("bad".into()),
        code: "InvalidParameterValue",
        sender_fault: true,
    };
    aws.on(Op::SendMessageBatch).fail(refused);
    let body = r#"["good 1","bad","good 2"]"#;
    let answer = service.http.post(&format!("{}/producer/batch", service.url), &[("tenantID", "acme")], body).await;
    assert_eq!(answer.status, 207);
    let results = answer.json()["results"].clone();
    assert!(results[0]["message_id"].is_string() && results[2]["message_id"].is_string(), "{results}");
    assert_eq!(results[1]["error"]["status"], 422);
    aws.behave();
    let throttled = Fault::FailEntries { which: Which::First(1), code: "RequestThrottled", sender_fault: true };
    aws.on(Op::SendMessageBatch).nth(1).fail(throttled);
    assert_eq!(service.event("acme", "\"throttled\"").await.status, 200);
    // In any order: the first event of a batch may be in another call than the rest.
    let bodies: BTreeSet<String> = aws.messages("consumer-acme").into_iter().map(|message| message.body).collect();
    assert_eq!(bodies, ["\"good 1\"", "\"good 2\"", "\"throttled\""].map(str::to_owned).into());
}

#[tokio::test]
async fn one_slow_tenant_of_a_pool_delays_no_other() {
    let aws = Aws::start();
    aws.provision("pool-1");
    aws.provision("slow");
    aws.register("quick", "pool-1");
    let service = producer(&aws).set("ENVIRONMENT", "pool-1").set("REQUEST_TIMEOUT", "10s").start().await;
    for tenant in ["slow", "quick"] {
        assert_eq!(service.event(tenant, "{}").await.status, 200);
    }
    let slow = aws.on(Op::SendMessageBatch).for_queue("consumer-slow").fail(Fault::Stall);
    let (http, url) = (service.http.clone(), format!("{}/producer", service.url));
    let of_slow = || {
        let (http, url) = (http.clone(), url.clone());
        tokio::spawn(async move { http.post(&url, &[("tenantID", "slow")], "{}").await.status.as_u16() })
    };
    let waits = of_slow();
    aws.wait_until("the slow send", |aws| {
        aws.calls(Op::SendMessageBatch).iter().filter(|call| &*call.target == "consumer-slow").count() >= 2
    })
    .await;
    let quick = service.event("quick", "{}").await;
    assert_eq!(quick.status, 200);
    // Before the attempt that it would have waited for was given up.
    assert!(quick.took < Duration::from_secs(4), "{:?}", quick.took);
    assert!(!waits.is_finished(), "it was served while the other one waited");
    slow.lift();
    assert_eq!(waits.await.ok(), Some(200));
    // Throttled for as long as a request may take, so that the pauses after it grow to seconds.
    let throttled = aws.on(Op::SendMessageBatch).for_queue("consumer-slow").fail(Fault::Throttled);
    let waits = of_slow();
    let mut quick = 0;
    while !waits.is_finished() {
        let answer = service.event("quick", "{}").await;
        assert_eq!(answer.status, 200);
        assert!(answer.took < Duration::from_secs(5), "{:?}", answer.took);
        quick += 1;
    }
    assert_eq!(waits.await.ok(), Some(503));
    let tries = throttled.hits();
    assert!((4..=60).contains(&tries), "{tries} tries");
    // One after another, and each at once: a pause that both shared would leave room for about one a try.
    assert!(quick > 3 * tries, "{quick} requests beside {tries} tries");
}

#[tokio::test]
async fn messages_of_a_shared_queue_say_whose_they_are_and_those_of_a_dedicated_one_do_not() {
    let aws = Aws::start();
    aws.provision("pool-1");
    aws.provision("large");
    aws.register("small", "pool-1");
    let service = producer(&aws).set("ENVIRONMENT", "pool-1").start().await;
    for tenant in ["small", "large"] {
        assert_eq!(service.event(tenant, "{}").await.status, 200);
    }
    assert_eq!(aws.messages("consumer-pool-1")[0].group.as_deref(), Some("small"));
    assert_eq!(aws.messages("consumer-large")[0].group, None);
}

#[tokio::test]
async fn where_the_queue_service_refuses_groups_they_can_be_left_out() {
    let aws = Aws::start();
    aws.provision("pool-1");
    aws.register("small", "pool-1");
    let service = producer(&aws).set("ENVIRONMENT", "pool-1").set("FAIR_QUEUES", "off").start().await;
    assert_eq!(service.event("small", "{}").await.status, 200);
    assert_eq!(aws.messages("consumer-pool-1")[0].group, None);
}
