//! `ReceiveMessage`: the long poll and what a message looks like in its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::fault::{Fault, gone};
use super::super::op::Op;
use super::super::shared::{Shared, lock, millis_now};
use super::super::text::push_json_string;
use super::super::wire::{Refusal, Reply};
use super::queue::{Handle, Message, Queue, Taken};
use super::request::Receive;

/// More messages in flight than this and SQS answers `OverLimit`.
const MAX_IN_FLIGHT: usize = 120_000;

/// A receive, apart from the bytes of its request, so that it can outlive its connection.
struct Wanted {
    queue: usize,
    most: usize,
    visibility: Duration,
    deadline: Instant,
    system: Names,
    attributes: Names,
    twice: bool,
    /// Left out of each message.
    without: &'static str,
}

/// Which attributes a receive asks for.
enum Names {
    All,
    These(Vec<String>),
}

impl Names {
    fn of(names: &[String]) -> Self {
        if names.iter().any(|name| name == "All" || name == ".*") { Self::All } else { Self::These(names.to_vec()) }
    }

    fn wants(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.iter().any(|wanted| match wanted.strip_suffix(".*") {
                Some(prefix) => name.starts_with(prefix),
                None => wanted == name,
            }),
        }
    }
}

/// Answers at once if there is a message, else when one comes or the wait is over.
///
/// A poll whose client has gone waits on: SQS does not notice either, and hides from others what it hands to nobody.
pub(crate) async fn receive(
    shared: &Arc<Shared>,
    request: &Receive<'_>,
    fault: Option<&Fault>,
) -> Result<Reply, Refusal> {
    let op = Op::ReceiveMessage;
    let wanted = {
        let sqs = lock(&shared.sqs);
        let queue = sqs.find(request.queue_url.rsplit('/').next().unwrap_or_default(), op)?;
        let seconds = |value: Option<i64>| Duration::from_secs(value.unwrap_or(0).unsigned_abs());
        let system = [request.attribute_names.as_slice(), &request.message_system_attribute_names].concat();
        Wanted {
            queue,
            most: request.max_number_of_messages.unwrap_or(1).unsigned_abs() as usize
                + usize::from(fault == Some(&Fault::OneTooMany)),
            visibility: request
                .visibility_timeout
                .map_or(sqs.queues[queue].spec.visibility, |value| seconds(Some(value))),
            deadline: Instant::now() + seconds(request.wait_time_seconds),
            system: Names::of(&system),
            attributes: Names::of(&request.message_attribute_names),
            twice: fault == Some(&Fault::Duplicates),
            without: if let Some(Fault::Without(field)) = fault { field } else { "" },
        }
    };
    if let Some(reply) = attempt(shared, &wanted)? {
        return Ok(reply);
    }
    if shared.dead_polls_take {
        let shared = Arc::clone(shared);
        let poll = tokio::spawn(async move { wait(&shared, &wanted).await });
        return poll.await.unwrap_or_else(|_| Err(Refusal::new(500, "InternalFailure", "the poll ended early")));
    }
    wait(shared, &wanted).await
}

async fn wait(shared: &Shared, wanted: &Wanted) -> Result<Reply, Refusal> {
    let arrived = Arc::clone(&lock(&shared.sqs).queues[wanted.queue].arrived);
    loop {
        let mut woken = std::pin::pin!(arrived.notified());
        woken.as_mut().enable();
        if let Some(reply) = attempt(shared, wanted)? {
            return Ok(reply);
        }
        let due = lock(&shared.sqs).queues[wanted.queue].next_due();
        let until = due.map_or(wanted.deadline, |due| due.min(wanted.deadline));
        tokio::select! {
            () = woken => {}
            () = tokio::time::sleep_until(until.into()) => {}
        }
    }
}

