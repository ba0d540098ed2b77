//! Sending a few letters and deleting those that SQS took.
//!
//! Not the other way round: a letter is deleted only after its successor is in the queue. Cut off in between, it is sent twice,
//! under the same key, and becomes the same record.

use std::time::Duration;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use tenancy::aws::Fault;

use super::Desk;
use super::letter::{Letter, key_size};
use super::shelf::Shelf;
use crate::drain::calls::failure;
use crate::drain::seam::{Aws, FailedEntry, Failure};
use crate::operator::calls::persist;
use crate::operator::stop::Stop;
use crate::operator::{note, pause, printable};

/// The most bytes of a batch: what every SQS takes, whatever its limit for a message is.
const MAX_BATCH_BYTES: usize = 262_144;

/// So often entries that failed on SQS's side are sent or deleted again.
const ENTRY_TRIES: u32 = 4;

/// The pause before that.
const ENTRY_PAUSE: Duration = Duration::from_millis(300);

/// What became of letters.
#[derive(Debug, Default)]
pub(super) struct Posted {
    /// In the queue again, and deleted.
    pub(super) sent: usize,
    /// Not in the queue.
    pub(super) failed: usize,
    /// In the queue again, and still a dead letter.
    pub(super) not_deleted: usize,
}

/// Sends up to ten letters, deletes those that were taken, and counts. An error concerns all letters that there will ever be.
pub(super) async fn post(
    desk: &Desk<'_>,
    letters: Vec<Letter>,
    shelf: &mut Shelf<'_>,
    posted: &mut Posted,
) -> Result<(), Stop> {
    for batch in batches(letters) {
        let mut taken = Vec::with_capacity(batch.len());
        let sending = send(desk, batch, &mut taken, posted).await;
        // Whatever ended the sending: what is in the queue is no dead letter any more.
        let deleting = delete(desk, taken, shelf, posted).await;
        sending.and(deleting)?;
    }
    Ok(())
}

/// Splits letters so that each batch fits into a call.
fn batches(letters: Vec<Letter>) -> Vec<Vec<Letter>> {
    let mut batches: Vec<Vec<Letter>> = Vec::new();
    let mut bytes = 0;
    for letter in letters {
        let size = letter.size + key_size(&letter);
        match batches.last_mut() {
            Some(batch) if batch.len() < 10 && bytes + size <= MAX_BATCH_BYTES => {
                bytes += size;
                batch.push(letter);
            }
            _ => {
                bytes = size;
                batches.push(vec![letter]);
            }
        }
    }
    batches
}

fn fails(letter: &Letter, why: &str, posted: &mut Posted) {
    posted.failed += 1;
    note(format_args!("{}: not sent, {why}", printable(&letter.sqs_id)));
}

/// Sends; `taken` gets what SQS has.
async fn send(desk: &Desk<'_>, batch: Vec<Letter>, taken: &mut Vec<Letter>, posted: &mut Posted) -> Result<(), Stop> {
    let mut parts = vec![batch];
    while let Some(part) = parts.pop() {
        let mut left = part;
        for tried in 1..=ENTRY_TRIES {
            let (letters, entries) = entries(left, posted);
            if entries.is_empty() {
                left = Vec::new();
                break;
            }
            match persist(desk.stopping, || call(desk, &entries)).await {
                Ok(results) => left = sort(letters, &results, tried == ENTRY_TRIES, taken, posted),
                // One letter can make the call as a whole be refused; alone it fails alone.
                Err(failure) if failure.fault == Fault::Refused && letters.len() > 1 => {
                    parts.extend(letters.into_iter().map(|letter| vec![letter]));
                    left = Vec::new();
                }
                Err(failure) if failure.fault == Fault::Refused => {
                    letters.iter().for_each(|letter| fails(letter, &failure.text, posted));
                    left = Vec::new();
                }
                Err(failure) => {
                    posted.failed += letters.len() + parts.iter().map(Vec::len).sum::<usize>();
                    return Err(Stop::call("sqs:SendMessage", desk.queue.as_str(), &failure));
                }
            }
            if left.is_empty() || pause(ENTRY_PAUSE, desk.stopping).await {
                break;
            }
        }
        left.iter().for_each(|letter| fails(letter, "interrupted before SQS took it", posted));
    }
    Ok(())
}

