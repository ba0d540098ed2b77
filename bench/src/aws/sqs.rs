//! SQS in its JSON protocol: what the SDKs of today speak.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::cloud::{Cloud, Failure, Outcome, Poll};
use super::md5::{Attributes, Hex};
use super::queue::{Handle, Message};

/// Entries in one batch.
const MOST_ENTRIES: usize = 10;

/// Messages are hidden this long where a receive does not say.
const DEFAULT_VISIBILITY: u64 = 30;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Send<'a> {
    #[serde(borrow)]
    queue_url: Cow<'a, str>,
    #[serde(borrow)]
    message_body: &'a RawValue,
    #[serde(borrow)]
    message_attributes: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Batch<'a, T> {
    #[serde(borrow)]
    queue_url: Cow<'a, str>,
    entries: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SendEntry<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    message_body: &'a RawValue,
    #[serde(borrow)]
    message_attributes: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HandleEntry<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    receipt_handle: Cow<'a, str>,
    #[serde(default)]
    visibility_timeout: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OfHandle<'a> {
    #[serde(borrow)]
    queue_url: Cow<'a, str>,
    #[serde(borrow)]
    receipt_handle: Cow<'a, str>,
    #[serde(default)]
    visibility_timeout: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Receive<'a> {
    #[serde(borrow)]
    queue_url: Cow<'a, str>,
    max_number_of_messages: Option<usize>,
    visibility_timeout: Option<u64>,
    #[serde(default)]
    wait_time_seconds: u64,
    #[serde(borrow)]
    attribute_names: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow)]
    message_system_attribute_names: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow)]
    message_attribute_names: Option<Vec<Cow<'a, str>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OfQueue<'a> {
    #[serde(borrow)]
    queue_url: Option<Cow<'a, str>>,
    #[serde(borrow)]
    queue_name: Option<Cow<'a, str>>,
}

fn name_of(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or(url)
}

fn entries_of<T>(batch: &Batch<'_, T>) -> Result<(), Failure> {
    match batch.entries.len() {
        0 => Err(Failure::refused("com.amazonaws.sqs#EmptyBatchRequest", "There should be at least one entry.")),
        1..=MOST_ENTRIES => Ok(()),
        _ => Err(Failure::refused("com.amazonaws.sqs#TooManyEntriesInBatchRequest", "There are more than 10 entries.")),
    }
}

impl Cloud {
    fn message(&mut self, body: &RawValue, attributes: Option<&RawValue>) -> Result<Message, Failure> {
        let text: Cow<'_, str> = serde_json::from_str::<Text<'_>>(body.get())?.0;
        let attributes = attributes.map(|raw| {
            let parsed: Attributes<'_> = serde_json::from_str(raw.get())?;
            Ok::<_, Failure>((raw.get().into(), Hex::of_attributes(&parsed)))
        });
        Ok(Message {
            id: self.next_id(),
            body: Arc::from(body.get()),
            body_md5: Hex::of(text.as_bytes()),
            attributes: attributes.transpose()?,
            sent_at: crate::clock::epoch_millis(),
            receives: 0,
        })
    }

    pub(super) fn send(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        let request: Send<'_> = serde_json::from_slice(body)?;
        let message = self.message(request.message_body, request.message_attributes)?;
        out.push(b'{');
        sent(&message, "MD5OfMessageBody", out);
        out.push(b'}');
        let queue = self.queue(name_of(&request.queue_url));
        self.at(queue).queue.push(message);
        Ok(Outcome::changed(1, queue))
    }

    pub(super) fn send_batch(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        let batch: Batch<'_, SendEntry<'_>> = serde_json::from_slice(body)?;
        entries_of(&batch)?;
        let queue = self.queue(name_of(&batch.queue_url));
        out.extend_from_slice(b"{\"Successful\":[");
        for (index, entry) in batch.entries.iter().enumerate() {
            let message = self.message(entry.message_body, entry.message_attributes)?;
            separate(index, out);
            id(&entry.id, out);
            out.push(b',');
            sent(&message, "MD5OfMessageBody", out);
            out.push(b'}');
            self.at(queue).queue.push(message);
        }
        out.extend_from_slice(b"]}");
        Ok(Outcome::changed(batch.entries.len(), queue))
    }

    pub(super) fn delete(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        let request: OfHandle<'_> = serde_json::from_slice(body)?;
        let handle = Handle::parse(&request.receipt_handle).ok_or_else(Failure::handle)?;
        let queue = self.queue(name_of(&request.queue_url));
        let deleted = self.at(queue).queue.delete(handle);
        out.extend_from_slice(b"{}");
        Ok(Outcome::done(usize::from(deleted)))
    }

    pub(super) fn delete_batch(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        self.each_handle(body, out, |cloud, queue, handle, _| {
            cloud.at(queue).queue.delete(handle);
        })
    }

    pub(super) fn hide(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        let request: OfHandle<'_> = serde_json::from_slice(body)?;
        let handle = Handle::parse(&request.receipt_handle).ok_or_else(Failure::handle)?;
        let queue = self.queue(name_of(&request.queue_url));
        let now = self.second();
        self.at(queue).queue.hide(handle, now + request.visibility_timeout, now);
        out.extend_from_slice(b"{}");
        Ok(Outcome::changed(1, queue))
    }

    pub(super) fn hide_batch(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        let now = self.second();
        self.each_handle(body, out, |cloud, queue, handle, hidden| {
            cloud.at(queue).queue.hide(handle, now + hidden, now);
        })
    }

