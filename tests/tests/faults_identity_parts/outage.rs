//! All of AWS is out, in one way after another, for longer than sessions last.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tests::http::Http;
use tests::matrix::assert_honest;
use tests::scripted::{Aws, Fault, Op, QueueSpec, Service as AwsService};
use tokio_util::sync::CancellationToken;

use super::{KINDS, TokenFile, with_web_identity};

/// How long it is out in each way.
const EACH: Duration = Duration::from_secs(5);

/// How long it may take until each service does its work again. Pauses are 20 s at most, and one for a session of 10 s may be
/// under way when another one begins.
const BACK: Duration = Duration::from_secs(45);

const QUEUE: &str = "consumer-acme";

/// Posts events until it is told to stop; what it is answered is 200 or an honest 503. The ids of those that were taken.
async fn client(url: String, stop: CancellationToken) -> BTreeSet<String> {
    let (http, mut taken) = (Http::new(), BTreeSet::new());
    while !stop.is_cancelled() {
        let answer = http.post(&url, &[("tenantID", "acme")], "{}").await;
        if answer.status == 200 {
            taken.insert(answer.json()["message_id"].as_str().expect("an id").to_owned());
        } else {
            assert_eq!(answer.status, 503, "{}", answer.text());
            assert_honest(&answer);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    taken
}

/// Comes back again and again, told 503, until it is answered with `good`. How long after `since` that was.
async fn served(since: Instant, good: u16, mut send: impl AsyncFnMut() -> u16) -> Duration {
    loop {
        match send().await {
            503 => assert!(since.elapsed() < BACK, "no success {:?} after everything is well", since.elapsed()),
            status => {
                assert_eq!(status, good);
                return since.elapsed();
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_outage_of_all_of_aws_in_which_sessions_ended_each_service_is_back_in_seconds_without_a_restart() {
    let (aws, token) = (Aws::start(), TokenFile::new("token"));
    aws.provision("acme");
    // Polls that are cut off use up receives: that is not what is tried here.
    aws.create_queue(QueueSpec::named(QUEUE).redrive("consumer-acme-dlq", 50));
    aws.only_sessions();
    aws.session_length(Duration::from_secs(8));
    let mut services = Vec::new();
    for kind in KINDS {
        let launch = with_web_identity(kind, &aws, &token).set("REQUEST_TIMEOUT", "3s").set("VISIBILITY_TIMEOUT", "5s");
        services.push(launch.set("SHUTDOWN_TIMEOUT", "5s").start().await);
    }
    let [producer, _, payments] = &services[..] else { unreachable!("three services") };
    let (stop, mut clients) = (CancellationToken::new(), tokio::task::JoinSet::new());
    for _ in 0..8 {
        clients.spawn(client(format!("{}/producer", producer.url), stop.clone()));
    }
    served(Instant::now(), 202, async || payments.payment("acme", "before").await.status.as_u16()).await;
    aws.wait_until("records", |aws| aws.row_count(QUEUE) > 50).await;
    let sessions = aws.count(Op::AssumeRoleWithWebIdentity);

    for fault in [Fault::InternalError, Fault::Stall] {
        let all = [AwsService::Sqs, AwsService::DynamoDb, AwsService::Ssm, AwsService::Sts];
        let rules = all.map(|service| aws.on_service(service).fail(fault.clone()));
        aws.holds_within(EACH, |_| false).await;
        rules.iter().for_each(tests::scripted::Scripted::lift);
    }
    aws.go_down().await;
    aws.holds_within(EACH, |_| false).await;
    assert!(aws.count(Op::AssumeRoleWithWebIdentity) > sessions, "no session ended: {}", aws.story());
    aws.come_back().await;

    let back = Instant::now();
    let event = served(back, 200, async || producer.event("acme", "\"after\"").await.status.as_u16());
    let payment = served(back, 202, async || payments.payment("acme", "after").await.status.as_u16());
    let record = async {
        let stored = |aws: &Aws| aws.rows(QUEUE).iter().any(|row| row.get("body") == "\"after\"");
        assert!(aws.holds_within(BACK, stored).await, "{BACK:?} after everything is well: {}", aws.story());
        back.elapsed()
    };
    let took = tokio::join!(event, payment, record);
    println!("event, payment and record came {took:?} after all was well");
    stop.cancel();
    let taken: BTreeSet<String> = clients.join_all().await.into_iter().flatten().collect();
    aws.wait_until("an empty queue", |aws| aws.queue(QUEUE).is_empty()).await;
    let rows: BTreeSet<String> = aws.rows(QUEUE).into_iter().map(|row| row.sort).collect();
    let lost: Vec<_> = taken.difference(&rows).take(5).collect();
    assert!(lost.is_empty(), "told as taken, but not in the table: {lost:?}");
    assert!(aws.queue("consumer-acme-dlq").is_empty());
    assert!(services.iter_mut().all(|service| service.process.runs()), "a service has ended");
}
