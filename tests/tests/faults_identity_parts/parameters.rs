//! Parameters: read once, shared, refreshed when AWS says that something is gone, never by a made-up path.

use std::time::{Duration, Instant};

use hyper::Method;
use tests::matrix::assert_honest;
use tests::scripted::{Aws, Fault, Op, Service as AwsService};
use tests::service::{Kind, Launch};

const PAYMENT: &str = r#"{"amount":"12.50","currency":"EUR","reference":"order 1"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_reads_both_its_parameters_in_one_call() {
    let aws = Aws::start();
    aws.provision("acme");
    let _service = Launch::new(Kind::Consumer, &aws, "acme").start().await;
    // One call, and another like it only where the first was not answered in time.
    let calls = aws.calls(Op::GetParameters);
    assert!((1..=2).contains(&calls.len()), "{}", aws.story());
    assert_eq!(aws.count_service(AwsService::Ssm), calls.len() as u64);
    for call in calls {
        let mut names: Vec<String> =
            call.json()["Names"].as_array().into_iter().flatten().map(ToString::to_string).collect();
        names.sort();
        assert_eq!(names, ["\"/acme/consumer_ddb\"", "\"/acme/consumer_sqs\""]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_pods_that_start_at_once_against_a_throttled_account_all_become_ready() {
    let aws = Aws::start();
    aws.provision("acme");
    aws.throttle_above(AwsService::Ssm, 5);
    let mut services = Vec::new();
    for _ in 0..12 {
        services.push(Launch::new(Kind::Producer, &aws, "acme").listening().await);
    }
    for service in &services {
        service.until_ready().await;
    }
    let reads = aws.count_service(AwsService::Ssm);
    assert!(reads <= 60, "{reads} reads of 12 pods at 5 a second");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_with_get_parameter_alone_is_enough() {
    for kind in [Kind::Producer, Kind::Consumer, Kind::Payments] {
        let aws = Aws::start();
        aws.provision("acme");
        aws.on(Op::GetParameters).fail(Fault::AccessDenied);
        let _service = Launch::new(kind, &aws, "acme").start().await;
        assert_eq!(aws.count(Op::GetParameters), 1, "{kind:?} asks once, then knows");
        assert!((1..=2).contains(&aws.count(Op::GetParameter)));
    }
}

/// Ids that are none: those that someone may try, and a hundred that are none because of one character anywhere in them.
fn ids_that_are_none() -> Vec<String> {
    let tried = [
        "{x}",
        "../other",
        "other/consumer_sqs",
        "awsome",
        "SSMith",
        "ssmith",
        "acme corp",
        "a/b",
        "a.b",
        "*",
        "acme?",
        "",
        "acme,other",
        "default",
        "pool-2",
        "pool-0",
        "kube-system",
        "flux-system",
        "-acme",
        "acme-",
        "ac--me",
        "1acme",
        "%2e%2e%2fother",
        "acme%00",
        "acme\u{a0}",
        "\u{430}cme",
    ];
    let mut random = fastrand::Rng::with_seed(4711);
    let stained = (0..100).map(|_| {
        let mut id: Vec<char> = (0..random.usize(2..20)).map(|_| random.lowercase()).collect();
        let strange: Vec<char> =
            (' '..='~').filter(|c| !c.is_ascii_lowercase() && !c.is_ascii_digit() && *c != '-').collect();
        // Not at its ends, where HTTP takes white space for none of the value.
        id.insert(random.usize(1..id.len()), random.choice(strange).expect("one of them"));
        id.into_iter().collect()
    });
    tried.into_iter().map(str::to_owned).chain(["a".repeat(41)]).chain(stained).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_are_none_are_400_and_reach_no_call_of_any_service() {
    for (kind, requests) in [
        (Kind::Producer, &[(Method::POST, "/producer", "{}"), (Method::POST, "/producer/batch", "[1]")][..]),
        (Kind::Consumer, &[(Method::GET, "/consumer/messages", "")]),
        (Kind::Payments, &[(Method::POST, "/payments", PAYMENT), (Method::GET, "/payments/some-id", "")]),
    ] {
        let aws = Aws::start();
        aws.provision("pool-1");
        let service = Launch::new(kind, &aws, "pool-1").set("RECORD_READS", "on").start().await;
        // Draining goes on by itself, and asks for what is in the queue.
        let calls = || {
            let own = [Op::ReceiveMessage, Op::GetQueueAttributes];
            aws.all_calls().iter().filter(|call| !own.contains(&call.op)).count()
        };
        let before = calls();
        for (method, path, body) in requests {
            for tenant in ids_that_are_none() {
                let headers = [("tenantID", &*tenant), ("content-type", "application/json"), ("idempotency-key", "k")];
                let url = format!("{}{path}", service.url);
                let answer = service.http.send(method.clone(), &url, &headers, *body).await;
                assert_eq!(answer.status, 400, "{method} {path} of {tenant:?}: {}", answer.text());
                assert_honest(&answer);
            }
        }
        assert_eq!(calls(), before, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_s_id_is_404_for_seconds_and_a_new_tenant_is_known_soon_after() {
    let aws = Aws::start();
    aws.provision("pool-1");
    let service = Launch::new(Kind::Producer, &aws, "pool-1").start().await;
    let start = Instant::now();
    assert_eq!(service.event("newbie", "{}").await.status, 404);
    let reads = aws.count_service(AwsService::Ssm);
    for _ in 0..20 {
        assert_eq!(service.event("newbie", "{}").await.status, 404);
    }
    // For 4 s at least.
    let (more, over) = (aws.count_service(AwsService::Ssm) - reads, start.elapsed().as_secs() / 4);
    assert!(more <= over, "it is remembered: {more} more reads in {:?}", start.elapsed());
    aws.register("newbie", "pool-1");
    let mut status = 404;
    for _ in 0..60 {
        status = service.event("newbie", "{}").await.status.as_u16();
        if status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(status, 200, "unknown for half a minute after its registration");
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_share_a_small_budget_and_known_tenants_do_not_notice() {
    let aws = Aws::start();
    aws.provision("pool-1");
    aws.register("acme", "pool-1");
    let service = Launch::new(Kind::Producer, &aws, "pool-1").start().await;
    assert_eq!(service.event("acme", "{}").await.status, 200);
    let (reads, start) = (aws.count_service(AwsService::Ssm), Instant::now());
    let mut running = tokio::task::JoinSet::new();
    for n in 0..300 {
        let (http, url) = (service.http.clone(), format!("{}/producer", service.url));
        running.spawn(
            async move { http.post(&url, &[("tenantID", &format!("stranger-{n}"))], "{}").await.status.as_u16() },
        );
    }
    let answer = service.event("acme", "{}").await;
    assert_eq!(answer.status, 200);
    assert!(answer.took < Duration::from_secs(6), "{:?}", answer.took);
    let statuses = running.join_all().await;
    assert!(statuses.iter().all(|status| [404, 503].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&503), "300 ids at once are beyond the budget");
    let reads = aws.count_service(AwsService::Ssm) - reads;
    // A few at once, and two a second.
    let most = 20 + 2 * start.elapsed().as_secs();
    assert!(reads <= most, "{reads} reads for 300 made-up ids in {:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parameter_that_changes_is_followed_within_its_time_and_ssm_may_be_down_meanwhile() {
    let aws = Aws::start();
    aws.provision("acme");
    let service = Launch::new(Kind::Producer, &aws, "acme").set("DIRECTORY_TTL", "1s").start().await;
    assert_eq!(service.event("acme", "1").await.status, 200);
    let down = aws.on_service(AwsService::Ssm).fail(Fault::Unavailable);
    let reads = aws.count_service(AwsService::Ssm);
    // Stale and refreshed in vain, again and again: requests are served with what is known.
    while aws.count_service(AwsService::Ssm) < reads + 3 {
        assert_eq!(service.event("acme", "2").await.status, 200);
    }
    down.lift();
    let arn = aws.create_queue(tests::scripted::QueueSpec::named("consumer-acme-2"));
    aws.set_parameter("/acme/consumer_sqs", &arn);
    let changed = Instant::now();
    while aws.queue("consumer-acme-2").is_empty() {
        assert_eq!(service.event("acme", "3").await.status, 200);
        assert!(changed.elapsed() < Duration::from_secs(40), "the new queue is not used");
    }
}