/// One look at the queue. `None` while there is nothing and time is left.
fn attempt(shared: &Shared, wanted: &Wanted) -> Result<Option<Reply>, Refusal> {
    let (now, wall) = (Instant::now(), millis_now());
    let mut sqs = lock(&shared.sqs);
    let queue = &mut sqs.queues[wanted.queue];
    if queue.gone {
        return Err(gone(Op::ReceiveMessage, true));
    }
    if queue.in_flight >= MAX_IN_FLIGHT {
        let refusal = Refusal::new(400, "com.amazonaws.sqs#OverLimit", "Too many messages are in flight.");
        return Err(refusal.known_as("OverLimit"));
    }
    queue.tick(now);
    let (mut dead, mut out, mut count) = (Vec::new(), Vec::new(), 0);
    while count < wanted.most {
        match queue.take(wanted.visibility, now, wall) {
            None => break,
            Some(Taken::Dead(message)) => dead.push(message),
            Some(Taken::Received(slot)) => {
                show(&mut out, wanted, queue, slot);
                count += 1;
                if wanted.twice && count < wanted.most {
                    queue.deliver(slot, wanted.visibility, now, wall);
                    show(&mut out, wanted, queue, slot);
                    count += 1;
                }
            }
        }
    }
    if queue.visible > 0 {
        queue.arrived.notify_one();
    }
    let moved = count > 0 || !dead.is_empty();
    sqs.bury(wanted.queue, dead);
    drop(sqs);
    if moved {
        // Here and not with the answer: a poll whose client has gone takes messages and answers nobody.
        shared.changed();
    }
    if count > 0 {
        return Ok(Some(Reply::json([b"{\"Messages\":[".as_slice(), &out, b"]}"].concat())));
    }
    Ok((now >= wanted.deadline).then(|| Reply::json("{}")))
}

fn show(out: &mut Vec<u8>, wanted: &Wanted, queue: &Queue, slot: u32) {
    let Some(message) = &queue.slots[slot as usize] else { return };
    let handle = Handle { queue: wanted.queue as u32, slot, serial: message.serial, generation: message.generation };
    out.extend_from_slice(if out.is_empty() { b"{\"MD5OfBody\":\"" } else { b",{\"MD5OfBody\":\"" });
    out.extend_from_slice(message.body_md5.as_bytes());
    out.push(b'"');
    for (name, value) in [("MessageId", &*message.id), ("ReceiptHandle", &handle.text()), ("Body", &*message.body)] {
        if wanted.without != name {
            out.extend_from_slice(format!(",\"{name}\":").as_bytes());
            push_json_string(out, value);
        }
    }
    if wanted.without != "Attributes" {
        show_system(out, wanted, message);
    }
    if wanted.without != "MessageAttributes" {
        show_attributes(out, wanted, message);
    }
    out.push(b'}');
}

fn show_system(out: &mut Vec<u8>, wanted: &Wanted, message: &Message) {
    let mut first = true;
    let mut field = |name: &str, value: &dyn std::fmt::Display| {
        if wanted.system.wants(name) {
            out.extend_from_slice(if first { b",\"Attributes\":{" } else { b"," });
            out.extend_from_slice(format!("\"{name}\":\"{value}\"").as_bytes());
            first = false;
        }
    };
    field("SentTimestamp", &message.sent_at);
    field("ApproximateReceiveCount", &message.receives);
    field("ApproximateFirstReceiveTimestamp", &message.first_received_at);
    field("SenderId", &"AROAEXAMPLEEXAMPLEEXA:session");
    if let Some(group) = &message.group {
        // Letters, digits and punctuation: a quote or a backslash is escaped.
        field("MessageGroupId", &group.replace('\\', "\\\\").replace('"', "\\\""));
    }
    if !first {
        out.push(b'}');
    }
}

fn show_attributes(out: &mut Vec<u8>, wanted: &Wanted, message: &Message) {
    let digest = match (&wanted.attributes, &message.attributes_md5) {
        (Names::All, Some(digest)) => {
            out.extend_from_slice(b",\"MessageAttributes\":");
            out.extend_from_slice(message.attributes.as_bytes());
            digest.to_string()
        }
        (Names::These(names), Some(_)) if !names.is_empty() => {
            let mut shown: super::request::Attributes<'_> =
                serde_json::from_str(&message.attributes).unwrap_or_default();
            shown.retain(|name, _| wanted.attributes.wants(name));
            let Some(digest) = super::md5::of_attributes(&shown) else { return };
            out.extend_from_slice(b",\"MessageAttributes\":");
            out.extend_from_slice(super::attributes_json(&shown).as_bytes());
            digest
        }
        _ => return,
    };
    out.extend_from_slice(format!(",\"MD5OfMessageAttributes\":\"{digest}\"").as_bytes());
}
