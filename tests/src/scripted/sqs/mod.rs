//! SQS: queues with visibility timeouts, redelivery and redrive, and the answers to requests about them.

mod limits;
mod md5;
mod queue;
mod receive;
mod request;
mod view;

use std::collections::HashMap;
use std::time::{Duration, Instant};

pub use queue::QueueSpec;
use queue::{Handle, Message, Queue, State};
pub(crate) use receive::receive;
pub(crate) use request::Request;
use request::{HandleEntry, SendEntry};
pub use view::{QueueView, SeenMessage};
pub(crate) use view::{messages, view};

use super::fault::{Fault, gone, invalid_handle};
use super::log::Violation;
use super::op::Op;
use super::shared::{Shared, lock, millis_now};
use super::text::{Text, push_json_string};
use super::wire::{Refusal, Reply};

/// Every queue, by place; the names lead there.
#[derive(Default)]
pub(crate) struct Sqs {
    queues: Vec<Queue>,
    names: HashMap<String, usize>,
    sent: u64,
    /// What a batch may hold in all.
    pub(crate) max_batch_bytes: Option<usize>,
}

impl Sqs {
    pub(crate) fn create(&mut self, spec: QueueSpec) {
        self.names.insert(spec.name.clone(), self.queues.len());
        self.queues.push(Queue::new(spec));
    }

    pub(crate) fn delete(&mut self, name: &str) {
        if let Some(at) = self.names.remove(name) {
            self.queues[at].gone = true;
            self.queues[at].arrived.notify_waiters();
        }
    }

    fn find(&self, name: &str, op: Op) -> Result<usize, Refusal> {
        self.names.get(name).copied().ok_or_else(|| gone(op, true))
    }

    /// Moves messages whose receives are used up. Without the target they stay, and are received no more.
    fn bury(&mut self, from: usize, dead: Vec<Message>) {
        let target = self.queues[from].spec.redrive.as_ref().map(|(target, _)| target.as_str());
        let to = target.and_then(|target| self.names.get(target)).copied().unwrap_or(from);
        for mut message in dead {
            message.state = State::Visible;
            self.queues[to].add(message);
        }
    }

    fn next_id(&mut self) -> String {
        self.sent += 1;
        format!("{:08x}-{:04x}-4000-8000-{:012x}", self.sent & 0xffff_ffff, (self.sent >> 32) & 0xffff, self.sent)
    }

    /// When, after `now`, the next hidden message of any queue may become visible.
    pub(crate) fn next_due_after(&mut self, now: Instant) -> Option<Instant> {
        self.queues.iter_mut().for_each(|queue| queue.tick(now));
        self.queues.iter().filter_map(Queue::next_due).min()
    }
}

/// Answers everything but `ReceiveMessage`.
pub(crate) fn execute(
    shared: &Shared,
    op: Op,
    number: u64,
    request: &Request<'_>,
    fault: Option<&Fault>,
) -> Result<Reply, Refusal> {
    let mut sqs = lock(&shared.sqs);
    let at = sqs.find(request.queue_name(), op)?;
    match request {
        Request::Send { batch, entries, .. } => {
            let most = sqs.max_batch_bytes.unwrap_or(limits::SERVICE_MAX_BYTES);
            let total: usize = entries.iter().map(limits::size).sum();
            if total > most {
                return Err(if *batch { limits::batch_too_long(most, total) } else { limits::too_long(most) });
            }
            answer(*batch, entries, fault, |entry, out| match send(&mut sqs, at, entry) {
                Ok(fields) => {
                    out.extend_from_slice(fields.as_bytes());
                    Ok(())
                }
                // A refused call is noted where it is answered; a refused entry only here.
                Err(refusal) if *batch => {
                    let (code, message) = (refusal.short_code().to_owned(), refusal.message.clone());
                    lock(&shared.log).violate(Violation { op, number, code, message });
                    Err(refusal)
                }
                Err(refusal) => Err(refusal),
            })
        }
        Request::Delete { batch, entries, .. } => answer(*batch, entries, fault, |entry, _| {
            let handle = handle(at, entry)?;
            sqs.queues[at].delete(handle);
            Ok(())
        }),
        Request::Change { batch, entries, .. } => answer(*batch, entries, fault, |entry, _| {
            let handle = handle(at, entry)?;
            let timeout = Duration::from_secs(entry.visibility_timeout.unwrap_or(0).unsigned_abs());
            let now = Instant::now();
            sqs.queues[at].tick(now);
            if sqs.queues[at].change(handle, timeout, now) {
                return Ok(());
            }
            let refusal =
                Refusal::new(400, "com.amazonaws.sqs#MessageNotInflight", "The specified message isn't in flight.");
            Err(refusal.known_as("AWS.SimpleQueueService.MessageNotInflight"))
        }),
        Request::Attributes { .. } => {
            sqs.queues[at].tick(Instant::now());
            Ok(Reply::json(serde_json::json!({"Attributes": view::attributes(shared, &sqs.queues[at])}).to_string()))
        }
        Request::Url { name } => Ok(Reply::json(serde_json::json!({"QueueUrl": shared.queue_url(name)}).to_string())),
        Request::Receive(_) => Err(Refusal::new(500, "InternalFailure", "receives are answered elsewhere")),
    }
}