    fn each_handle(
        &mut self,
        body: &[u8],
        out: &mut Vec<u8>,
        act: impl Fn(&mut Self, usize, Handle, u64),
    ) -> Result<Outcome, Failure> {
        let batch: Batch<'_, HandleEntry<'_>> = serde_json::from_slice(body)?;
        entries_of(&batch)?;
        let queue = self.queue(name_of(&batch.queue_url));
        out.extend_from_slice(b"{\"Successful\":[");
        for (index, entry) in batch.entries.iter().enumerate() {
            let handle = Handle::parse(&entry.receipt_handle).ok_or_else(Failure::handle)?;
            act(self, queue, handle, entry.visibility_timeout);
            separate(index, out);
            id(&entry.id, out);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
        Ok(Outcome::changed(batch.entries.len(), queue))
    }

    pub(super) fn receive(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        let request: Receive<'_> = serde_json::from_slice(body)?;
        let asked = |names: &Option<Vec<Cow<'_, str>>>| names.as_ref().is_some_and(|names| !names.is_empty());
        let poll = Poll {
            queue: self.queue(name_of(&request.queue_url)),
            most: request.max_number_of_messages.unwrap_or(1).clamp(1, 10),
            visibility: request.visibility_timeout.unwrap_or(DEFAULT_VISIBILITY),
            system_attributes: asked(&request.attribute_names) || asked(&request.message_system_attribute_names),
            attributes: asked(&request.message_attribute_names),
        };
        self.reappear(poll.queue);
        if self.at(poll.queue).queue.visible() == 0 && request.wait_time_seconds > 0 {
            return Ok(Outcome::Waits(poll, request.wait_time_seconds.min(20)));
        }
        Ok(Outcome::done(self.take(&poll, out)))
    }

    /// Writes the answer to a receive; how many messages it brings.
    pub(super) fn take(&mut self, poll: &Poll, out: &mut Vec<u8>) -> usize {
        let until = self.second() + poll.visibility.max(1);
        let queue = &mut self.at(poll.queue).queue;
        let mut count = 0;
        while count < poll.most
            && let Some((handle, message)) = queue.receive(until)
        {
            out.extend_from_slice(if count == 0 { b"{\"Messages\":[{" } else { b",{" });
            received(handle, message, poll, out);
            count += 1;
        }
        out.extend_from_slice(if count == 0 { b"{}" } else { b"]}" });
        count
    }

    pub(super) fn queue_url(&mut self, body: &[u8], host: &str, out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        let request: OfQueue<'_> = serde_json::from_slice(body)?;
        let name = request.queue_name.unwrap_or_default();
        out.extend_from_slice(format!("{{\"QueueUrl\":\"http://{host}/{}/{name}\"}}", super::ACCOUNT).as_bytes());
        Ok(Outcome::done(1))
    }

    pub(super) fn queue_attributes(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        let request: OfQueue<'_> = serde_json::from_slice(body)?;
        let queue = self.queue(name_of(&request.queue_url.unwrap_or_default()));
        self.reappear(queue);
        let queue = &self.at(queue).queue;
        let attributes = serde_json::json!({"Attributes": {
            "ApproximateNumberOfMessages": queue.visible().to_string(),
            "ApproximateNumberOfMessagesNotVisible": queue.hidden().to_string(),
            "VisibilityTimeout": DEFAULT_VISIBILITY.to_string(),
        }});
        out.extend_from_slice(attributes.to_string().as_bytes());
        Ok(Outcome::done(1))
    }
}

/// A JSON string without a copy where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

/// An entry's id, as the callers write it: letters, digits, `-` and `_`.
fn id(id: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"Id\":\"");
    out.extend_from_slice(id.as_bytes());
    out.push(b'"');
}

fn sent(message: &Message, digest: &str, out: &mut Vec<u8>) {
    field("MessageId", message.id.as_bytes(), out);
    out.push(b',');
    field(digest, message.body_md5.as_bytes(), out);
    if let Some((_, md5)) = &message.attributes {
        out.push(b',');
        field("MD5OfMessageAttributes", md5.as_bytes(), out);
    }
}

fn received(handle: Handle, message: &Message, poll: &Poll, out: &mut Vec<u8>) {
    field("MessageId", message.id.as_bytes(), out);
    out.push(b',');
    field("MD5OfBody", message.body_md5.as_bytes(), out);
    out.extend_from_slice(b",\"ReceiptHandle\":\"");
    handle.write(out);
    out.extend_from_slice(b"\",\"Body\":");
    out.extend_from_slice(message.body.as_bytes());
    if poll.system_attributes {
        let (sent_at, receives) = (message.sent_at, message.receives);
        let text = format!(
            r#","Attributes":{{"SenderId":"AIDABENCH","SentTimestamp":"{sent_at}","ApproximateReceiveCount":"{receives}","ApproximateFirstReceiveTimestamp":"{sent_at}"}}"#
        );
        out.extend_from_slice(text.as_bytes());
    }
    if let Some((attributes, md5)) = message.attributes.as_ref().filter(|_| poll.attributes) {
        out.push(b',');
        field("MD5OfMessageAttributes", md5.as_bytes(), out);
        out.extend_from_slice(b",\"MessageAttributes\":");
        out.extend_from_slice(attributes.as_bytes());
    }
    out.push(b'}');
}

/// A field whose value needs no escapes.
fn field(name: &str, value: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":\"");
    out.extend_from_slice(value);
    out.push(b'"');
}
