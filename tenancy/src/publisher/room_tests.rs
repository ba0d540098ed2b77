//! How much a lane holds.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_lane_holds_the_bytes_that_it_has_and_turns_the_next_message_away() {
    let plane = plane(|_, _, bodies| Some(all_sent(bodies.len(), 3_500)));
    let text = format!("\"{}\"", "x".repeat(60_000));
    let size = event(&text).size(&"acme".parse().unwrap());
    // 8 MiB, of which a message takes whole pieces of 256 bytes: 139 of them.
    let fit = 8_388_608 / size.next_multiple_of(256);
    assert_eq!(fit, 139);
    let all = join_all((0..400).map(|_| plane.send(&text))).await;
    let outcomes = |wanted: Result<(), SendError>| all.iter().filter(|outcome| **outcome == wanted).count();
    assert_eq!((outcomes(Ok(())), outcomes(Err(SendError::Full))), (fit, 400 - fit));
    // There is room again when they are gone.
    assert_eq!(plane.send(&text).await, Ok(()));
}
