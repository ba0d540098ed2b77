//! Requests to SQS as they come, and the checks that need nothing but the request.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use super::super::op::Op;
use super::super::text::Text;
use super::super::wire::Refusal;
use super::limits;

/// Attributes of a message by name, in the order the digest wants.
pub(crate) type Attributes<'a> = BTreeMap<Text<'a>, Attribute<'a>>;

/// One attribute of a message.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Attribute<'a> {
    #[serde(borrow)]
    pub(crate) data_type: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) string_value: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) binary_value: Option<Text<'a>>,
}

/// A message to be sent: an entry of a batch, or the whole of a `SendMessage`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct SendEntry<'a> {
    #[serde(borrow, default)]
    pub(crate) queue_url: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) message_body: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) message_attributes: Option<Attributes<'a>>,
    #[serde(default)]
    pub(crate) delay_seconds: Option<i64>,
    #[serde(borrow, default)]
    pub(crate) message_group_id: Option<Text<'a>>,
    /// What is wrong with it: in a batch it fails alone.
    #[serde(skip)]
    pub(crate) problem: Option<Refusal>,
}

/// A message that was received: an entry of a batch of deletes or changes, or the whole of a single one.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct HandleEntry<'a> {
    #[serde(borrow, default)]
    pub(crate) queue_url: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) receipt_handle: Text<'a>,
    #[serde(default)]
    pub(crate) visibility_timeout: Option<i64>,
    #[serde(skip)]
    pub(crate) problem: Option<Refusal>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", bound(deserialize = "E: Deserialize<'de>"))]
struct Batch<'a, E> {
    #[serde(borrow)]
    queue_url: Text<'a>,
    #[serde(default = "Vec::new")]
    entries: Vec<E>,
}

/// A `ReceiveMessage`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Receive<'a> {
    #[serde(borrow)]
    pub(crate) queue_url: Text<'a>,
    #[serde(default)]
    pub(crate) max_number_of_messages: Option<i64>,
    #[serde(default)]
    pub(crate) wait_time_seconds: Option<i64>,
    #[serde(default)]
    pub(crate) visibility_timeout: Option<i64>,
    #[serde(default)]
    pub(crate) attribute_names: Vec<String>,
    #[serde(default)]
    pub(crate) message_system_attribute_names: Vec<String>,
    #[serde(default)]
    pub(crate) message_attribute_names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct About<'a> {
    #[serde(borrow, default)]
    queue_url: Text<'a>,
    #[serde(borrow, default)]
    queue_name: Text<'a>,
}

/// A request to SQS.
pub(crate) enum Request<'a> {
    /// `SendMessage` (`batch` false) and `SendMessageBatch`.
    Send {
        queue_url: Text<'a>,
        batch: bool,
        entries: Vec<SendEntry<'a>>,
    },
    Receive(Receive<'a>),
    /// `DeleteMessage` and its batch.
    Delete {
        queue_url: Text<'a>,
        batch: bool,
        entries: Vec<HandleEntry<'a>>,
    },
    /// `ChangeMessageVisibility` and its batch.
    Change {
        queue_url: Text<'a>,
        batch: bool,
        entries: Vec<HandleEntry<'a>>,
    },
    Attributes {
        queue_url: Text<'a>,
    },
    Url {
        name: Text<'a>,
    },
}

