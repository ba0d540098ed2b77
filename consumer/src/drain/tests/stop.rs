//! The end of draining.

use super::fake::{Call, Fake, failure, messages, millis};
use super::*;
use tenancy::aws::Fault;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn the_open_poll_ends_by_itself_and_what_it_brings_is_stored_and_deleted() {
    let fake = Fake::new();
    let running = start(&fake);
    pass(1_000).await;
    let stopping = tokio::spawn(running.stop_within(30 * SECOND));
    pass(10_000).await;
    fake.arrives(messages(["late"]));
    assert!(stopping.await.unwrap() < 11 * SECOND);
    assert_eq!((fake.stored(), fake.deleted()), (vec!["late".to_owned()], vec!["h-late".to_owned()]));
    assert_eq!(fake.receives().len(), 1, "no receive starts after the signal");
}

#[tokio::test(start_paused = true)]
async fn no_receive_starts_after_the_signal_however_much_there_is() {
    let mut fake = Fake::new();
    for receive in 0..10_000 {
        fake = fake.receives_in(millis(20), Ok(messages((0..10).map(|n| format!("{receive}-{n}")))));
    }
    let running = start(&fake);
    pass(1_010).await;
    let before = fake.receives().len();
    let took = running.stop_within(30 * SECOND).await;
    assert_eq!(fake.receives().len(), before);
    assert_eq!((fake.stored().len(), fake.deleted().len()), (before * 10, before * 10));
    assert!(took < SECOND, "{took:?}");
    assert_eq!(fake.hidden(), []);
}

#[tokio::test(start_paused = true)]
async fn all_pollers_stop_together() {
    let mut fake = Fake::new();
    for receive in 0..20 {
        fake = fake.brings(messages((0..10).map(|n| format!("{receive}-{n}"))));
    }
    for _ in 0..64 {
        fake = fake.receives_in(19 * SECOND, Ok(Vec::new()));
    }
    let running = start(&fake);
    pass(1_000).await;
    assert!(fake.receives().len() > 30);
    let took = running.stop_within(30 * SECOND).await;
    assert!(took <= 19 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn written_messages_that_wait_to_be_deleted_are_deleted_before_the_end() {
    let fake = Fake::new().brings(messages(0..4)).deletes(|_, _| (millis(500), Ok(Vec::new()))).idle_for(3 * SECOND);
    let running = start(&fake);
    pass(1).await;
    assert!(running.stop_within(30 * SECOND).await >= millis(499));
    assert_eq!(fake.deleted().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_written_is_handed_back_in_time() {
    let fake = Fake::new()
        .brings(messages(0..10))
        .writes(|_, _| (millis(5), Err(failure(Fault::Transient, "x"))))
        .idle_for(SECOND);
    let running = start(&fake);
    pass(100).await;
    let took = running.stop_within(10 * SECOND).await;
    assert!(took <= 10 * SECOND, "{took:?}");
    assert_eq!(fake.deleted(), Vec::<String>::new());
    let back: Vec<String> =
        fake.hidden().into_iter().filter(|(_, seconds)| *seconds == 0).map(|(handle, _)| handle).collect();
    assert_eq!(back, ["h-0", "h-1", "h-2", "h-3", "h-4", "h-5", "h-6", "h-7", "h-8", "h-9"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_never_answers_does_not_hold_up_the_end() {
    let fake = Fake::new().brings(messages(["a"])).writes(|_, _| (millis(1_000_000), Ok(Vec::new()))).idle_for(SECOND);
    let running = start(&fake);
    pass(100).await;
    let took = running.stop_within(5 * SECOND).await;
    assert!(took <= 5 * SECOND, "{took:?}");
    assert!(fake.calls().iter().any(|(_, call)| *call == Call::Hide(vec![("h-a".to_owned(), 0)])));
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_never_answers_does_not_hold_up_the_end() {
    let fake = Fake::new().receives_in(millis(1_000_000), Ok(Vec::new()));
    let running = start(&fake);
    pass(100).await;
    let took = running.stop_within(10 * SECOND).await;
    assert!(took <= 10 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_that_never_answer_do_not_hold_up_the_handing_back() {
    let fake = Fake::new()
        .brings(messages(["a"]))
        .writes(|_, _| (millis(1_000_000), Ok(Vec::new())))
        .hides(|_, _| (millis(1_000_000), Ok(Vec::new())))
        .idle_for(SECOND);
    let running = start(&fake);
    pass(100).await;
    let took = running.stop_within(10 * SECOND).await;
    assert!(took <= millis(9_500), "the process has to end within the ten seconds, after this: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_during_a_pause_after_an_error_does_not_wait_for_it() {
    let fake = Fake::new().receives_in(Duration::ZERO, Err(failure(Fault::Denied, "x")));
    let running = start(&fake);
    pass(100).await;
    let took = running.stop_within(30 * SECOND).await;
    assert!(took < millis(100), "{took:?}");
}
