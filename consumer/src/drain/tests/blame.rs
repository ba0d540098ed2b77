//! Whose fault it is: the record's, one tenant's, the table's, or that of something in between.

use super::fake::{Call, Fake, denied, failure, message_of, messages, millis};
use super::*;
use tenancy::aws::Fault;

fn puts(fake: &Fake) -> usize {
    fake.calls().iter().filter(|(_, call)| matches!(call, Call::Put(_))).count()
}

/// Messages of tenant `tenant` whose ids, handles and bodies begin with its name.
fn of_tenant(tenant: &'static str, count: usize) -> Vec<aws_sdk_sqs::types::Message> {
    let message = |n| {
        let name = format!("{tenant}-{n}");
        message_of(&name, Some(tenant), &name, &format!("h-{name}"))
    };
    (0..count).map(message).collect()
}

#[tokio::test(start_paused = true)]
async fn a_tenant_whose_partition_has_no_room_does_not_keep_others_from_the_table() {
    for whole in [false, true] {
        let fake = Fake::new().brings(of_tenant("hot", 10)).writes(move |_, ids| {
            let left: Vec<_> = (0..ids.len()).filter(|at| ids[*at].starts_with("hot")).collect();
            // DynamoDB has two words for it: an error where it took nothing at all, else what it left over.
            let nothing = whole && left.len() == ids.len();
            (millis(5), if nothing { Err(super::fake::throttled()) } else { Ok(left) })
        });
        let running = start_in(&fake, "pool-1", limits(30));
        pass(10_000).await;
        fake.arrives(of_tenant("cold", 2));
        pass(1_000).await;
        assert_eq!(fake.stored(), ["cold-0", "cold-1"], "after three tries and ten seconds without room for the other");
        assert_eq!(fake.deleted(), ["h-cold-0", "h-cold-1"]);
        pass(60_000).await;
        assert!(fake.hidden().iter().all(|(handle, seconds)| handle.starts_with("h-hot") && *seconds == 30));
        running.stop_within(Duration::from_secs(30)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn while_the_table_has_no_room_no_more_is_received_than_may_be_in_hand() {
    let mut fake = Fake::new().writes(|_, ids| (millis(5), Ok((0..ids.len()).collect())));
    for receive in 0..200 {
        fake = fake.receives_in(millis(20), Ok(messages((0..10).map(|n| format!("{receive:03}-{n}")))));
    }
    let limits = Limits::new(64, 200, 8_388_608, Duration::from_secs(30), Duration::from_secs(30));
    let _running = start_with(&fake, limits);
    pass(60_000).await;
    assert_eq!(fake.receives().len(), 20);
    assert_eq!(fake.deleted(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_word_that_nobody_knows_is_not_held_against_the_records() {
    for code in ["NotFound", "UnknownOperationException", "RequestCanceled"] {
        let start_of_test = Instant::now();
        let fake = Fake::new().brings(messages(0..10)).writes(move |_, _| {
            let down = start_of_test.elapsed() < Duration::from_secs(75);
            (millis(5), if down { Err(failure(Fault::Refused, code)) } else { Ok(Vec::new()) })
        });
        let _running = start(&fake);
        pass(74_000).await;
        assert!(fake.hidden().iter().all(|(_, seconds)| *seconds == 30), "extended, and none isolated: {code}");
        assert!(fake.receives().len() <= 3, "the polls that were open when it began, and no other: {code}");
        pass(10_000).await;
        assert_eq!((fake.stored().len(), fake.deleted().len()), (10, 10), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn deletes_that_fail_for_a_word_that_nobody_knows_are_made_again() {
    let fake = Fake::new().brings(messages(0..10)).deletes(|number, _| {
        let answer = if number <= 3 { Err(failure(Fault::Refused, "NotFound")) } else { Ok(Vec::new()) };
        (millis(5), answer)
    });
    let _running = start(&fake);
    pass(3_000).await;
    assert_eq!(fake.deletes_made().iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 10, 10]);
}

#[tokio::test(start_paused = true)]
async fn where_batches_and_puts_are_denied_one_put_a_batch_finds_that_out() {
    let fake = Fake::new()
        .brings(messages(0..10))
        .writes(|_, _| (millis(5), Err(denied())))
        .puts(|_, _| (millis(5), Err(denied())));
    let _running = start(&fake);
    pass(30_000).await;
    let writes = fake.writes_made().len();
    assert_eq!(puts(&fake), writes);
    assert!((5..=40).contains(&writes), "{writes}");
}

#[tokio::test(start_paused = true)]
async fn puts_that_are_denied_later_on_are_tried_one_at_a_time() {
    let fake = Fake::new().brings(messages(0..10)).writes(|_, _| (millis(5), Err(denied()))).puts(|number, _| {
        let denies = (11..=15).contains(&number) || (16..=30).contains(&number);
        (millis(5), if denies { Err(denied()) } else { Ok(()) })
    });
    let _running = start(&fake);
    pass(1_000).await;
    assert_eq!((fake.stored().len(), puts(&fake)), (10, 10));
    fake.arrives(messages(10..15));
    pass(120_000).await;
    assert_eq!((fake.stored().len(), fake.deleted().len()), (15, 15));
    assert_eq!(puts(&fake), 10 + 5 + 15 + 5, "five at once, one a try until one goes through, then the other four");
}
