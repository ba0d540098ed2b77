//! Who is served, and by which queue.

use tests::scripted::{Aws, Op, QueueSpec};

use crate::support::{Producer, aws_with, only_message, problem};

/// A pool with a basic tenant, an advanced one and one of another pool.
fn pool() -> Aws {
    let aws = aws_with("pool-1");
    aws.register("small", "pool-1");
    aws.provision("large");
    aws.create_queue(QueueSpec::named("consumer-pool-2"));
    aws.register("elsewhere", "pool-2");
    aws
}

#[tokio::test]
async fn in_a_pool_the_registration_decides_on_the_queue_and_the_tier_is_held_against_it() {
    let aws = pool();
    let producer = Producer::start(&aws, "pool-1", &[]).await;
    let post = async |tenant: &'static str, tier: Option<&'static str>| {
        let mut headers = vec![("tenantID", tenant)];
        headers.extend(tier.map(|tier| ("tier", tier)));
        producer.post_with("/producer", &headers, "{}").await
    };
    for tier in [None, Some("basic")] {
        assert_eq!(post("small", tier).await.status, 200, "{tier:?}");
    }
    for tier in [None, Some("advanced"), Some("premium")] {
        assert_eq!(post("large", tier).await.status, 200, "{tier:?}");
    }
    assert_eq!((aws.queue("consumer-pool-1").len(), aws.queue("consumer-large").len()), (2, 3));
    assert_eq!(aws.messages("consumer-large")[0].attributes["producer_environment"], "pool-1");
    for (tenant, tier) in [("small", "advanced"), ("small", "premium"), ("large", "basic")] {
        problem(&post(tenant, Some(tier)).await, 409, "tier-conflict");
    }
    problem(&post("nobody", None).await, 404, "tenant-unknown");
    problem(&post("elsewhere", None).await, 403, "tenant-not-served");
    assert_eq!((aws.queue("consumer-pool-1").len(), aws.queue("consumer-large").len()), (2, 3));
    assert!(aws.queue("consumer-pool-2").is_empty());
}

#[tokio::test]
async fn with_open_registration_the_tier_chooses() {
    let aws = pool();
    let producer = Producer::start(&aws, "pool-1", &["--tenant-registration", "open"]).await;
    for headers in [&[("tenantID", "newcomer")][..], &[("tenantID", "newcomer"), ("tier", "basic")]] {
        assert_eq!(producer.post_with("/producer", headers, "{}").await.status, 200);
    }
    assert_eq!(producer.post_with("/producer", &[("tenantID", "large"), ("tier", "premium")], "{}").await.status, 200);
    assert_eq!((aws.queue("consumer-pool-1").len(), aws.queue("consumer-large").len()), (2, 1));
    problem(
        &producer.post_with("/producer", &[("tenantID", "newcomer"), ("tier", "advanced")], "{}").await,
        404,
        "tenant-unknown",
    );
}

#[tokio::test]
async fn a_silo_serves_its_tenant_whatever_the_tier_and_nobody_else() {
    let aws = aws_with("acme");
    aws.provision("other");
    let producer = Producer::start(&aws, "acme", &[]).await;
    for tier in ["basic", "advanced", "premium"] {
        assert_eq!(producer.post_with("/producer", &[("tenantID", "acme"), ("tier", tier)], "{}").await.status, 200);
    }
    let refused = producer.post("/producer", "other", "{}").await;
    problem(&refused, 403, "tenant-not-served");
    assert!(!refused.text().contains("acme"), "{}", refused.text());
    assert_eq!(aws.queue("consumer-acme").len(), 3);
    assert!(aws.queue("consumer-other").is_empty());
}

#[tokio::test]
async fn the_same_bad_headers_get_the_same_answer_on_every_route() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    let asked = aws.count(Op::GetParameters);
    let bad: [(&[(&str, &str)], &str); 12] = [
        (&[], "tenant-header"),
        (&[("tenantID", "")], "tenant-header"),
        (&[("tenantID", "acme"), ("tenantID", "acme")], "tenant-header"),
        (&[("tenantID", "acme,other")], "tenant-header"),
        (&[("tenantID", "Acme")], "tenant-header"),
        (&[("tenantID", "{x}")], "tenant-header"),
        (&[("tenantID", "../other")], "tenant-header"),
        (&[("tenantID", "other/consumer_sqs")], "tenant-header"),
        (&[("tenantID", "tést")], "tenant-header"),
        (&[("tenantID", "acme"), ("tier", "")], "tier-header"),
        (&[("tenantID", "acme"), ("tier", "gold")], "tier-header"),
        (&[("tenantID", "acme"), ("tier", "basic"), ("tier", "basic")], "tier-header"),
    ];
    for (headers, kind) in bad {
        for path in ["/producer", "/producer/batch"] {
            let answer = producer.post_with(path, headers, "[1]").await;
            problem(&answer, 400, kind);
        }
    }
    assert_eq!(aws.count(Op::GetParameters), asked);
    assert!(aws.queue("consumer-acme").is_empty());
}

