//! What ids that anyone may have made up cost: calls, and memory.

use super::*;

/// Remembered at one time, as the sources of the cache have it.
const MOST_ABSENT: usize = 10_000;

#[tokio::test(start_paused = true)]
async fn new_ids_that_keep_coming_cost_two_calls_a_second_after_a_burst_of_four() {
    let ssm = Ssm::default();
    let directory = ssm.directory(TTL);
    let (began, mut asked) = (tokio::time::Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(10) {
        // More than a call has names for, so that each call that may be made is.
        for _ in 0..11 {
            let (directory, id) = (directory.clone(), env(&format!("stranger-{asked}")));
            tokio::spawn(async move { directory.queue(&id).await });
            asked += 1;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let calls = ssm.calls().len();
    assert!((20..=4 + 2 * 10).contains(&calls), "{calls} calls in ten seconds for {asked} ids");
    assert!(ssm.calls().iter().all(|names| names.len() <= 10));
}

#[tokio::test(start_paused = true)]
async fn ids_that_do_not_exist_are_remembered_up_to_a_bound_and_forgotten_for_new_ones() {
    let ssm = Ssm::default();
    let directory = ssm.directory(TTL);
    for n in 0..MOST_ABSENT + 500 {
        directory.queues.learn_absent(&env(&format!("stranger-{n}")), LookupError::NotFound);
        assert!(directory.queues.absent() <= MOST_ABSENT, "{} are remembered", directory.queues.absent());
    }
    assert_eq!(directory.queue(&env("stranger-0")).await, Err(LookupError::NotFound));
    assert_eq!((directory.queues.absent(), ssm.calls().len()), (MOST_ABSENT, 0));
    // Past their time they make room.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(directory.queue(&env("newcomer")).await, Err(LookupError::NotFound));
    assert_eq!((directory.queues.absent(), ssm.calls().len()), (1, 1));
    assert_eq!(directory.queue(&env("newcomer")).await, Err(LookupError::NotFound));
    assert_eq!(ssm.calls().len(), 1);
}
