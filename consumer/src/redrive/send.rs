//! `consumer redrive send`: sends dead letters back, at the rate that was allowed.
//!
//! What lay there at the start is what is sent: a letter that the consumer gives up again, and that comes back while the command
//! still runs, is known by its key and left where it is.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::Desk;
use super::letter::Letter;
use super::post::{Posted, post};
use super::shelf::Shelf;
use crate::operator::cli::Send;
use crate::operator::pace::Pacer;
use crate::operator::stop::Stop;
use crate::operator::{note, printable, say};

/// Between two lines that say how far it is.
const PROGRESS: Duration = Duration::from_secs(5);

/// SQS's counts lag behind what is there: so many may be sent whatever they say.
const AT_LEAST: usize = 10;

/// What became of the letters.
#[derive(Debug, Default)]
struct Tally {
    posted: Posted,
    others: usize,
    unstorable: usize,
    lacking: usize,
    came_back: usize,
    /// Of those that SQS counted at the start, how many did not come.
    unseen: usize,
    interrupted: bool,
}

/// A run of the command.
struct Run<'a> {
    desk: &'a Desk<'a>,
    send: &'a Send,
    pacer: Pacer,
    tally: Tally,
    /// The letters taken, whose keys are not taken twice: tenant and key.
    taken: HashSet<(Option<String>, String)>,
    next_progress: Instant,
}

/// Sends. Whether all that was wanted was sent.
pub(super) async fn run(desk: &Desk<'_>, send: &Send) -> Result<bool, Stop> {
    let mut run = Run {
        desk,
        send,
        pacer: Pacer::new(send.rate),
        tally: Tally::default(),
        taken: HashSet::new(),
        next_progress: Instant::now() + PROGRESS,
    };
    let mut shelf = Shelf::new(desk);
    let outcome = run.all(&mut shelf).await;
    shelf.hand_back().await;
    run.summary();
    outcome?;
    let tally = &run.tally;
    let left = tally.posted.failed + tally.posted.not_deleted + tally.unstorable + tally.lacking + tally.unseen;
    Ok(!tally.interrupted && left == 0)
}

impl Run<'_> {
    /// How many may still be taken.
    fn room(&self) -> usize {
        let most = self.send.max.map_or(usize::MAX, |max| max as usize);
        most.min(self.desk.counted.max(AT_LEAST)).saturating_sub(self.taken.len())
    }

    async fn all(&mut self, shelf: &mut Shelf<'_>) -> Result<(), Stop> {
        let rate = self.send.rate.per_second();
        // At most a second's worth at a time, so that the rate holds over short times as well.
        let at_once = (rate as usize).clamp(1, 10);
        let ask = if rate < 1.0 { 1 } else { 10 };
        while self.room() > 0 && !self.interrupted(false) {
            let letters = shelf.next(ask).await?;
            if letters.is_empty() {
                if !self.interrupted(false) {
                    self.tally.unseen = self.desk.counted.saturating_sub(shelf.seen());
                }
                return Ok(());
            }
            let wanted = self.choose(letters);
            let mut left = wanted.into_iter().peekable();
            while left.peek().is_some() {
                let stopped = self.pacer.wait(self.desk.stopping).await;
                if self.interrupted(stopped) {
                    return Ok(());
                }
                let some: Vec<Letter> = left.by_ref().take(at_once).collect();
                self.pacer.did(some.len() as f64);
                self.some(shelf, some).await?;
                self.progress();
            }
        }
        Ok(())
    }

    fn interrupted(&mut self, stopped: bool) -> bool {
        self.tally.interrupted |= stopped || self.desk.stopping.is_cancelled();
        self.tally.interrupted
    }

    /// The letters that are to be sent; the others are counted.
    fn choose(&mut self, letters: Vec<Letter>) -> Vec<Letter> {
        let mut wanted = Vec::with_capacity(letters.len());
        for letter in letters {
            if !letter.is_wanted(&self.send.which) {
                self.tally.others += 1;
            } else if let Some(lack) = letter.lack {
                self.tally.lacking += 1;
                note(format_args!("{}: not sent, {lack}", printable(&letter.sqs_id)));
            } else if letter.reason.is_some() && !self.send.even_if_unstorable {
                self.tally.unstorable += 1;
                if let Some(reason) = letter.reason {
                    note(format_args!("{}: not sent, {reason}", printable(&letter.sqs_id)));
                }
            } else if self.room() > 0 {
                if self.taken.insert((letter.tenant.clone(), letter.key.clone())) {
                    wanted.push(letter);
                } else {
                    self.tally.came_back += 1;
                }
            }
        }
        wanted
    }

    async fn some(&mut self, shelf: &mut Shelf<'_>, letters: Vec<Letter>) -> Result<(), Stop> {
        if self.send.dry_run {
            letters.iter().for_each(|letter| say(letter.line(false)));
            self.tally.posted.sent += letters.len();
            return Ok(());
        }
        post(self.desk, letters, shelf, &mut self.tally.posted).await
    }

    fn progress(&mut self) {
        if Instant::now() >= self.next_progress {
            self.next_progress = Instant::now() + PROGRESS;
            let posted = &self.tally.posted;
            note(format_args!("sent {} of about {}, failed {}", posted.sent, self.desk.counted, posted.failed));
        }
    }

    fn summary(&self) {
        let tally = &self.tally;
        let verb = if self.send.dry_run { "would send" } else { "sent" };
        let mut text = format!("{verb} {} to {}", tally.posted.sent, self.desk.queue);
        let mut add = |count: usize, what: &str| {
            if count > 0 {
                text.push_str(&format!("; {count} {what}"));
            }
        };
        add(tally.posted.failed, "failed and stay in the dead-letter queue");
        add(tally.posted.not_deleted, "sent but not deleted: sent again they become the same records");
        add(tally.unstorable, "not sent, since the consumer would refuse them again (--even-if-unstorable sends them)");
        add(tally.lacking, "not sent, since SQS gave out only a part of them: run it again in a minute");
        add(tally.others, "of others left alone");
        add(tally.came_back, "with the key of one sent before left alone");
        add(tally.unseen, &format!("of {} that SQS counted did not come: run it again in a minute", self.desk.counted));
        if tally.interrupted {
            text.push_str("; interrupted, run it again for the rest");
        }
        say(text);
    }
}
