//! When deletes do not do as they should.

use super::fake::{Fake, denied, failure, messages, millis};
use super::*;
use crate::drain::seam::FailedEntry;
use tenancy::aws::Fault;

fn entry(position: usize, sender_fault: bool) -> FailedEntry {
    FailedEntry { position, sender_fault, code: "x".to_owned() }
}

#[tokio::test(start_paused = true)]
async fn entries_that_failed_on_sqs_s_side_are_sent_again_without_the_others() {
    let fake = Fake::new().brings(messages(0..10)).deletes(|number, _| {
        let failed = if number == 1 { vec![entry(2, false), entry(5, true), entry(9, false)] } else { Vec::new() };
        (millis(5), Ok(failed))
    });
    let _running = start(&fake);
    pass(5_000).await;
    let deletes = fake.deletes_made();
    assert_eq!(deletes.len(), 2);
    assert_eq!(deletes[1], ["h-2", "h-9"], "and not the one that is the sender's fault");
}

#[tokio::test(start_paused = true)]
async fn entries_are_sent_again_three_times_at_most() {
    let fake = Fake::new().brings(messages(["a"])).deletes(|_, _| (millis(5), Ok(vec![entry(0, false)])));
    let _running = start(&fake);
    pass(15_000).await;
    assert_eq!(fake.deletes_made().len(), 4);
    let times: Vec<u64> = fake.calls().iter().skip(1).map(|(at, _)| *at).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 105), "with a pause: {times:?}");
}

#[tokio::test(start_paused = true)]
async fn one_bad_handle_does_not_keep_the_others() {
    let fake = Fake::new().brings(messages(0..10)).deletes(|_, handles| {
        let bad = handles.iter().any(|handle| handle == "h-3");
        (millis(5), if bad { Err(failure(Fault::Refused, "ReceiptHandleIsInvalid")) } else { Ok(Vec::new()) })
    });
    let _running = start(&fake);
    pass(1_000).await;
    let fine: usize =
        fake.deletes_made().iter().filter(|handles| !handles.contains(&"h-3".to_owned())).map(Vec::len).sum();
    assert_eq!(fine, 9);
    fake.arrives(messages(["next"]));
    pass(1_000).await;
    assert_eq!(fake.deletes_made().last().unwrap(), &["h-next"]);
}

#[tokio::test(start_paused = true)]
async fn a_delete_that_fails_as_a_whole_is_made_again_and_receiving_pauses_meanwhile() {
    let start_of_test = Instant::now();
    let mut fake = Fake::new().deletes(move |_, _| {
        let down = start_of_test.elapsed() < Duration::from_secs(8);
        (millis(5), if down { Err(denied()) } else { Ok(Vec::new()) })
    });
    for receive in 0..20 {
        fake = fake.receives_in(millis(100), Ok(messages((0..10).map(|n| format!("{receive:02}-{n}")))));
    }
    let _running = start(&fake);
    pass(7_900).await;
    let receives = fake.receives().len();
    assert!(receives <= 6, "{receives} receives while nothing could be deleted");
    pass(20_000).await;
    assert_eq!(fake.stored().len(), 200);
    let mut deleted = fake.deleted();
    deleted.dedup();
    assert_eq!(deleted.len(), 200);
}

#[tokio::test(start_paused = true)]
async fn deletes_that_never_work_are_given_up_so_that_receiving_goes_on() {
    let fake = Fake::new()
        .brings(messages(["a"]))
        .deletes(|_, _| (millis(5), Err(failure(Fault::Transient, "InternalError"))));
    let _running = start(&fake);
    pass(90_000).await;
    assert_eq!(fake.deletes_made().len(), 12);
    assert!(*fake.receives().last().unwrap() > 5_000);
}

#[tokio::test(start_paused = true)]
async fn a_delete_without_an_answer_is_made_again() {
    let fake = Fake::new().brings(messages(["a"])).deletes(|number, _| {
        let after = if number == 1 { millis(1_000_000) } else { millis(5) };
        (after, Ok(Vec::new()))
    });
    let _running = start(&fake);
    pass(6_000).await;
    assert_eq!(fake.deletes_made().len(), 2);
}
