//! Bugs of our own: a panic costs the messages that it met a pause, and nobody else anything.

use super::fake::{Fake, messages, millis};
use super::*;

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_write_hands_its_messages_back_and_draining_goes_on() {
    let fake = Fake::new().brings(messages(["a", "b"])).writes(|number, _| {
        assert_ne!(number, 1, "a bug of ours");
        (millis(1), Ok(Vec::new()))
    });
    let running = start(&fake);
    pass(10).await;
    assert_eq!(fake.hidden(), [("h-a".to_owned(), 5), ("h-b".to_owned(), 5)]);
    // Not extended any more: after their five seconds others see them.
    pass(60_000).await;
    assert_eq!(fake.hidden().len(), 2);
    fake.arrives(messages(["a", "b", "c"]));
    pass(10).await;
    assert_eq!(fake.deleted(), ["h-a", "h-b", "h-c"]);
    assert!(running.stop_within(Duration::from_secs(30)).await < Duration::from_secs(21));
}

#[tokio::test(start_paused = true)]
async fn panics_in_writes_give_back_the_room_that_their_messages_took() {
    let mut fake = Fake::new().writes(|_, ids| {
        assert!(ids.iter().all(|id| id.starts_with("good")), "a bug of ours");
        (millis(1), Ok(Vec::new()))
    });
    // Ten times what may be in flight.
    for receive in 0..20 {
        fake = fake.receives_in(millis(100), Ok(messages((0..10).map(|n| format!("bad-{receive:02}-{n}")))));
    }
    let fake = fake.receives_in(millis(1_000), Ok(messages((0..10).map(|n| format!("good-{n}")))));
    let limits = Limits::new(2, 20, 8_388_608, Duration::from_secs(30), Duration::from_secs(30));
    let _running = start_with(&fake, limits);
    pass(20_000).await;
    let good: Vec<String> = (0..10).map(|n| format!("h-good-{n}")).collect();
    assert_eq!(fake.deleted(), good);
    assert_eq!(fake.hidden().len(), 200, "each bad one is handed back once");
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_receive_or_a_delete_is_followed_by_the_next_one() {
    let fake = Fake::new().brings(messages(["a"])).deletes(|number, _| {
        assert_ne!(number, 1, "a bug of ours");
        (millis(1), Ok(Vec::new()))
    });
    fake.breaks_at_receive(2);
    let running = start(&fake);
    pass(5_000).await;
    fake.arrives(messages(["b"]));
    pass(100).await;
    assert_eq!(fake.deleted(), ["h-a", "h-b"]);
    assert!(running.liveness.is_alive());
}