/// What batches of sends, deletes and changes have in common.
trait Entry {
    fn id(&self) -> &str;
    fn text(&self) -> &str;
    fn problem(&self) -> Option<&Refusal>;
}

impl Entry for SendEntry<'_> {
    fn id(&self) -> &str {
        &self.id
    }

    fn text(&self) -> &str {
        &self.message_body
    }

    fn problem(&self) -> Option<&Refusal> {
        self.problem.as_ref()
    }
}

impl Entry for HandleEntry<'_> {
    fn id(&self) -> &str {
        &self.id
    }

    fn text(&self) -> &str {
        &self.receipt_handle
    }

    fn problem(&self) -> Option<&Refusal> {
        self.problem.as_ref()
    }
}

/// Does each entry's work, which may add fields to its result, and answers for all or for the single one.
fn answer<E: Entry>(
    batch: bool,
    entries: &[E],
    fault: Option<&Fault>,
    mut work: impl FnMut(&E, &mut Vec<u8>) -> Result<(), Refusal>,
) -> Result<Reply, Refusal> {
    if !batch {
        let mut fields = Vec::new();
        for entry in entries {
            work(entry, &mut fields)?;
        }
        return Ok(Reply::json([b"{".as_slice(), &fields, b"}"].concat()));
    }
    let (mut good, mut failed) = (Vec::new(), Vec::new());
    for (at, entry) in entries.iter().enumerate() {
        let mut fields = Vec::new();
        let result = match (entry.problem(), fault) {
            (Some(problem), _) => Err((problem.clone(), true)),
            (None, Some(Fault::FailEntries { which, code, sender_fault })) if which.picks(at, entry.text()) => {
                Err((Refusal::new(400, *code, "This entry failed."), *sender_fault))
            }
            (None, Some(Fault::ForgetEntries { which, done })) if which.picks(at, entry.text()) => {
                if *done {
                    let _ = work(entry, &mut fields);
                }
                continue;
            }
            _ => work(entry, &mut fields).map_err(|refusal| (refusal, true)),
        };
        let stranger = (fault == Some(&Fault::Strangers)).then(|| (at + 17).to_string());
        let id = stranger.as_deref().unwrap_or(entry.id());
        if result.is_ok() && (stranger.is_some() || fault == Some(&Fault::BothWays)) {
            failed.push(
                serde_json::json!({"Id": id, "SenderFault": false, "Code": "InternalError", "Message": "scripted"}),
            );
        }
        match result {
            Ok(()) => {
                good.extend_from_slice(if good.is_empty() { b"{\"Id\":" } else { b",{\"Id\":" });
                push_json_string(&mut good, id);
                if !fields.is_empty() {
                    good.push(b',');
                    good.extend_from_slice(&fields);
                }
                good.push(b'}');
            }
            Err((refusal, sender_fault)) => failed.push(serde_json::json!({
                "Id": id, "SenderFault": sender_fault, "Code": refusal.short_code(), "Message": refusal.message,
            })),
        }
    }
    let failed = serde_json::Value::Array(failed).to_string();
    Ok(Reply::json([b"{\"Successful\":[".as_slice(), &good, b"],\"Failed\":", failed.as_bytes(), b"}"].concat()))
}

