//! Rolling updates: every pod is replaced while clients go on.

use std::collections::BTreeMap;
use std::time::Duration;

use tests::balancer::Balancer;
use tests::service::{Kind, Launch, Service};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{DEAD, QUEUE, acme, client, launch, stored};

/// A pod has five seconds more than SHUTDOWN_TIMEOUT, here 12 s, before it is killed.
const GRACE: Duration = Duration::from_secs(12 + 5);

/// Starts the next one, and tells the one before to stop as soon as the next is ready; both are up for a while, as in a Deployment.
async fn replace(old: &mut Service, launch: &Launch, balancer: Option<&Balancer>) {
    let next = launch.start().await;
    if let Some(balancer) = balancer {
        balancer.add(&next).await;
    }
    old.process.signal("TERM").await;
    let (code, took) = old.process.ended().await;
    assert_eq!(code, Some(0), "{}", old.process.story());
    assert!(took < GRACE, "{took:?}");
    if let Some(balancer) = balancer {
        assert!(!balancer.sends_to(old), "it ended before the balancer had noticed that it is not ready");
        balancer.remove(old);
    }
    *old = next;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_update_under_load_fails_no_request_and_doubles_no_row() {
    let aws = acme();
    let producer = launch(Kind::Producer, &aws).set("DRAIN_DELAY", "6s").set("SHUTDOWN_TIMEOUT", "12s");
    let consumer = launch(Kind::Consumer, &aws).set("SHUTDOWN_TIMEOUT", "12s").set("VISIBILITY_TIMEOUT", "20s");
    let mut producers = [producer.start().await, producer.start().await];
    let mut consumers = [consumer.start().await, consumer.start().await];
    let balancer = Balancer::start().await;
    for producer in &producers {
        balancer.add(producer).await;
    }
    let stop = CancellationToken::new();
    let mut clients = JoinSet::new();
    for number in 0..8 {
        let url = format!("http://{}/producer", balancer.address);
        clients.spawn(client(number, url, Duration::from_millis(5), stop.clone()));
    }
    for old in &mut producers {
        replace(old, &producer, Some(&balancer)).await;
    }
    for old in &mut consumers {
        replace(old, &consumer, None).await;
    }
    stop.cancel();
    let taken: BTreeMap<String, String> = clients.join_all().await.into_iter().flatten().collect();
    assert!(taken.len() > 200, "too little load to prove anything: {}", taken.len());
    aws.wait_until("every event as a record", |aws| aws.queue(QUEUE).is_empty()).await;
    assert_eq!(stored(&aws), taken, "the records are what clients were told, no more and no less");
    assert!(aws.queue(DEAD).is_empty());
}
