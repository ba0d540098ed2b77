//! AWS's limits, held by the calls themselves: the script checks each, no stand-in for AWS does.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::fake::{Call, Fake, message, message_of, millis};
use super::*;

proptest! {
    /// Some come twice, some share a key, some are nobody's, and the table leaves some unprocessed. A table that answers after more
    /// than half of the visibility timeout leaves many to be extended at once.
    #[test]
    fn whatever_arrives_each_call_stays_within_the_limits_of_aws(
        receives in prop::collection::vec(prop::collection::vec((0..30_u8, 0..4_u8), 0..=10), 1..30),
        slow in prop_oneof![2 => 0..40_u64, 1 => 1_100..1_900_u64],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut fake = Fake::new().writes(move |number, ids| {
                let left = if number % 3 == 0 { vec![0] } else { Vec::new() };
                (millis(slow), Ok(if ids.len() > 1 { left } else { Vec::new() }))
            });
            for (receive, brought) in receives.iter().enumerate() {
                let messages = brought.iter().enumerate().map(|(at, (key, kind))| match kind {
                    0 => message(&format!("k-{key}")),
                    1 => message_of(&format!("k-{key}"), Some("acme"), &format!("s-{receive}-{at}"), &format!("h-{receive}-{at}")),
                    2 => message_of(&format!("k-{key}"), None, &format!("s-{receive}-{at}"), &format!("h-{receive}-{at}")),
                    _ => message(&format!("m-{receive}-{at}")),
                });
                fake = fake.receives_in(millis(slow), Ok(messages.collect()));
            }
            let running = start_with(&fake, limits(2));
            pass(120_000).await;
            running.stop_within(Duration::from_secs(30)).await;
            for (_, call) in fake.calls() {
                match call {
                    Call::Write(ids) => {
                        let distinct: BTreeSet<&String> = ids.iter().collect();
                        assert!((1..=25).contains(&ids.len()), "{} items", ids.len());
                        assert_eq!(distinct.len(), ids.len(), "one key twice: {ids:?}");
                    }
                    Call::Delete(handles) => assert!((1..=10).contains(&handles.len()), "{} handles", handles.len()),
                    Call::Hide(changes) => {
                        assert!((1..=10).contains(&changes.len()), "{} changes", changes.len());
                        assert!(changes.iter().all(|(_, seconds)| *seconds <= 43_200), "{changes:?}");
                    }
                    Call::Put(_) | Call::Receive => {}
                }
            }
            // Whatever has a tenant is stored, and its messages leave the queue: key and handle of each.
            let good = || receives.iter().enumerate().flat_map(|(receive, brought)| {
                brought.iter().enumerate().filter(|(_, (_, kind))| *kind != 2).map(move |(at, (key, kind))| match kind {
                    0 => (format!("k-{key}"), format!("h-k-{key}")),
                    1 => (format!("k-{key}"), format!("h-{receive}-{at}")),
                    _ => (format!("m-{receive}-{at}"), format!("h-m-{receive}-{at}")),
                })
            });
            assert_eq!(fake.stored().into_iter().collect::<BTreeSet<_>>(), good().map(|(key, _)| key).collect());
            assert_eq!(fake.deleted().into_iter().collect::<BTreeSet<_>>(), good().map(|(_, handle)| handle).collect());
        });
    }
}
