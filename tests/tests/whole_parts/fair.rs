//! Tenants that share: one tenant's thousands, and strangers by the thousand.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tests::scripted::Aws;
use tests::service::{Kind, Launch};

#[tokio::test(flavor = "multi_thread")]
async fn one_event_behind_a_thousand_of_another_tenant_is_stored_within_seconds() {
    let aws = Aws::start();
    aws.provision("pool-1");
    let put = |tenant: &str, id: &str| {
        aws.put_message("consumer-pool-1", "{}", &[("tenant_id", tenant), ("message_id", id)]);
    };
    for n in 0..1_000 {
        put("large", &format!("m-{n:04}"));
    }
    put("small", "only");
    let _consumer = Launch::new(Kind::Consumer, &aws, "pool-1").set("SHUTDOWN_TIMEOUT", "5s").start().await;
    let start = Instant::now();
    aws.wait_until("the one of the small tenant", |aws| {
        aws.rows("consumer-pool-1").iter().any(|row| row.partition == "small" && row.sort == "only")
    })
    .await;
    // Not after VISIBILITY_TIMEOUT, which is 30 s here.
    assert!(start.elapsed() < Duration::from_secs(25), "{:?}", start.elapsed());
}

/// Names and labels of all series.
fn series(metrics: &str) -> BTreeSet<String> {
    let lines = metrics.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| line.rsplit_once(' ')).map(|(series, _)| series.to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_made_up_tenants_make_no_series_of_metrics_and_bounded_memory() {
    let aws = Aws::start();
    aws.provision("pool-1");
    aws.register("acme", "pool-1");
    let service = Launch::new(Kind::Producer, &aws, "pool-1").start().await;
    assert_eq!(service.event("acme", "{}").await.status, 200);
    let flood = async |from: usize| {
        let mut clients = tokio::task::JoinSet::new();
        for client in 0..100 {
            let (http, url) = (service.http.clone(), format!("{}/producer", service.url));
            clients.spawn(async move {
                for n in 0..10 {
                    let tenant = format!("made-up-{}", from + client * 10 + n);
                    let answer = http.post(&url, &[("tenantID", &tenant)], "{}").await;
                    assert!([404, 503].contains(&answer.status.as_u16()), "{}", answer.text());
                }
            });
        }
        clients.join_all().await;
    };
    // How many connections are open at once is a matter of chance: after two floods there have been as many as there will be.
    for round in 0..2 {
        flood(round * 1_000).await;
    }
    let (before, memory) = (series(&service.metrics().await), service.process.usage().resident);
    for round in 2..5 {
        flood(round * 1_000).await;
    }
    let metrics = service.metrics().await;
    assert!(!metrics.contains("made-up"), "a client's word became a label");
    let mut more: Vec<String> = series(&metrics).difference(&before).cloned().collect();
    // A call to AWS that took too long has a series of its own, once for all strangers.
    more.retain(|series| !series.starts_with("aws_calls_total{"));
    assert_eq!(more, [""; 0], "series that 3,000 more strangers made");
    let grown = service.process.usage().resident.saturating_sub(memory);
    assert!(grown < 4 * 1_048_576, "{grown} bytes more after 3,000 more strangers");
    assert_eq!(service.event("acme", "{}").await.status, 200);
}
