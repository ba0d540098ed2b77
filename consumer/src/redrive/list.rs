//! `consumer redrive list`: shows dead letters and leaves them where they are.

use std::time::Duration;

use tokio::time::Instant;

use super::Desk;
use super::shelf::{HIDE, Shelf};
use crate::operator::cli::List;
use crate::operator::stop::Stop;
use crate::operator::{note, say};

/// How long the list reads at most: less than its first letters are hidden, so that none comes a second time.
const TIME: Duration = Duration::from_secs(HIDE.as_secs() - 15);

/// Lists. Whether the list is complete, for all that is known.
pub(super) async fn run(desk: &Desk<'_>, list: &List) -> Result<bool, Stop> {
    let mut shelf = Shelf::new(desk);
    let mut shown = 0_usize;
    let outcome = read(desk, list, &mut shelf, &mut shown).await;
    let seen = shelf.seen();
    shelf.hand_back().await;
    let lack = match outcome? {
        Some(lack) => Some(lack),
        None if seen < desk.counted => Some(format!(
            "SQS counted {} at the start, {} of them hidden by a reader before this one, and {seen} could be read: \
             look again in a minute",
            desk.counted, desk.hidden
        )),
        None => None,
    };
    let letters = if shown == 1 { "dead letter" } else { "dead letters" };
    match &lack {
        None => note(format_args!("{shown} {letters} of {seen} in {}", desk.dead)),
        Some(lack) => note(format_args!("{shown} {letters} of {}; incomplete: {lack}", desk.dead)),
    }
    Ok(lack.is_none())
}

/// Reads and shows; why it ended before the queue was at its end.
async fn read(desk: &Desk<'_>, list: &List, shelf: &mut Shelf<'_>, shown: &mut usize) -> Result<Option<String>, Stop> {
    let until = Instant::now() + TIME;
    let most = list.max as usize;
    loop {
        let letters = shelf.next(10).await?;
        if desk.stopping.is_cancelled() {
            return Ok(Some("interrupted".to_owned()));
        }
        if letters.is_empty() {
            return Ok(None);
        }
        for letter in letters.iter().filter(|letter| letter.is_wanted(&list.which)) {
            if *shown == most {
                return Ok(Some(format!("it ends at --max {most}; SQS counts about {} in all", desk.counted)));
            }
            if list.json {
                say(letter.json(list.bodies))
            } else {
                say(letter.line(list.bodies))
            }
            *shown += 1;
        }
        if Instant::now() >= until {
            let text = format!("it ends after {} s; SQS counts about {} in all", TIME.as_secs(), desk.counted);
            return Ok(Some(text));
        }
    }
}
