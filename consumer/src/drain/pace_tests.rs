use super::*;
use tokio::time::timeout;

const MOMENT: Duration = Duration::from_millis(1);

async fn turn(pace: &Pace) -> Option<Instant> {
    timeout(MOMENT, pace.turn()).await.ok().flatten()
}

#[tokio::test(start_paused = true)]
async fn an_idle_queue_is_polled_by_one() {
    let pace = Pace::new(8, Duration::ZERO);
    let first = turn(&pace).await.unwrap();
    assert!(turn(&pace).await.is_none());
    pace.ended(first, Ended::Brought(0, 10));
    let second = turn(&pace).await.unwrap();
    assert!(turn(&pace).await.is_none());
    pace.ended(second, Ended::Brought(1, 10));
    assert!(turn(&pace).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn full_receives_wake_pollers_up_to_the_bound_and_empty_ones_send_them_to_sleep() {
    let pace = Pace::new(3, Duration::ZERO);
    for polling in [2, 3, 3] {
        let began = turn(&pace).await.unwrap();
        pace.ended(began, Ended::Brought(10, 10));
        assert!(pace.at_depth());
        let mut turns = Vec::new();
        while let Some(began) = turn(&pace).await {
            turns.push(began);
        }
        assert_eq!(turns.len(), polling);
        for began in turns {
            pace.ended(began, Ended::Unused);
        }
    }
    for polling in [2, 1, 1] {
        let began = turn(&pace).await.unwrap();
        pace.ended(began, Ended::Brought(0, 10));
        assert!(!pace.at_depth());
        let mut turns = Vec::new();
        while let Some(began) = turn(&pace).await {
            turns.push(began);
        }
        assert_eq!(turns.len(), polling);
        for began in turns {
            pace.ended(began, Ended::Unused);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_sleeping_poller_is_woken_by_a_full_receive() {
    let pace = std::sync::Arc::new(Pace::new(2, Duration::ZERO));
    let began = turn(&pace).await.unwrap();
    let sleeping = tokio::spawn({
        let pace = pace.clone();
        async move { pace.turn().await }
    });
    tokio::time::sleep(MOMENT).await;
    pace.ended(began, Ended::Brought(10, 10));
    let _own = turn(&pace).await.unwrap();
    assert!(timeout(MOMENT, sleeping).await.unwrap().unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn after_an_error_one_probes_with_growing_pauses_until_a_receive_succeeds() {
    let pace = Pace::new(4, Duration::ZERO);
    let mut began = turn(&pace).await.unwrap();
    for ceiling in [1, 2, 4, 8, 16, 20, 20] {
        let failed_at = Instant::now();
        let pause = pace.ended(began, Ended::Failed).unwrap();
        assert!(pause >= Duration::from_millis(ceiling * 500) && pause <= Duration::from_secs(ceiling), "{pause:?}");
        began = pace.turn().await.unwrap();
        assert_eq!(
            began.duration_since(failed_at).as_millis() - pause.as_millis(),
            u128::from(!pause.subsec_nanos().is_multiple_of(1_000_000))
        );
    }
    pace.ended(began, Ended::Brought(10, 10));
    let (one, two) = (turn(&pace).await, turn(&pace).await);
    assert!(one.is_some() && two.is_some(), "the next receives start at once");
    let pause = pace.ended(one.unwrap(), Ended::Failed).unwrap();
    assert!(pause <= Duration::from_secs(1), "the pauses started over");
}

#[tokio::test(start_paused = true)]
async fn pollers_that_fail_together_make_one_pause_and_one_line() {
    let pace = Pace::new(8, Duration::ZERO);
    let began = turn(&pace).await.unwrap();
    pace.ended(began, Ended::Brought(10, 10));
    let (one, two) = (turn(&pace).await.unwrap(), turn(&pace).await.unwrap());
    tokio::time::sleep(MOMENT).await;
    assert!(pace.ended(one, Ended::Failed).is_some());
    assert!(pace.ended(two, Ended::Failed).is_none());
}

#[tokio::test(start_paused = true)]
async fn nobody_receives_while_writes_or_deletes_are_down() {
    let pace = std::sync::Arc::new(Pace::new(4, Duration::ZERO));
    let began = turn(&pace).await.unwrap();
    pace.set_down(Downstream::Writes, true);
    pace.set_down(Downstream::Deletes, true);
    assert!(!pace.may_receive());
    pace.ended(began, Ended::Brought(10, 10));
    let waiting = tokio::spawn({
        let pace = pace.clone();
        async move { pace.turn().await }
    });
    tokio::time::sleep(Duration::from_secs(100)).await;
    pace.set_down(Downstream::Writes, false);
    tokio::time::sleep(MOMENT).await;
    assert!(!waiting.is_finished());
    pace.set_down(Downstream::Deletes, false);
    assert!(timeout(MOMENT, waiting).await.unwrap().unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn no_turn_begins_after_the_stop_and_all_who_wait_end() {
    let pace = std::sync::Arc::new(Pace::new(4, Duration::ZERO));
    let began = turn(&pace).await.unwrap();
    let waiting = tokio::spawn({
        let pace = pace.clone();
        async move { pace.turn().await }
    });
    tokio::time::sleep(MOMENT).await;
    pace.stop();
    assert!(timeout(MOMENT, waiting).await.unwrap().unwrap().is_none());
    pace.ended(began, Ended::Brought(10, 10));
    assert!(timeout(MOMENT, pace.turn()).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn polls_that_are_empty_at_once_have_pauses_between_them() {
    let pace = Pace::new(4, Duration::from_millis(500));
    let began = turn(&pace).await.unwrap();
    pace.ended(began, Ended::EmptyAtOnce);
    let empty_at = Instant::now();
    let began = pace.turn().await.unwrap();
    assert_eq!(began.duration_since(empty_at), Duration::from_millis(500));
    pace.ended(began, Ended::Brought(3, 10));
    assert!(turn(&pace).await.is_some());
}