impl<'a> Request<'a> {
    /// Reads the request and checks it. What is wrong with single entries stays with them.
    pub(crate) fn read(op: Op, body: &'a [u8]) -> Result<Self, Refusal> {
        match op {
            Op::SendMessage => {
                let mut entry: SendEntry<'a> = parsed(body)?;
                let queue_url = std::mem::take(&mut entry.queue_url);
                limits::check_message(&entry).map_or(Ok(()), Err)?;
                Ok(Self::Send { queue_url, batch: false, entries: vec![entry] })
            }
            Op::SendMessageBatch => {
                let Batch { queue_url, mut entries } = parsed::<Batch<'a, SendEntry<'a>>>(body)?;
                check_batch(entries.iter().map(|entry| &*entry.id))?;
                for entry in &mut entries {
                    entry.problem = limits::check_message(entry);
                }
                Ok(Self::Send { queue_url, batch: true, entries })
            }
            Op::ReceiveMessage => {
                let receive: Receive<'a> = parsed(body)?;
                limits::within("MaxNumberOfMessages", receive.max_number_of_messages, 1..=10)?;
                limits::within("WaitTimeSeconds", receive.wait_time_seconds, 0..=20)?;
                limits::within("VisibilityTimeout", receive.visibility_timeout, 0..=43_200)?;
                Ok(Self::Receive(receive))
            }
            Op::DeleteMessage | Op::ChangeMessageVisibility => {
                let mut entry: HandleEntry<'a> = parsed(body)?;
                let queue_url = std::mem::take(&mut entry.queue_url);
                limits::check_handle(op, &entry).map_or(Ok(()), Err)?;
                let entries = vec![entry];
                Ok(match op {
                    Op::DeleteMessage => Self::Delete { queue_url, batch: false, entries },
                    _ => Self::Change { queue_url, batch: false, entries },
                })
            }
            Op::DeleteMessageBatch | Op::ChangeMessageVisibilityBatch => {
                let Batch { queue_url, mut entries } = parsed::<Batch<'a, HandleEntry<'a>>>(body)?;
                check_batch(entries.iter().map(|entry| &*entry.id))?;
                for entry in &mut entries {
                    entry.problem = limits::check_handle(op, entry);
                }
                Ok(match op {
                    Op::DeleteMessageBatch => Self::Delete { queue_url, batch: true, entries },
                    _ => Self::Change { queue_url, batch: true, entries },
                })
            }
            Op::GetQueueUrl => Ok(Self::Url { name: parsed::<About<'a>>(body)?.queue_name }),
            _ => Ok(Self::Attributes { queue_url: parsed::<About<'a>>(body)?.queue_url }),
        }
    }

    /// The name of the queue it is about.
    pub(crate) fn queue_name(&self) -> &str {
        match self {
            Self::Send { queue_url, .. }
            | Self::Delete { queue_url, .. }
            | Self::Change { queue_url, .. }
            | Self::Attributes { queue_url }
            | Self::Receive(Receive { queue_url, .. }) => queue_url.rsplit('/').next().unwrap_or_default(),
            Self::Url { name } => name,
        }
    }

    /// What is wrong with single entries.
    pub(crate) fn problems(&self) -> Vec<Refusal> {
        match self {
            Self::Send { entries, .. } => entries.iter().filter_map(|entry| entry.problem.clone()).collect(),
            Self::Delete { entries, .. } | Self::Change { entries, .. } => {
                entries.iter().filter_map(|entry| entry.problem.clone()).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn parsed<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::violation("com.amazon.coral.service#SerializationException", error.to_string()))
}

/// Ids and number of the entries of a batch.
fn check_batch<'e>(ids: impl ExactSizeIterator<Item = &'e str>) -> Result<(), Refusal> {
    let refused = |code: &str, message: String| {
        let query_code = format!("AWS.SimpleQueueService.{code}");
        Err(Refusal::violation(format!("com.amazonaws.sqs#{code}"), message).known_as(query_code))
    };
    let count = ids.len();
    if count == 0 {
        return refused("EmptyBatchRequest", "There should be at least one entry in the request.".into());
    }
    if count > 10 {
        return refused(
            "TooManyEntriesInBatchRequest",
            format!("Maximum number of entries per request are 10. You have sent {count}."),
        );
    }
    let mut seen = HashSet::with_capacity(count);
    for id in ids {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if id.is_empty() || id.len() > 80 || !id.bytes().all(allowed) {
            let message = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.";
            return refused("InvalidBatchEntryId", format!("{message} ({id:?})"));
        }
        if !seen.insert(id) {
            return refused("BatchEntryIdsNotDistinct", format!("Id {id} repeated."));
        }
    }
    Ok(())
}