/// Adds the message to the queue; the fields of its result.
fn send(sqs: &mut Sqs, at: usize, entry: &SendEntry<'_>) -> Result<String, Refusal> {
    let limit = sqs.queues[at].spec.max_message_bytes;
    if limits::size(entry) > limit { Err(limits::too_long(limit)) } else { Ok(add(sqs, at, entry)) }
}

fn add(sqs: &mut Sqs, at: usize, entry: &SendEntry<'_>) -> String {
    let id = sqs.next_id();
    let body_md5 = md5::of_body(&entry.message_body);
    let attributes_md5 = entry.message_attributes.as_ref().and_then(md5::of_attributes);
    let mut fields = format!("\"MessageId\":\"{id}\",\"MD5OfMessageBody\":\"{body_md5}\"");
    if let Some(digest) = &attributes_md5 {
        fields.push_str(&format!(",\"MD5OfMessageAttributes\":\"{digest}\""));
    }
    let delay = Duration::from_secs(entry.delay_seconds.unwrap_or(0).unsigned_abs());
    let state =
        if delay.is_zero() { State::Visible } else { State::Hidden { until: Instant::now() + delay, received: false } };
    sqs.queues[at].add(Message {
        id: id.into(),
        body: (&*entry.message_body).into(),
        attributes: entry
            .message_attributes
            .as_ref()
            .filter(|all| !all.is_empty())
            .map(attributes_json)
            .unwrap_or_default(),
        body_md5: body_md5.into(),
        attributes_md5: attributes_md5.map(Into::into),
        group: entry.message_group_id.as_ref().map(|group| (**group).into()),
        sent_at: millis_now(),
        first_received_at: 0,
        receives: 0,
        generation: 0,
        serial: 0,
        state,
    });
    fields
}

/// The attributes as a receive shows them.
fn attributes_json(attributes: &request::Attributes<'_>) -> Box<str> {
    let mut out = Vec::with_capacity(256);
    for (name, attribute) in attributes {
        out.push(if out.is_empty() { b'{' } else { b',' });
        push_json_string(&mut out, name);
        out.extend_from_slice(b":{\"DataType\":");
        push_json_string(&mut out, &attribute.data_type);
        for (key, value) in [("StringValue", &attribute.string_value), ("BinaryValue", &attribute.binary_value)] {
            if let Some(value) = value {
                out.extend_from_slice(format!(",\"{key}\":").as_bytes());
                push_json_string(&mut out, value);
            }
        }
        out.push(b'}');
    }
    out.push(b'}');
    String::from_utf8(out).unwrap_or_default().into()
}

fn handle(at: usize, entry: &HandleEntry<'_>) -> Result<Handle, Refusal> {
    let handle = Handle::parse(&entry.receipt_handle).filter(|handle| handle.queue as usize == at);
    handle.ok_or_else(|| invalid_handle("The input receipt handle is invalid."))
}

/// Puts a message into a queue as an older producer or a stranger would, past the limits. `attributes` are JSON
/// (`{"name":{"DataType":…}}`). Panics if there is no such queue.
pub(crate) fn inject(shared: &Shared, queue: &str, body: &str, attributes: &str) {
    let attributes: request::Attributes<'_> = serde_json::from_str(attributes).expect("attributes as SQS writes them");
    let entry = SendEntry {
        queue_url: Text::default(),
        id: Text::default(),
        message_body: Text(body.into()),
        message_attributes: Some(attributes),
        delay_seconds: None,
        message_group_id: None,
        problem: None,
    };
    let mut sqs = lock(&shared.sqs);
    let at = *sqs.names.get(queue).unwrap_or_else(|| panic!("there is no queue {queue}"));
    add(&mut sqs, at, &entry);
    drop(sqs);
    shared.changed();
}
