//! What SQS refuses, so that a test which passes here does not fail on AWS: sizes, characters, counts and ranges.

use std::collections::HashSet;

use super::wire::{AttributeValue, Refusal, Send};

/// Entries in one batch call, at most.
const MAX_ENTRIES: usize = 10;
/// Bytes of all messages of one batch call, at most.
const MAX_BATCH_BYTES: usize = 1_048_576;
/// Message attributes of one message, at most.
const MAX_ATTRIBUTES: usize = 10;

/// Checks what all batch calls have in common: 1 to 10 entries with distinct, well-formed ids.
pub(super) fn batch<'a>(ids: impl ExactSizeIterator<Item = &'a str>) -> Result<(), Refusal> {
    let refuse = |shape, code, message: String| Err(Refusal::new(shape, code, message));
    match ids.len() {
        0 => {
            let text = "There should be at least one entry in the request.".to_owned();
            return refuse("EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest", text);
        }
        1..=MAX_ENTRIES => {}
        count => {
            let text = format!("Maximum number of entries per request are {MAX_ENTRIES}. You have sent {count}.");
            return refuse("TooManyEntriesInBatchRequest", "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", text);
        }
    }
    let mut seen = HashSet::new();
    for id in ids {
        let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if id.is_empty() || id.len() > 80 || !id.bytes().all(legal) {
            let text = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 \
                        letters long.";
            return refuse("InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId", text.to_owned());
        }
        if !seen.insert(id) {
            let text = format!("Id {id} repeated.");
            return refuse("BatchEntryIdsNotDistinct", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", text);
        }
    }
    Ok(())
}

/// Checks the size of all messages of a batch together.
pub(super) fn batch_bytes(entries: &[Send]) -> Result<(), Refusal> {
    let bytes: usize = entries.iter().map(size).sum();
    if bytes > MAX_BATCH_BYTES {
        let text =
            format!("Batch requests cannot be longer than {MAX_BATCH_BYTES} bytes. You have sent {bytes} bytes.");
        return Err(Refusal::new("BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", text));
    }
    Ok(())
}

/// Checks one message against the queue's `MaximumMessageSize` and the rules for contents and attributes.
pub(super) fn message(message: &Send, max_bytes: usize) -> Result<(), Refusal> {
    if message.message_body.is_empty() {
        return Err(Refusal::missing("MessageBody"));
    }
    let contents =
        || Refusal::new("InvalidMessageContents", "InvalidMessageContents", "Invalid characters found in the message.");
    if !legal_text(&message.message_body) {
        return Err(contents());
    }
    if message.message_attributes.len() > MAX_ATTRIBUTES {
        let count = message.message_attributes.len();
        return Err(Refusal::value(format!(
            "Number of message attributes [{count}] exceeds the allowed maximum [{MAX_ATTRIBUTES}]."
        )));
    }
    for (name, value) in &message.message_attributes {
        attribute(name, value)?;
        if !value.string_value.as_deref().is_none_or(legal_text) {
            return Err(contents());
        }
    }
    range("DelaySeconds", message.delay_seconds, 0..=900)?;
    if size(message) > max_bytes {
        let text =
            format!("One or more parameters are invalid. Reason: Message must be shorter than {max_bytes} bytes.");
        return Err(Refusal::value(text));
    }
    Ok(())
}

fn attribute(name: &str, value: &AttributeValue) -> Result<(), Refusal> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let lower = name.to_ascii_lowercase();
    let reserved = lower.starts_with("aws.") || lower.starts_with("amazon.");
    if name.is_empty() || name.len() > 256 || !name.bytes().all(legal) || reserved {
        return Err(Refusal::value(format!("The message attribute name '{name}' is invalid.")));
    }
    let is_empty = match value.data_type.split('.').next() {
        Some("String" | "Number") => value.string_value.as_deref().is_none_or(str::is_empty),
        Some("Binary") => value.binary_value.as_deref().is_none_or(str::is_empty),
        _ => {
            let text = format!(
                "The type of message attribute '{name}' is invalid. You must use only the following supported type \
                                prefixes: Binary, Number, String."
            );
            return Err(Refusal::value(text));
        }
    };
    if is_empty {
        let text =
            format!("The message attribute '{name}' must contain a non-empty value of type '{}'.", value.data_type);
        return Err(Refusal::value(text));
    }
    Ok(())
}

