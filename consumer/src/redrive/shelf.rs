//! The dead-letter queue while it is read.
//!
//! SQS shows messages only by handing them out. So each is hidden for [`HIDE`] when it is received, stays hidden while the
//! command runs, so that it does not come a second time, and is handed back at its end; after a command that is killed they
//! reappear by themselves. What comes again all the same is known by its id and not given out twice.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use aws_sdk_sqs::types::MessageSystemAttributeName;
use tokio::time::Instant;

use super::Desk;
use super::letter::Letter;
use crate::drain::calls::failure;
use crate::drain::visibility;
use crate::operator::calls::persist;
use crate::operator::stop::Stop;
use crate::record::Stamps;

/// For how long a letter is hidden by a receive.
pub(super) const HIDE: Duration = Duration::from_secs(60);

/// How long a receive waits for what is not at hand: a long poll asks all of SQS's servers, a short one some of them.
const WAIT: Duration = Duration::from_secs(1);

/// So many receives with nothing in a row mean that there is nothing.
const EMPTY: u32 = 2;

/// How many letters are handed back at a time, ten a call.
const AT_ONCE: usize = 100;

/// How long handing back may take, a call.
const HAND_BACK: Duration = Duration::from_secs(5);

/// The letters that were received and not deleted.
pub(super) struct Shelf<'a> {
    desk: &'a Desk<'a>,
    stamps: Stamps,
    seen: HashSet<String>,
    held: HashMap<String, String>,
    /// The latest time at which any of them may become visible again.
    hidden_until: Instant,
}

impl<'a> Shelf<'a> {
    pub(super) fn new(desk: &'a Desk<'a>) -> Self {
        let stamps = Stamps::new(desk.environment.as_str(), None);
        Self { desk, stamps, seen: HashSet::new(), held: HashMap::new(), hidden_until: Instant::now() }
    }

    /// Up to `most` (1 to 10) letters that were not given out before. Empty when there are none, or a signal has come.
    pub(super) async fn next(&mut self, most: usize) -> Result<Vec<Letter>, Stop> {
        let (mut empty, mut known) = (0, 0);
        // Letters that come again are at most those held; more receives than they fill bring nothing new.
        while empty < EMPTY && known <= self.held.len() / 10 + 2 && !self.desk.stopping.is_cancelled() {
            let letters = self.receive(most).await?;
            if letters.is_empty() {
                // What was counted at the start has come: nothing is missing, so no second look.
                empty += if self.seen.len() >= self.desk.counted { EMPTY } else { 1 };
                continue;
            }
            let mut new = Vec::with_capacity(letters.len());
            for letter in letters {
                self.held.insert(letter.sqs_id.clone(), letter.handle.clone());
                if self.seen.insert(letter.sqs_id.clone()) {
                    new.push(letter);
                }
            }
            if !new.is_empty() {
                return Ok(new);
            }
            known += 1;
        }
        Ok(Vec::new())
    }

    async fn receive(&mut self, most: usize) -> Result<Vec<Letter>, Stop> {
        let desk = self.desk;
        let url = desk.url(&desk.dead);
        let call = || async {
            let seconds = |time: Duration| i32::try_from(time.as_secs()).unwrap_or(i32::MAX);
            let call = desk
                .clients
                .sqs_receive
                .receive_message()
                .queue_url(&url)
                .max_number_of_messages(i32::try_from(most.clamp(1, 10)).unwrap_or(10))
                .wait_time_seconds(seconds(WAIT))
                .visibility_timeout(seconds(HIDE))
                .message_attribute_names("All")
                .message_system_attribute_names(MessageSystemAttributeName::All);
            call.send().await.map_err(|error| failure(&error))
        };
        let answer = persist(desk.stopping, call).await;
        let answer = answer.map_err(|error| Stop::call("sqs:ReceiveMessage", desk.dead.as_str(), &error))?;
        self.hidden_until = Instant::now() + HIDE;
        let messages = answer.messages.unwrap_or_default().into_iter();
        // What has no id and no handle cannot be told apart, deleted or handed back.
        let usable = |letter: &Letter| !letter.sqs_id.is_empty() && !letter.handle.is_empty();
        Ok(messages.map(|message| Letter::read(message, &desk.environment, &self.stamps)).filter(usable).collect())
    }

    /// The letter is deleted: there is nothing to hand back.
    pub(super) fn forget(&mut self, letter: &Letter) {
        self.held.remove(&letter.sqs_id);
    }

    /// How many letters were seen.
    pub(super) fn seen(&self) -> usize {
        self.seen.len()
    }

    /// Makes everything that is held visible to others again.
    pub(super) async fn hand_back(self) {
        if Instant::now() >= self.hidden_until {
            return;
        }
        let handles: Vec<String> = self.held.into_values().collect();
        for some in handles.chunks(AT_ONCE) {
            let changes = some.iter().map(|handle| (self.desk.dead.clone(), handle.clone(), Duration::ZERO));
            if visibility::change(&*self.desk.calls, changes, HAND_BACK).await == 0 {
                // SQS does not answer, or does not know them any more. They come back by themselves.
                return;
            }
        }
    }
}
