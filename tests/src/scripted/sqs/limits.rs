//! The limits of SQS on a single message, handle or number.

use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::super::op::Op;
use super::super::wire::Refusal;
use super::request::{Attribute, HandleEntry, SendEntry};

/// What SQS takes at most, message or batch, since August 2025.
pub(crate) const SERVICE_MAX_BYTES: usize = 1_048_576;

fn invalid(message: String) -> Refusal {
    Refusal::violation("com.amazonaws.sqs#InvalidParameterValue", message).known_as("InvalidParameterValue")
}

/// A number that may be left out has to be in its range.
pub(crate) fn within(name: &str, value: Option<i64>, range: RangeInclusive<i64>) -> Result<(), Refusal> {
    match value {
        Some(value) if !range.contains(&value) => Err(invalid(format!(
            "Value {value} for parameter {name} is invalid. Reason: Must be between {} and {}, if provided.",
            range.start(),
            range.end()
        ))),
        _ => Ok(()),
    }
}

/// The first thing wrong with a message to be sent.
pub(crate) fn check_message(entry: &SendEntry<'_>) -> Option<Refusal> {
    check_sent(entry).err()
}

fn check_sent(entry: &SendEntry<'_>) -> Result<(), Refusal> {
    if entry.message_body.is_empty() {
        let refusal = Refusal::violation(
            "com.amazonaws.sqs#MissingParameter",
            "The request must contain the parameter MessageBody.",
        );
        return Err(refusal.known_as("MissingParameter"));
    }
    if let Some(refused) = entry.message_body.chars().find(|&c| !is_allowed(c)) {
        let message = format!(
            "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF ({:?})",
            refused
        );
        return Err(
            Refusal::violation("com.amazonaws.sqs#InvalidMessageContents", message).known_as("InvalidMessageContents")
        );
    }
    within("DelaySeconds", entry.delay_seconds, 0..=900)?;
    if let Some(group) = &entry.message_group_id
        && (group.is_empty() || group.len() > 128 || !group.bytes().all(|b| b.is_ascii_graphic()))
    {
        return Err(invalid(
            "MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.".into(),
        ));
    }
    let attributes = entry.message_attributes.iter().flatten();
    if attributes.clone().count() > 10 {
        let message =
            format!("Number of message attributes [{}] exceeds the allowed maximum [10].", attributes.count());
        return Err(invalid(message));
    }
    for (name, attribute) in attributes {
        check_attribute(name, attribute)?;
    }
    Ok(())
}

/// What XML 1.0 can carry: nothing else may be in a body or a text attribute.
fn is_allowed(c: char) -> bool {
    matches!(c, '\u{9}' | '\u{A}' | '\u{D}' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}

fn check_attribute(name: &str, attribute: &Attribute<'_>) -> Result<(), Refusal> {
    let in_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let lower = name.to_ascii_lowercase();
    let well_named = !name.is_empty() && name.len() <= 256 && name.bytes().all(in_name);
    if !well_named || name.starts_with('.') || name.ends_with('.') || name.contains("..") {
        return Err(invalid(format!(
            "The message attribute name '{name}' is invalid. Attribute name can contain A-Z, a-z, 0-9, underscore (_), hyphen (-), and period (.) characters."
        )));
    }
    if lower.starts_with("aws.") || lower.starts_with("amazon.") {
        return Err(invalid(format!("The message attribute name '{name}' is reserved for use by AWS.")));
    }
    let kind = attribute.data_type.split('.').next().unwrap_or_default();
    if attribute.data_type.len() > 256 || !matches!(kind, "String" | "Number" | "Binary") {
        return Err(invalid(format!(
            "The message attribute '{name}' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String."
        )));
    }
    let (value, other) = match kind {
        "Binary" => (&attribute.binary_value, &attribute.string_value),
        _ => (&attribute.string_value, &attribute.binary_value),
    };
    let Some(value) = value.as_ref().filter(|value| !value.is_empty() && other.is_none()) else {
        return Err(invalid(format!(
            "The message attribute '{name}' must contain non-empty message attribute value for message attribute type '{kind}'."
        )));
    };
    let well_formed = match kind {
        "Binary" => BASE64_STANDARD.decode(value.as_bytes()).is_ok(),
        "Number" => value.parse::<f64>().is_ok_and(f64::is_finite),
        _ => value.chars().all(is_allowed),
    };
    if well_formed {
        Ok(())
    } else {
        Err(invalid(format!("Can't cast the value of message (user) attribute '{name}' to {kind}.")))
    }
}

/// Bytes of a message as SQS counts them: the body, and names, types and values of its attributes.
pub(crate) fn size(entry: &SendEntry<'_>) -> usize {
    let attributes = entry.message_attributes.iter().flatten().map(|(name, attribute)| {
        let binary = attribute
            .binary_value
            .as_ref()
            .map_or(0, |value| BASE64_STANDARD.decode(value.as_bytes()).map_or(0, |bytes| bytes.len()));
        name.len() + attribute.data_type.len() + attribute.string_value.as_ref().map_or(0, |value| value.len()) + binary
    });
    entry.message_body.len() + attributes.sum::<usize>()
}

/// A message above the queue's `MaximumMessageSize`.
pub(crate) fn too_long(limit: usize) -> Refusal {
    invalid(format!("One or more parameters are invalid. Reason: Message must be shorter than {limit} bytes."))
}

/// A batch above what SQS takes.
pub(crate) fn batch_too_long(limit: usize, sent: usize) -> Refusal {
    let message = format!("Batch requests cannot be longer than {limit} bytes. You have sent {sent} bytes.");
    Refusal::violation("com.amazonaws.sqs#BatchRequestTooLong", message)
        .known_as("AWS.SimpleQueueService.BatchRequestTooLong")
}

/// The first thing wrong with a message to be deleted or changed.
pub(crate) fn check_handle(op: Op, entry: &HandleEntry<'_>) -> Option<Refusal> {
    if entry.receipt_handle.is_empty() {
        let refusal = Refusal::violation(
            "com.amazonaws.sqs#MissingParameter",
            "The request must contain the parameter ReceiptHandle.",
        );
        return Some(refusal.known_as("MissingParameter"));
    }
    if matches!(op, Op::ChangeMessageVisibility | Op::ChangeMessageVisibilityBatch) {
        if entry.visibility_timeout.is_none() {
            let refusal = Refusal::violation(
                "com.amazonaws.sqs#MissingParameter",
                "The request must contain the parameter VisibilityTimeout.",
            );
            return Some(refusal.known_as("MissingParameter"));
        }
        return within("VisibilityTimeout", entry.visibility_timeout, 0..=43_200).err();
    }
    None
}