/// Checks that a number, if there is one, lies where SQS wants it.
pub(super) fn range(name: &str, value: Option<i64>, allowed: std::ops::RangeInclusive<i64>) -> Result<(), Refusal> {
    match value {
        Some(value) if !allowed.contains(&value) => {
            let (low, high) = (allowed.start(), allowed.end());
            Err(Refusal::value(format!(
                "Value {value} for parameter {name} is invalid. Reason: Must be between {low} and {high}, if provided."
            )))
        }
        _ => Ok(()),
    }
}

/// The size of a message as SQS counts it: body, and name, type and value of each attribute, in bytes.
fn size(message: &Send) -> usize {
    let attributes = message.message_attributes.iter().map(|(name, value)| {
        // Base64 has 4 characters for 3 bytes.
        let binary = value.binary_value.as_deref().map_or(0, |text| text.trim_end_matches('=').len() * 3 / 4);
        name.len() + value.data_type.len() + value.string_value.as_deref().map_or(0, str::len) + binary
    });
    message.message_body.len() + attributes.sum::<usize>()
}

/// The characters that SQS takes: those of XML 1.0.
fn legal_text(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: impl Into<String>) -> Send {
        Send { message_body: body.into(), ..Send::default() }
    }

    fn with_attribute(name: &str, value: AttributeValue) -> Send {
        Send { message_attributes: [(name.to_owned(), value)].into(), ..text("x") }
    }

    fn string(value: &str) -> AttributeValue {
        AttributeValue { data_type: "String".to_owned(), string_value: Some(value.to_owned()), binary_value: None }
    }

    #[test]
    fn a_message_of_exactly_the_limit_passes_and_one_byte_more_does_not() {
        let full = Send { message_attributes: [("ab".to_owned(), string("cd"))].into(), ..text("é".repeat(10)) };
        assert_eq!(message(&full, 30), Ok(()), "20 bytes of body, 2 of name, 6 of type, 2 of value");
        assert_eq!(message(&full, 29).map_err(|refusal| refusal.code), Err("InvalidParameterValue"));
    }

    #[test]
    fn characters_outside_of_xml_are_refused() {
        for bad in ["\u{0}", "\u{1}", "\u{b}", "\u{1f}", "\u{ffff}", "\u{fffe}"] {
            assert_eq!(
                message(&text(format!("a{bad}")), 100).map_err(|r| r.code),
                Err("InvalidMessageContents"),
                "{bad:?}"
            );
        }
        for good in ["\t\n\r", "\u{7f}", "\u{fffd}", "\u{1f600}", "{\"a\":1}"] {
            assert_eq!(message(&text(good), 100), Ok(()), "{good:?}");
        }
        assert_eq!(message(&text(""), 100).map_err(|r| r.code), Err("MissingParameter"));
    }

    #[test]
    fn attributes_need_a_legal_name_a_known_type_and_a_value() {
        assert_eq!(message(&with_attribute("tenant_id", string("acme")), 100), Ok(()));
        assert!(message(&with_attribute("tenant_id", string("")), 100).is_err(), "empty value");
        assert!(message(&with_attribute("AWS.x", string("a")), 100).is_err(), "reserved name");
        assert!(message(&with_attribute("a b", string("a")), 100).is_err(), "space in the name");
        let odd = AttributeValue { data_type: "Text".to_owned(), ..string("a") };
        assert!(message(&with_attribute("a", odd), 100).is_err(), "unknown type");
        let many = (0..11).map(|n| (format!("a{n}"), string("x"))).collect();
        assert!(message(&Send { message_attributes: many, ..text("x") }, 1000).is_err(), "eleven");
    }

    #[test]
    fn a_batch_has_one_to_ten_entries_with_distinct_ids() {
        let ids = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        let check = |ids: &[String]| batch(ids.iter().map(String::as_str)).map_err(|refusal| refusal.shape);
        assert_eq!(check(&ids(10)), Ok(()));
        assert_eq!(check(&ids(11)), Err("TooManyEntriesInBatchRequest"));
        assert_eq!(check(&[]), Err("EmptyBatchRequest"));
        assert_eq!(check(&["a".to_owned(), "a".to_owned()]), Err("BatchEntryIdsNotDistinct"));
        assert_eq!(check(&["a b".to_owned()]), Err("InvalidBatchEntryId"));
        assert_eq!(batch_bytes(&[text("x".repeat(524_288)), text("x".repeat(524_288))]), Ok(()));
        let over = batch_bytes(&[text("x".repeat(524_288)), text("x".repeat(524_289))]);
        assert_eq!(over.map_err(|refusal| refusal.shape), Err("BatchRequestTooLong"));
    }
}