/// The letters that can be sent, and their entries at the same places.
fn entries(letters: Vec<Letter>, posted: &mut Posted) -> (Vec<Letter>, Vec<SendMessageBatchRequestEntry>) {
    let mut able = Vec::with_capacity(letters.len());
    let mut entries = Vec::with_capacity(letters.len());
    for letter in letters {
        match letter.entry(entries.len()) {
            Ok(entry) => {
                entries.push(entry);
                able.push(letter);
            }
            Err(why) => fails(&letter, &why, posted),
        }
    }
    (able, entries)
}

/// What SQS says of an entry.
enum Said {
    Taken,
    Failed(FailedEntry),
}

async fn call(desk: &Desk<'_>, entries: &[SendMessageBatchRequestEntry]) -> Result<Vec<Option<Said>>, Failure> {
    let call = desk.clients.sqs_receive.send_message_batch().queue_url(desk.url(&desk.queue));
    let answer = call.set_entries(Some(entries.to_vec())).send().await.map_err(|error| failure(&error))?;
    let mut said: Vec<Option<Said>> = entries.iter().map(|_| None).collect();
    for taken in &answer.successful {
        if let Some(place) = taken.id.parse().ok().and_then(|at: usize| said.get_mut(at)) {
            *place = Some(Said::Taken);
        }
    }
    for failed in answer.failed {
        if let Some(place) = failed.id.parse().ok().and_then(|at: usize| said.get_mut(at)) {
            let code = failed.message.map_or(failed.code.clone(), |message| format!("{}: {message}", failed.code));
            *place = Some(Said::Failed(FailedEntry { position: 0, sender_fault: failed.sender_fault, code }));
        }
    }
    Ok(said)
}

/// Puts each letter where its result says; those to be sent again are given back. An entry without a result counts as failed
/// on SQS's side.
fn sort(
    letters: Vec<Letter>,
    results: &[Option<Said>],
    last: bool,
    taken: &mut Vec<Letter>,
    posted: &mut Posted,
) -> Vec<Letter> {
    let mut again = Vec::new();
    for (letter, result) in letters.into_iter().zip(results) {
        match result {
            Some(Said::Taken) => taken.push(letter),
            Some(Said::Failed(entry)) if entry.sender_fault || last => fails(&letter, &entry.code, posted),
            None if last => fails(&letter, "SQS says nothing of it", posted),
            Some(Said::Failed(_)) | None => again.push(letter),
        }
    }
    again
}

/// Deletes letters that are in the queue again.
async fn delete(
    desk: &Desk<'_>,
    mut letters: Vec<Letter>,
    shelf: &mut Shelf<'_>,
    posted: &mut Posted,
) -> Result<(), Stop> {
    posted.sent += letters.len();
    for _ in 1..=ENTRY_TRIES {
        if letters.is_empty() {
            return Ok(());
        }
        let handles = || letters.iter().map(|letter| letter.handle.clone()).collect();
        match persist(desk.stopping, || desk.calls.delete(desk.dead.clone(), handles())).await {
            Ok(failed) => {
                let (mut position, before) = (0, letters.len());
                letters.retain(|letter| {
                    let kept = failed.iter().find(|entry| entry.position == position);
                    position += 1;
                    match kept {
                        None => shelf.forget(letter),
                        Some(entry) if entry.sender_fault => {
                            posted.not_deleted += 1;
                            note(format_args!("{}: sent, not deleted: {}", printable(&letter.sqs_id), entry.code));
                        }
                        Some(_) => return true,
                    }
                    false
                });
                if letters.len() == before {
                    tokio::time::sleep(ENTRY_PAUSE).await;
                }
            }
            Err(failure) => {
                posted.not_deleted += letters.len();
                return Err(Stop::call("sqs:DeleteMessage", desk.dead.as_str(), &failure));
            }
        }
    }
    posted.not_deleted += letters.len();
    Ok(())
}
