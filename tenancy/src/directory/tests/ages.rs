//! How old a value may be that serves, and what a reading has to do with it.

use super::*;

const MOVED: &str = "arn:aws:sqs:eu-central-1:123456789012:consumer-acme-2";

#[tokio::test(start_paused = true)]
async fn a_tenant_that_was_quiet_for_longer_than_the_time_to_live_is_read_before_it_is_served() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", POOL_QUEUE)]);
    let directory = ssm.directory(TTL);
    directory.queue(&env("acme")).await.unwrap();
    ssm.put("/acme/consumer_sqs", ACME_QUEUE);
    tokio::time::sleep(TTL + TTL / 10).await;
    assert_eq!(directory.queue(&env("acme")).await.unwrap().as_str(), ACME_QUEUE);
    assert_eq!(ssm.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_tenant_with_traffic_never_waits_and_no_value_serves_longer_than_its_time() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE)]);
    ssm.answer_after(Some(Duration::from_secs(1)));
    let directory = ssm.directory(TTL);
    directory.queue(&env("acme")).await.unwrap();
    ssm.put("/acme/consumer_sqs", MOVED);
    let changed = tokio::time::Instant::now();
    let mut calls = 0;
    // An hour of ten requests a second.
    for _ in 0..36_000 {
        let asked = tokio::time::Instant::now();
        let queue = directory.queue(&env("acme")).await.unwrap();
        assert_eq!(asked.elapsed(), Duration::ZERO);
        assert!(queue.as_str() == MOVED || changed.elapsed() <= TTL + Duration::from_secs(2));
        tokio::time::sleep(Duration::from_millis(100)).await;
        calls = ssm.calls().len();
    }
    // One at first, and one every four to five minutes.
    assert!((12..=17).contains(&calls), "{calls} calls");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_tenant_is_served_with_what_is_known_when_ssm_fails_or_says_nothing_for_two_seconds() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE), ("/bolt/consumer_sqs", POOL_QUEUE)]);
    let directory = ssm.directory(TTL);
    directory.queue(&env("acme")).await.unwrap();
    directory.queue(&env("bolt")).await.unwrap();
    tokio::time::sleep(2 * TTL).await;
    ssm.fail_next(1, 400, "ThrottlingException");
    assert_eq!(directory.queue(&env("acme")).await.unwrap().as_str(), ACME_QUEUE);
    assert_eq!(ssm.calls().len(), 3);

    tokio::time::sleep(2 * TTL).await;
    ssm.answer_after(Some(Duration::from_secs(3_600)));
    let asked = tokio::time::Instant::now();
    assert_eq!(directory.queue(&env("acme")).await.unwrap().as_str(), ACME_QUEUE);
    assert_eq!(asked.elapsed().as_secs(), 2);
    // From here SSM is known to be down, and nobody waits for it: not the same tenant, and not another quiet one.
    for _ in 0..1_000 {
        let asked = tokio::time::Instant::now();
        assert_eq!(directory.queue(&env("acme")).await.unwrap().as_str(), ACME_QUEUE);
        assert_eq!(directory.queue(&env("bolt")).await.unwrap().as_str(), POOL_QUEUE);
        assert!(asked.elapsed() < Duration::from_millis(10), "{:?}", asked.elapsed());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    ssm.answer_after(None);
    ssm.put("/acme/consumer_sqs", MOVED);
    tokio::time::sleep(2 * TTL).await;
    assert_eq!(directory.queue(&env("acme")).await.unwrap().as_str(), MOVED);
}

#[tokio::test(start_paused = true)]
async fn a_queue_said_to_be_gone_during_a_slow_refresh_waits_for_that_and_is_asked_for_once() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE), ("/bolt/consumer_sqs", POOL_QUEUE)]);
    let directory = ssm.directory(TTL);
    let old = directory.queue(&env("acme")).await.unwrap();
    tokio::time::advance(TTL).await;
    ssm.answer_after(Some(Duration::from_secs(1)));
    // Another tenant's first lookup holds the line, and the refresh waits behind it.
    let other = tokio::spawn({
        let directory = directory.clone();
        async move { directory.queue(&env("bolt")).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    directory.queue(&env("acme")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    directory.queue_is_gone(&env("acme"), &old);
    assert_eq!(directory.queue(&env("acme")).await.unwrap().as_str(), ACME_QUEUE);
    assert!(other.await.unwrap().is_ok());
    assert_eq!(ssm.calls(), [["/acme/consumer_sqs"], ["/bolt/consumer_sqs"], ["/acme/consumer_sqs"]]);
}

#[tokio::test(start_paused = true)]
async fn a_queue_said_to_be_gone_serves_on_while_ssm_cannot_tell() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE)]);
    let directory = ssm.directory(TTL);
    let queue = directory.queue(&env("acme")).await.unwrap();
    ssm.fail_next(1_000, 400, "ThrottlingException");
    directory.queue_is_gone(&env("acme"), &queue);
    for _ in 0..150 {
        assert_eq!(directory.queue(&env("acme")).await.unwrap(), queue);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let calls = ssm.calls().len();
    assert!((2..=6).contains(&calls), "{calls} calls in fifteen seconds");
}

#[tokio::test(start_paused = true)]
async fn what_turns_a_request_away_is_read_again_twice_a_minute_at_most() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", POOL_QUEUE)]);
    let directory = ssm.directory(TTL);
    directory.queue(&env("acme")).await.unwrap();
    ssm.put("/acme/consumer_sqs", ACME_QUEUE);
    assert_eq!(directory.queue_confirmed(&env("acme")).await.unwrap().as_str(), POOL_QUEUE);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(directory.queue_confirmed(&env("acme")).await.unwrap().as_str(), ACME_QUEUE);
    let calls = ssm.calls().len();
    for _ in 0..600 {
        directory.queue_confirmed(&env("acme")).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(ssm.calls().len() <= calls + 2, "{} calls in a minute", ssm.calls().len() - calls);
}
