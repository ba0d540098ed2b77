//! From the queue to the table, when nothing fails.

use super::fake::{Call, Fake, message, message_of, messages, millis};
use super::*;

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn alone_a_message_is_written_and_deleted_at_once() {
    let fake = Fake::new();
    let running = start(&fake);
    pass(7).await;
    fake.arrives(messages(["a"]));
    pass(1).await;
    assert_eq!(fake.calls(), [(7, Call::Write(texts(&["a"]))), (7, Call::Delete(texts(&["h-a"])))]);
    running.stop_within(Duration::from_secs(30)).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_before_its_record_is_confirmed() {
    let fake = Fake::new().brings(messages(["a", "b"])).writes(|_, _| (millis(3_000), Ok(Vec::new())));
    let _running = start(&fake);
    pass(2_999).await;
    assert_eq!(fake.calls(), [(0, Call::Write(texts(&["a", "b"])))]);
    pass(2).await;
    assert_eq!(fake.calls()[1], (3_000, Call::Delete(texts(&["h-a", "h-b"]))));
}

#[tokio::test(start_paused = true)]
async fn answers_without_messages_mean_nothing_now() {
    let fake = Fake::new().brings(Vec::new()).brings(Vec::new());
    let running = start(&fake);
    pass(59_000).await;
    assert_eq!(fake.calls(), []);
    // The two that came at once have a pause after them; then an idle minute is three polls, one at a time.
    assert_eq!(fake.receives(), [0, 500, 1_000, 21_000, 41_000]);
    assert!(running.liveness.is_alive());
}

#[tokio::test(start_paused = true)]
async fn a_receive_asks_for_ten_a_long_poll_and_the_visibility_timeout() {
    let fake = Fake::new();
    let _running = start_with(&fake, limits(7));
    pass(1).await;
    let ask = fake.asks()[0];
    assert_eq!((ask.most, ask.wait, ask.visibility), (10, Duration::from_secs(20), Duration::from_secs(7)));
}

#[tokio::test(start_paused = true)]
async fn at_depth_nearly_every_batch_is_full() {
    let mut fake = Fake::new().writes(|_, _| (millis(20), Ok(Vec::new()))).deletes(|_, _| (millis(20), Ok(Vec::new())));
    for receive in 0..1_000 {
        fake = fake.receives_in(millis(20), Ok(messages((0..10).map(|n| format!("{receive:04}-{n}")))));
    }
    let _running = start(&fake);
    pass(5_000).await;
    assert_eq!(fake.stored().len(), 10_000);
    assert_eq!(fake.deleted().len(), 10_000);
    let writes = fake.writes_made();
    assert!(writes.len() <= 450, "{} writes of 10,000 messages", writes.len());
    assert!(fake.deletes_made().len() <= 1_050, "{} deletes of 10,000 messages", fake.deletes_made().len());
}

#[tokio::test(start_paused = true)]
async fn receives_writes_and_deletes_overlap() {
    let mut fake = Fake::new().writes(|_, _| (millis(20), Ok(Vec::new()))).deletes(|_, _| (millis(20), Ok(Vec::new())));
    for receive in 0..1_000 {
        fake = fake.receives_in(millis(20), Ok(messages((0..10).map(|n| format!("{receive:04}-{n}")))));
    }
    let _running = start(&fake);
    while fake.stored().len() < 10_000 {
        pass(1).await;
    }
    let last = fake.calls().last().unwrap().0;
    assert!(last < 700, "10,000 messages with 20 ms a call took {last} ms");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_stuck_does_not_hold_up_what_comes_after_it() {
    let fake = Fake::new().brings(messages(["stuck"])).writes(|number, _| {
        let after = if number == 1 { millis(3_000) } else { millis(5) };
        (after, Ok(Vec::new()))
    });
    let _running = start(&fake);
    pass(100).await;
    fake.arrives(messages(["next"]));
    pass(60).await;
    assert_eq!(fake.stored(), ["next"]);
    assert_eq!(fake.deleted(), ["h-next"]);
}

#[tokio::test(start_paused = true)]
async fn two_messages_with_one_key_are_one_write_the_last_wins_and_both_are_deleted_after_it() {
    let twice =
        vec![message_of("key", Some("acme"), "m1", "h1"), message("a"), message_of("key", Some("acme"), "m2", "h2")];
    let fake = Fake::new().brings(twice).writes(|_, _| (millis(10), Ok(Vec::new())));
    let _running = start(&fake);
    pass(5).await;
    assert_eq!(fake.deleted(), Vec::<String>::new());
    pass(100).await;
    assert_eq!(fake.writes_made(), [texts(&["key", "a"])]);
    assert_eq!(fake.body_of("key"), "body of m2");
    assert_eq!(fake.deleted(), ["h-a", "h1", "h2"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_received_again_while_it_is_written_is_deleted_with_its_latest_handle() {
    let fake = Fake::new()
        .brings(vec![message_of("key", Some("acme"), "m", "h1")])
        .receives_in(millis(1_000), Ok(vec![message_of("key", Some("acme"), "m", "h2")]))
        .writes(|_, _| (millis(2_000), Ok(Vec::new())));
    let _running = start(&fake);
    pass(10_000).await;
    assert_eq!(fake.writes_made(), [texts(&["key"])]);
    assert_eq!(fake.deleted(), ["h2"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_in_flight_is_bounded() {
    let mut fake = Fake::new().writes(|_, _| (millis(60_000), Ok(Vec::new())));
    for receive in 0..100 {
        fake = fake.brings(messages((0..10).map(|n| format!("{receive}-{n}"))));
    }
    let few = Limits::new(8, 60, 8_388_608, Duration::from_secs(30), Duration::from_secs(30));
    let _running = start_with(&fake, few);
    pass(1_000).await;
    assert_eq!(fake.receives().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn slow_work_stays_hidden_from_others() {
    let fake = Fake::new().brings(messages(["a"])).writes(|number, _| {
        let after = if number < 3 { millis(8_000) } else { Duration::ZERO };
        (after, Ok(Vec::new()))
    });
    let running = start_with(&fake, limits(5));
    pass(2_400).await;
    assert_eq!(fake.hidden(), []);
    pass(800).await;
    assert_eq!(fake.hidden(), [("h-a".to_owned(), 5)]);
    pass(60_000).await;
    assert_eq!(fake.stored(), ["a"]);
    assert_eq!(fake.deleted(), ["h-a"]);
    running.stop_within(Duration::from_secs(30)).await;
}

#[tokio::test(start_paused = true)]
async fn a_visibility_timeout_of_a_second_is_kept_as_well() {
    let fake = Fake::new().brings(messages(["a"])).writes(|_, _| (millis(450), Ok(Vec::new())));
    let _running = start_with(&fake, limits(1));
    pass(2_000).await;
    assert_eq!((fake.stored(), fake.deleted()), (texts(&["a"]), texts(&["h-a"])));
}
