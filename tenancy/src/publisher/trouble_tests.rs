//! Lanes in trouble: each for itself, and over soon after its cause.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_throttled_lane_pauses_and_the_other_lane_does_not_notice() {
    let plane = plane(|_, queue, _| if queue == "consumer-acme" { failed(400, "ThrottlingException") } else { None });
    let throttled = join_all((0..50).map(|_| plane.send("1")));
    let quick = async {
        let mut took = Vec::new();
        for _ in 0..30 {
            tokio::time::sleep(Duration::from_millis(250)).await;
            let began = Instant::now();
            plane.send_to(OTHER, "2").await.unwrap();
            took.push(began.elapsed());
        }
        took
    };
    let (throttled, quick) = tokio::join!(throttled, quick);
    assert_eq!(throttled, vec![Err(SendError::Deadline); 50]);
    assert_eq!(quick, vec![Duration::from_millis(20); 30]);
}

#[tokio::test(start_paused = true)]
async fn after_three_minutes_of_errors_silence_and_throttling_messages_are_sent_again_within_two_seconds() {
    let began = Instant::now();
    let plane = plane(move |_, _, bodies| match began.elapsed().as_secs() {
        0..60 => failed(500, "InternalError"),
        // Given up after four seconds.
        60..120 => Some(all_sent(bodies.len(), 3_600_000)),
        120..180 => failed(400, "ThrottlingException"),
        _ => None,
    });
    // Two messages a second, each with ten seconds of time.
    let sends = (0..380_u32).map(|n| {
        let plane = &plane;
        async move {
            tokio::time::sleep(n * Duration::from_millis(500)).await;
            let sent = Instant::now();
            (plane.send("1").await, sent.elapsed(), began.elapsed())
        }
    });
    let (over, recovered) = (Duration::from_secs(180), Duration::from_secs(182));
    for (n, (outcome, took, ended)) in (0_u32..).zip(join_all(sends).await) {
        let sent_at = n * Duration::from_millis(500);
        let deadline = sent_at + Duration::from_secs(10);
        if deadline <= over {
            assert_eq!((outcome, took), (Err(SendError::Deadline), Duration::from_secs(10)), "sent at {sent_at:?}");
        } else if deadline > recovered {
            assert_eq!(outcome, Ok(()), "sent at {sent_at:?}");
            assert!(
                ended <= recovered.max(sent_at) + Duration::from_millis(40),
                "sent at {sent_at:?}, taken at {ended:?}"
            );
        }
    }
    let calm = Instant::now();
    assert_eq!((plane.send("1").await, calm.elapsed()), (Ok(()), Duration::from_millis(20)));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_sqs_fails_for_as_long_as_it_lives_delays_none_of_the_others() {
    let plane = plane(|_, _, bodies| {
        let is_bad = |body: &String| body == "\"bad\"";
        let place = bodies.iter().position(is_bad)?;
        let taken: Vec<Value> = (0..bodies.len()).filter(|at| *at != place).map(sent).collect();
        let failed = json!({"Id": place.to_string(), "Code": "InternalError", "SenderFault": false});
        let mut answer = Answer::new(200, json!({"Successful": taken, "Failed": [failed]}));
        answer.after = Duration::from_millis(20);
        Some(answer)
    });
    let others = async {
        let mut longest = Duration::ZERO;
        for _ in 0..900 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let began = Instant::now();
            plane.send("1").await.unwrap();
            longest = longest.max(began.elapsed());
        }
        longest
    };
    let (bad, longest) = tokio::join!(plane.send("\"bad\""), others);
    assert_eq!(bad, Err(SendError::Deadline));
    // Its own round trip, and at most that of the call it gathered behind.
    assert!(longest <= Duration::from_millis(41), "{longest:?}");
    let tries = plane.calls.lock().unwrap().iter().filter(|(_, bodies)| bodies.contains(&"\"bad\"".to_owned())).count();
    assert!((5..40).contains(&tries), "{tries} tries in ten seconds");
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_takes_no_entry_of_full_calls_is_asked_more_and_more_slowly() {
    let plane = plane(|_, _, bodies| {
        let entry = |at: usize| json!({"Id": at.to_string(), "Code": "InternalError", "SenderFault": false});
        let failed: Vec<Value> = (0..bodies.len()).map(entry).collect();
        let mut answer = Answer::new(200, json!({"Successful": [], "Failed": failed}));
        answer.after = Duration::from_millis(20);
        Some(answer)
    });
    assert_eq!(join_all((0..50).map(|_| plane.send("1"))).await, vec![Err(SendError::Deadline); 50]);
    let calls = plane.calls.lock().unwrap().len();
    assert!(calls < 150, "{calls} calls in ten seconds");
}
