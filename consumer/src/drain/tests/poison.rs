//! Messages that cannot be stored.

use super::fake::{Call, Fake, message, message_of, millis};
use super::*;
use aws_sdk_sqs::types::MessageSystemAttributeName;

#[tokio::test(start_paused = true)]
async fn a_message_without_a_tenant_does_not_hold_up_its_neighbours() {
    let fake = Fake::new().brings(vec![message("a"), message_of("x", None, "bad", "h-bad"), message("b")]);
    let _running = start(&fake);
    pass(100).await;
    assert_eq!(fake.stored(), ["a", "b"]);
    assert_eq!(fake.deleted(), ["h-a", "h-b"]);
    assert_eq!(fake.hidden(), [("h-bad".to_owned(), 5)]);
}

#[tokio::test(start_paused = true)]
async fn when_all_are_bad_the_table_is_not_called() {
    let bad =
        |n: usize| message_of("x", [None, Some("Acme"), Some("globex")][n % 3], &format!("m{n}"), &format!("h{n}"));
    let fake = Fake::new().brings((0..10).map(bad).collect());
    let _running = start(&fake);
    pass(1_000).await;
    let calls = fake.calls();
    assert_eq!(calls.len(), 1, "one call hides all ten: {calls:?}");
    let Call::Hide(hidden) = &calls[0].1 else { panic!("{calls:?}") };
    assert_eq!(hidden.len(), 10);
    assert!(hidden.iter().all(|(_, seconds)| *seconds == 5));
}

#[tokio::test(start_paused = true)]
async fn the_more_often_it_was_received_the_longer_it_is_hidden() {
    let mut bad = message_of("x", None, "m", "h");
    let counts = bad.attributes.as_mut().unwrap();
    counts.insert(MessageSystemAttributeName::ApproximateReceiveCount, "4".to_owned());
    let fake = Fake::new().brings(vec![bad]);
    let _running = start(&fake);
    pass(100).await;
    assert_eq!(fake.hidden(), [("h".to_owned(), 40)]);
}

#[tokio::test(start_paused = true)]
async fn a_record_larger_than_an_item_may_be_never_reaches_the_table() {
    let mut large = message("large");
    large.body = Some("x".repeat(409_600));
    let mut fits = message("fits");
    // tenant_id 9 + acme 4, message_id 10 + fits 4, consumer_environment 20 + acme 4, timestamp 9 + 24, body 4
    fits.body = Some("x".repeat(409_600 - 88));
    let fake = Fake::new().brings(vec![large, fits, message("a")]);
    let _running = start(&fake);
    pass(100).await;
    assert_eq!(fake.stored(), ["a", "fits"]);
    assert_eq!(fake.hidden(), [("h-large".to_owned(), 5)]);
}

#[tokio::test(start_paused = true)]
async fn hiding_that_fails_is_tried_once_more_and_then_left_to_the_visibility_timeout() {
    let fake = Fake::new()
        .brings(vec![message_of("x", None, "bad", "h-bad"), message("a")])
        .hides(|_, _| (millis(5), Err(super::fake::throttled())));
    let _running = start(&fake);
    pass(1_000).await;
    assert_eq!(fake.hidden().len(), 2);
    assert_eq!(fake.deleted(), ["h-a"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_without_a_receipt_handle_is_left_alone() {
    let mut odd = message("odd");
    odd.receipt_handle = None;
    let fake = Fake::new().brings(vec![odd, message("a")]);
    let _running = start(&fake);
    pass(1_000).await;
    assert_eq!(fake.stored(), ["a"]);
    assert_eq!(fake.deleted(), ["h-a"]);
}

#[tokio::test(start_paused = true)]
async fn messages_of_which_none_can_be_used_are_not_received_as_fast_as_they_come_back() {
    let mut odd = message("odd");
    odd.receipt_handle = None;
    for useless in [odd, message_of("x", None, "bad", "h-bad")] {
        let mut fake = Fake::new();
        for _ in 0..10_000 {
            fake = fake.receives_in(millis(1), Ok(vec![useless.clone()]));
        }
        let _running = start(&fake);
        pass(10_000).await;
        let receives = fake.receives().len();
        assert!((40..=120).contains(&receives), "{receives} receives in 10 s");
    }
}
