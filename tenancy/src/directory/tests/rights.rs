//! Roles that may read a part of it, answers that say a part of it, and a flood of made-up ids.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_name_that_an_answer_leaves_out_fails_alone() {
    let tenants: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
    let ssm = Ssm::default();
    for tenant in &tenants {
        ssm.put(&format!("/{tenant}/consumer_sqs"), POOL_QUEUE);
    }
    ssm.leave_out("/t4/consumer_sqs");
    let directory = ssm.directory(TTL);
    let ids: Vec<_> = tenants.iter().map(|tenant| env(tenant)).collect();
    let all = futures_util::future::join_all(ids.iter().map(|id| directory.queue(id))).await;
    for (tenant, queue) in tenants.iter().zip(all) {
        assert_eq!(queue.err(), (tenant == "t4").then_some(LookupError::Unavailable), "{tenant}");
    }
    assert_eq!(ssm.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_denied_fails_alone_and_the_others_are_had_within_the_budget() {
    let tenants: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
    let ssm = Ssm::default();
    for tenant in &tenants {
        ssm.put(&format!("/{tenant}/consumer_sqs"), POOL_QUEUE);
    }
    ssm.deny("/t4/consumer_sqs");
    let directory = ssm.directory(TTL);
    let ids: Vec<_> = tenants.iter().map(|tenant| env(tenant)).collect();
    let asked = tokio::time::Instant::now();
    let all = futures_util::future::join_all(ids.iter().map(|id| directory.queue(id))).await;
    for (tenant, queue) in tenants.iter().zip(all) {
        assert_eq!(queue.err(), (tenant == "t4").then_some(LookupError::Unavailable), "{tenant}");
    }
    assert!(ssm.calls().len() <= 11 + 10, "{} calls", ssm.calls().len());
    assert!(ssm.calls().len() as f64 <= 4.0 + 1.0 + 2.0 * asked.elapsed().as_secs_f64());
}

#[tokio::test(start_paused = true)]
async fn names_are_read_together_again_after_a_quarter_of_an_hour() {
    let ssm = Ssm::holding(&[("/pool-1/consumer_sqs", POOL_QUEUE), ("/pool-1/consumer_ddb", POOL_TABLE)]);
    ssm.deny_together(true);
    let directory = ssm.directory(TTL);
    directory.resources(&env("pool-1")).await.unwrap();
    assert_eq!(ssm.calls().len(), 3);
    ssm.deny_together(false);
    tokio::time::sleep(Duration::from_secs(14 * 60)).await;
    directory.resources(&env("pool-1")).await.unwrap();
    assert_eq!(ssm.calls()[3..], [["/pool-1/consumer_sqs"], ["/pool-1/consumer_ddb"]]);
    tokio::time::sleep(Duration::from_secs(6 * 60)).await;
    directory.resources(&env("pool-1")).await.unwrap();
    assert_eq!(ssm.calls()[5..], [["/pool-1/consumer_sqs", "/pool-1/consumer_ddb"]]);
}

#[tokio::test(start_paused = true)]
async fn a_role_without_any_right_costs_few_calls_and_is_served_soon_after_it_has_one() {
    let ssm = Ssm::holding(&[("/pool-1/consumer_sqs", POOL_QUEUE), ("/pool-1/consumer_ddb", POOL_TABLE)]);
    ssm.deny("/pool-1/consumer_sqs");
    ssm.deny("/pool-1/consumer_ddb");
    let directory = ssm.directory(TTL);
    for _ in 0..600 {
        assert_eq!(directory.resources(&env("pool-1")).await, Err(LookupError::Unavailable));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(ssm.calls().len() <= 3 * 32, "{} calls in a minute", ssm.calls().len());
    ssm.0.lock().unwrap().denied.clear();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = ssm.calls().len();
    assert!(directory.resources(&env("pool-1")).await.is_ok());
    assert_eq!(ssm.calls()[before..], [["/pool-1/consumer_sqs", "/pool-1/consumer_ddb"]]);
}

/// 150 made-up ids a second, each asked for `times` times a second apart, and twenty registered tenants that ask every second:
/// how long these took.
async fn first_served_in_a_flood(times: usize) -> Vec<Duration> {
    let ssm = Ssm::default();
    for n in 0..20 {
        ssm.put(&format!("/t{n}/consumer_sqs"), POOL_QUEUE);
    }
    let directory = ssm.directory(TTL);
    let strangers = tokio::spawn({
        let directory = directory.clone();
        async move {
            for step in 0_usize.. {
                let (id, directory) = (env(&format!("x{}-{}", step / (150 * times), step % 150)), directory.clone());
                tokio::spawn(async move { directory.queue(&id).await });
                tokio::time::sleep(Duration::from_micros(6_667)).await;
            }
        }
    });
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut tenants = tokio::task::JoinSet::new();
    for n in 0..20 {
        let directory = directory.clone();
        tenants.spawn(async move {
            let began = tokio::time::Instant::now();
            while directory.queue(&env(&format!("t{n}"))).await.is_err() {
                assert!(began.elapsed() < Duration::from_secs(60));
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            began.elapsed()
        });
    }
    let served = tenants.join_all().await;
    strangers.abort();
    served
}

#[tokio::test(start_paused = true)]
async fn made_up_ids_right_after_a_start_keep_no_registered_tenant_out() {
    // Turned away once, or twice where another of these comes first: then they are ahead of whoever asks once.
    let served = first_served_in_a_flood(1).await;
    assert!(served.iter().all(|time| *time <= Duration::from_secs(5)), "{served:?}");
}

#[tokio::test(start_paused = true)]
async fn made_up_ids_that_are_asked_for_again_and_again_keep_no_registered_tenant_out_either() {
    // 150 a second, of which 20 are read: to be ahead of everyone takes to ask eight times or so, each after a second and a half.
    let served = first_served_in_a_flood(5).await;
    assert!(served.iter().all(|time| *time <= Duration::from_secs(20)), "{served:?}");
}