#[tokio::test]
async fn bytes_that_are_no_ascii_in_a_header_are_a_400_and_the_connection_goes_on() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    for header in [&b"tenantID: t\xe9st"[..], b"tenantID: t\xc3\xa9st", b"tenantID: acme\r\ntier: \xff"] {
        let bad = [b"POST /producer HTTP/1.1\r\nhost: x\r\n", header, b"\r\ncontent-length: 2\r\n\r\n{}"].concat();
        let good = b"POST /producer HTTP/1.1\r\nhost: x\r\nTENANTid: acme\r\ncontent-length: 2\r\n\r\n{}";
        let statuses: Vec<u16> =
            producer.raw(&[&bad, &good[..]].concat(), 2).await.into_iter().map(|(status, _)| status).collect();
        assert_eq!(statuses, [400, 200], "{}", String::from_utf8_lossy(header));
    }
}

#[tokio::test]
async fn the_header_s_name_may_be_written_in_any_case() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    for name in ["tenantID", "TENANTID", "tenantid", "TenantID"] {
        let request = format!("POST /producer HTTP/1.1\r\nhost: x\r\n{name}: acme\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(producer.raw(request.as_bytes(), 1).await[0].0, 200, "{name}");
    }
}

#[tokio::test]
async fn other_paths_and_methods_are_problems_too() {
    let aws = aws_with("acme");
    let producer = Producer::start(&aws, "acme", &[]).await;
    for path in
        ["/", "/producer/", "/producer/batch/", "/producer/nothing", "/consumer", "/metrics", "/livez", "/producer/%ff"]
    {
        problem(&producer.get(path, &[("tenantID", "acme")]).await, 404, "not-found");
    }
    let wrong = producer.get("/producer/batch", &[("tenantID", "acme")]).await;
    problem(&wrong, 405, "method");
    assert_eq!(wrong.header("allow"), "POST");
}

#[tokio::test]
async fn many_requests_ask_ssm_no_more_than_one() {
    let aws = pool();
    let producer = Producer::start(&aws, "pool-1", &[]).await;
    for tenant in ["small", "large"] {
        assert_eq!(producer.post("/producer", tenant, "{}").await.status, 200);
    }
    let asked = aws.count(Op::GetParameters);
    assert!(asked <= 3, "{asked}");
    for _ in 0..300 {
        for tenant in ["small", "large"] {
            assert_eq!(producer.post("/producer", tenant, "{}").await.status, 200);
        }
    }
    assert_eq!(aws.count(Op::GetParameters), asked);
    assert_eq!((aws.queue("consumer-pool-1").len(), aws.queue("consumer-large").len()), (301, 301));
}

#[tokio::test]
async fn one_key_of_two_tenants_is_two_messages() {
    let aws = pool();
    aws.register("other", "pool-1");
    let producer = Producer::start(&aws, "pool-1", &[]).await;
    for tenant in ["small", "other"] {
        assert_eq!(
            producer.post_with("/producer", &[("tenantID", tenant), ("Idempotency-Key", "1")], "{}").await.status,
            200
        );
    }
    let messages = aws.messages("consumer-pool-1");
    assert_ne!(messages[0].attributes["message_id"], messages[1].attributes["message_id"]);
}

#[tokio::test]
async fn a_tenant_that_is_onboarded_later_is_served_without_a_restart() {
    let aws = pool();
    let producer = Producer::start(&aws, "pool-1", &[]).await;
    problem(&producer.post("/producer", "newcomer", "{}").await, 404, "tenant-unknown");
    aws.register("newcomer", "pool-1");
    let served = async {
        while producer.post("/producer", "newcomer", "{}").await.status != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), served).await.expect("known soon");
    assert_eq!(only_message(&aws, "consumer-pool-1").attributes["tenant_id"], "newcomer");
}
