//! When the table, or the queue on the way in, does not do as it should.

use super::fake::{Call, Fake, denied, failure, invalid, message, messages, millis, throttled};
use super::*;
use tenancy::aws::Fault;
use tenancy::directory::LookupError;

#[tokio::test(start_paused = true)]
async fn unprocessed_items_are_written_again_and_the_others_go_on() {
    let fake = Fake::new().brings(messages(0..10)).writes(|number, _| {
        let left = if number == 1 { vec![3, 7] } else { Vec::new() };
        (millis(100), Ok(left))
    });
    let _running = start(&fake);
    pass(1_000).await;
    assert_eq!(fake.writes_made()[1..], [vec!["3".to_owned(), "7".to_owned()]]);
    assert_eq!(fake.stored().len(), 10);
    let deletes: Vec<_> = fake.calls().into_iter().filter(|(_, call)| matches!(call, Call::Delete(_))).collect();
    let [(_, Call::Delete(first)), (second_at, Call::Delete(second))] = &deletes[..] else { panic!("{deletes:?}") };
    assert_eq!(first.len(), 8);
    assert_eq!(second, &["h-3", "h-7"]);
    assert!(*second_at >= fake.stored_at("3"));
}

#[tokio::test(start_paused = true)]
async fn one_bad_record_is_isolated_and_its_neighbours_are_stored_on_the_same_receive() {
    let fake = Fake::new().brings(messages(["a", "b", "bad", "c", "d", "e", "f", "g", "h", "i"])).writes(|_, ids| {
        let answer = if ids.iter().any(|id| id == "bad") { Err(invalid()) } else { Ok(Vec::new()) };
        (millis(5), answer)
    });
    let _running = start(&fake);
    pass(1_000).await;
    assert_eq!(fake.stored(), ["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
    assert_eq!(fake.deleted().len(), 9);
    assert_eq!(fake.hidden(), [("h-bad".to_owned(), 5)]);
    assert!(fake.writes_made().len() <= 9, "halving finds one in ten with few calls: {:?}", fake.writes_made());
}

#[tokio::test(start_paused = true)]
async fn a_table_that_refuses_everything_is_asked_ever_less_often() {
    let mut fake = Fake::new().writes(|_, _| (millis(5), Err(invalid())));
    for receive in 0..1_000 {
        fake = fake.receives_in(millis(20), Ok(messages((0..10).map(|n| format!("{receive}-{n}")))));
    }
    let _running = start(&fake);
    pass(120_000).await;
    let receives = fake.receives().into_iter().filter(|at| *at > 2_000).count();
    assert!(receives <= 10, "{receives} receives in two minutes, once it was known");
    assert_eq!(fake.deleted(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_as_a_whole_is_made_again() {
    for fault in [throttled(), failure(Fault::Transient, "InternalServerError"), failure(Fault::NoCredentials, "none")]
    {
        let fake = Fake::new().brings(messages(["a", "b"])).writes(move |number, _| {
            let answer = if number < 3 { Err(fault.clone()) } else { Ok(Vec::new()) };
            (millis(1), answer)
        });
        let _running = start(&fake);
        pass(2_000).await;
        assert_eq!((fake.stored().len(), fake.deleted().len()), (2, 2));
        assert_eq!(fake.writes_made().len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn thirty_percent_throttled_lose_nothing() {
    let mut fake = Fake::new().writes(|number, ids| {
        let left = (0..ids.len()).filter(|at| (at + number) % 10 < 3).collect();
        (millis(5), Ok(left))
    });
    for receive in 0..20 {
        fake = fake.brings(messages((0..10).map(|n| format!("{receive}-{n}"))));
    }
    let _running = start(&fake);
    pass(10_000).await;
    assert_eq!((fake.stored().len(), fake.deleted().len()), (200, 200));
}

#[tokio::test(start_paused = true)]
async fn a_role_that_may_only_put_is_noticed_once_and_nothing_is_lost() {
    let fake = Fake::new().brings(messages(0..10)).writes(|_, _| (millis(5), Err(denied())));
    let _running = start(&fake);
    pass(1_000).await;
    fake.arrives(messages(10..15));
    pass(1_000).await;
    assert_eq!((fake.stored().len(), fake.deleted().len()), (15, 15));
    assert_eq!(fake.writes_made().len(), 1, "the batch call is not tried again");
}

#[tokio::test(start_paused = true)]
async fn an_identity_that_is_not_accepted_is_no_reason_to_write_one_by_one() {
    let fake = Fake::new().brings(messages(["a"])).writes(|number, _| {
        let answer = if number == 1 { Err(failure(Fault::Denied, "ExpiredTokenException")) } else { Ok(Vec::new()) };
        (millis(5), answer)
    });
    let _running = start(&fake);
    pass(1_000).await;
    assert_eq!(fake.writes_made().len(), 2);
    assert!(!fake.calls().iter().any(|(_, call)| matches!(call, Call::Put(_))));
}

#[tokio::test(start_paused = true)]
async fn a_role_that_may_not_even_put_is_an_outage_and_batches_are_tried_first_again() {
    let fake = Fake::new()
        .brings(messages(["a"]))
        .writes(|number, _| (millis(5), if number < 4 { Err(denied()) } else { Ok(Vec::new()) }))
        .puts(|_, _| (millis(5), Err(denied())));
    let _running = start(&fake);
    pass(5_000).await;
    assert_eq!(fake.writes_made().len(), 4);
    assert_eq!((fake.stored(), fake.deleted()), (vec!["a".to_owned()], vec!["h-a".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_table_pauses_receiving_and_keeps_what_is_in_hand_hidden() {
    let start_of_test = Instant::now();
    let mut fake = Fake::new().writes(move |_, _| {
        let down = start_of_test.elapsed() < Duration::from_secs(120);
        (millis(5), if down { Err(failure(Fault::Transient, "InternalServerError")) } else { Ok(Vec::new()) })
    });
    for receive in 0..50 {
        fake = fake.receives_in(millis(100), Ok(messages((0..10).map(|n| format!("{receive:02}-{n}")))));
    }
    let running = start(&fake);
    pass(119_000).await;
    let receives = fake.receives().len();
    assert!((1..=20).contains(&receives), "{receives} receives during the outage");
    assert_eq!((fake.stored().len(), fake.deleted().len()), (0, 0));
    let extended = fake.hidden();
    assert!(extended.iter().all(|(_, seconds)| *seconds == 30));
    let of_one = extended.iter().filter(|(handle, _)| handle == "h-00-0").count();
    assert!((5..=9).contains(&of_one), "extended {of_one} times in two minutes of 30 s each");
    assert!(running.liveness.is_alive(), "an outage of the table is no reason to start anew");
    pass(30_000).await;
    assert_eq!((fake.stored().len(), fake.deleted().len()), (500, 500));
}

#[tokio::test(start_paused = true)]
async fn a_table_that_is_gone_is_looked_up_again_and_the_new_one_is_written() {
    let fake = Fake::new().brings(messages(["a"])).writes(|number, _| {
        let answer = if number < 3 { Err(failure(Fault::Gone, "ResourceNotFoundException")) } else { Ok(Vec::new()) };
        (millis(5), answer)
    });
    let running = start(&fake);
    pass(6).await;
    assert_eq!(fake.gone(), ["consumer-acme"]);
    fake.set_table(Ok("consumer-acme-2"));
    pass(2_000).await;
    assert_eq!(fake.tables_written(), ["consumer-acme-2"]);
    assert_eq!(fake.deleted(), ["h-a"]);
    running.stop_within(Duration::from_secs(30)).await;
}

#[tokio::test(start_paused = true)]
async fn while_the_table_s_parameter_is_missing_messages_are_kept() {
    let fake = Fake::new().brings(messages(["a"]));
    fake.set_table(Err(LookupError::NotFound));
    let _running = start(&fake);
    pass(60_000).await;
    assert_eq!(fake.writes_made().len(), 0);
    assert!(fake.hidden().len() >= 2);
    fake.set_table(Ok("consumer-acme"));
    pass(6_000).await;
    assert_eq!((fake.stored(), fake.deleted()), (vec!["a".to_owned()], vec!["h-a".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_table_that_answers_late_gets_more_time_with_each_try() {
    let fake = Fake::new().brings(messages(["a"])).writes(|_, _| (millis(8_000), Ok(Vec::new())));
    let _running = start_with(&fake, limits(5));
    pass(60_000).await;
    assert_eq!((fake.stored(), fake.deleted()), (vec!["a".to_owned()], vec!["h-a".to_owned()]));
    assert_eq!(fake.writes_made().len(), 3, "2.5 s, 5 s, then 10 s are enough");
}

#[tokio::test(start_paused = true)]
async fn receives_that_fail_are_made_a_handful_of_times_in_thirty_seconds_and_then_go_on() {
    for fault in [Fault::Gone, Fault::Denied, Fault::Transient, Fault::NoCredentials] {
        let mut fake = Fake::new();
        for _ in 0..5 {
            fake = fake.receives_in(Duration::ZERO, Err(failure(fault, "x")));
        }
        let fake = fake.brings(messages(["a"]));
        let running = start(&fake);
        pass(14_000).await;
        let receives = fake.receives().len();
        assert!((4..=5).contains(&receives), "{receives} receives in 14 s");
        pass(18_000).await;
        assert_eq!(fake.deleted(), ["h-a"], "it recovers by itself");
        assert_eq!(fake.gone().len(), if fault == Fault::Gone { 5 } else { 0 });
        running.stop_within(Duration::from_secs(30)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_was_replaced_is_drained_at_its_new_place() {
    let fake =
        Fake::new().receives_in(Duration::ZERO, Err(failure(Fault::Gone, "QueueDoesNotExist"))).brings(messages(["a"]));
    let _running = start(&fake);
    pass(1).await;
    assert_eq!(fake.gone(), ["consumer-acme"]);
    fake.set_queue(Ok("consumer-acme-2"));
    pass(2_000).await;
    assert_eq!(fake.deleted(), ["h-a"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_given_up_and_polled_again() {
    let fake = Fake::new().receives_in(millis(1_000_000), Ok(Vec::new())).brings(messages(["a"]));
    let running = start(&fake);
    pass(27_000).await;
    let receives = fake.receives();
    assert!(receives[1] >= 25_500 && receives[1] <= 26_000, "{receives:?}");
    assert_eq!(fake.deleted(), ["h-a"]);
    assert!(running.liveness.is_alive());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_may_be_written_twice_is_the_same_record() {
    // The first write has its effect and no answer.
    let fake = Fake::new().brings(vec![message("a")]).writes(|number, _| {
        let after = if number == 1 { millis(10_000) } else { millis(5) };
        (after, Ok(Vec::new()))
    });
    let _running = start(&fake);
    pass(20_000).await;
    assert_eq!(fake.writes_made(), [vec!["a".to_owned()], vec!["a".to_owned()]]);
    assert_eq!((fake.stored(), fake.deleted()), (vec!["a".to_owned()], vec!["h-a".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn bad_records_side_by_side_delay_their_neighbours_by_a_pause_and_no_more() {
    let names = ["bad-1", "bad-2", "bad-3", "a", "b", "c", "d", "e", "f", "g"];
    let fake = Fake::new().brings(messages(names)).writes(|_, ids| {
        let answer = if ids.iter().any(|id| id.starts_with("bad")) { Err(invalid()) } else { Ok(Vec::new()) };
        (millis(5), answer)
    });
    let _running = start(&fake);
    pass(1_000).await;
    assert_eq!(fake.stored(), ["a", "b", "c", "d", "e", "f", "g"]);
    assert_eq!(fake.hidden(), [("h-bad-1".to_owned(), 5), ("h-bad-2".to_owned(), 5), ("h-bad-3".to_owned(), 5)]);
}
