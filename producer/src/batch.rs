//! A batch: a JSON array of 1 to 1,000 events, each kept byte for byte.

use std::fmt;

use bytes::Bytes;
use bytestring::ByteString;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use tenancy::problem::Problem;

/// The most events of one batch.
pub(crate) const MOST_EVENTS: usize = 1_000;

/// A request's body as text: 400 if it is none.
pub(crate) fn text(bytes: Bytes) -> Result<ByteString, Problem> {
    ByteString::try_from(bytes).map_err(|error| Problem::Body(format!("the body is not UTF-8: {error}")))
}

/// The events of a batch, each as it stands in the request.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    text: &'a ByteString,
    events: Vec<&'a RawValue>,
}

impl<'a> Batch<'a> {
    /// Reads a request's body: 400 for what is no JSON, 422 for JSON that is no batch.
    pub(crate) fn from_client(text: &'a ByteString) -> Result<Self, Problem> {
        let Events(events) = serde_json::from_str(text).map_err(|error| refusal(text, &error))?;
        if events.is_empty() {
            return Err(Problem::Unprocessable(format!("a batch has 1 to {MOST_EVENTS} events, not 0")));
        }
        Ok(Self { text, events })
    }

    /// How many events there are.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// The JSON of the event at a place: a part of the request's body, not a copy.
    pub(crate) fn event(&self, at: usize) -> Option<ByteString> {
        self.events.get(at).map(|event| self.text.slice_ref(event.get()))
    }
}

/// What is wrong with a text that is no batch. The text itself is not repeated: it may have ten megabytes.
fn refusal(text: &str, error: &serde_json::Error) -> Problem {
    let start = text.trim_ascii_start();
    if start.is_empty() {
        return Problem::Body(format!("the body is empty; send a JSON array of 1 to {MOST_EVENTS} events"));
    }
    // What is no batch may come before what is no JSON; the latter is said first.
    let no_json = match error.classify() {
        Category::Data => serde_json::from_str::<&RawValue>(text).err(),
        _ => return not_json(error),
    };
    match no_json {
        Some(error) => not_json(&error),
        None if start.starts_with('[') => {
            Problem::Unprocessable(format!("a batch has 1 to {MOST_EVENTS} events, this one has more"))
        }
        None => Problem::Unprocessable(format!("a batch is a JSON array of 1 to {MOST_EVENTS} events")),
    }
}

fn not_json(error: &serde_json::Error) -> Problem {
    Problem::Body(format!("the body is not valid JSON: {error}"))
}

/// The events of a JSON array, not more than a batch has.
struct Events<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Events<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Collect)
    }
}

struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = Events<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a JSON array of 1 to {MOST_EVENTS} events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<Self::Value, A::Error> {
        let mut batch = Vec::new();
        while let Some(event) = events.next_element::<&RawValue>()? {
            // Ended here rather than counted to the end: ten megabytes can hold five million of `1,`.
            if batch.len() == MOST_EVENTS {
                return Err(A::Error::invalid_length(MOST_EVENTS + 1, &self));
            }
            batch.push(event);
        }
        Ok(Events(batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(json: &str) -> Vec<ByteString> {
        let text = ByteString::from(json);
        let batch = Batch::from_client(&text).unwrap();
        (0..batch.len()).filter_map(|at| batch.event(at)).collect()
    }

    fn refused(bytes: &[u8]) -> Problem {
        text(Bytes::copy_from_slice(bytes)).and_then(|text| Batch::from_client(&text).map(drop)).unwrap_err()
    }

    #[test]
    fn each_event_keeps_its_bytes() {
        assert_eq!(
            events(
                "[ {\"b\":1, \"a\" : 2,\"b\":3}\n,\t0.1, 1e400,12345678901234567890123456789012345678901,\"\\u00e9é\",null,[ ],\"\"]"
            ),
            [
                r#"{"b":1, "a" : 2,"b":3}"#,
                "0.1",
                "1e400",
                "12345678901234567890123456789012345678901",
                r#""\u00e9é""#,
                "null",
                "[ ]",
                r#""""#
            ]
        );
    }

    #[test]
    fn a_batch_has_1_to_1000_events() {
        let of = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert_eq!(events(&of(1)).len(), 1);
        assert_eq!(events(&of(1_000)).len(), 1_000);
        assert_eq!(refused(b"[]"), Problem::Unprocessable("a batch has 1 to 1000 events, not 0".to_owned()));
        let more = "a batch has 1 to 1000 events, this one has more".to_owned();
        assert_eq!(refused(of(1_001).as_bytes()), Problem::Unprocessable(more));
    }

    #[test]
    fn what_is_no_json_is_a_400_and_what_is_no_array_a_422() {
        for bad in [&b"["[..], b"[1,]", b"[1 2]", b"[1]x", b"{", b"nope", b"[{'a':1}]", b"[\"\x01\"]"] {
            assert!(
                matches!(refused(bad), Problem::Body(text) if text.starts_with("the body is not valid JSON:")),
                "{bad:?}"
            );
        }
        for empty in [&b""[..], b" \r\n"] {
            assert_eq!(
                refused(empty),
                Problem::Body("the body is empty; send a JSON array of 1 to 1000 events".to_owned())
            );
        }
        assert!(matches!(refused(b"[\"\xff\"]"), Problem::Body(text) if text.starts_with("the body is not UTF-8:")));
        for other in ["{}", "1", "\"x\"", "null", r#"{"events":[1]}"#] {
            let text = "a batch is a JSON array of 1 to 1000 events".to_owned();
            assert_eq!(refused(other.as_bytes()), Problem::Unprocessable(text));
        }
    }

    #[test]
    fn a_refusal_does_not_repeat_megabytes() {
        let long = format!("\"{}\"", "x".repeat(1_000_000));
        let text = "a batch is a JSON array of 1 to 1000 events".to_owned();
        assert_eq!(refused(long.as_bytes()), Problem::Unprocessable(text));
    }

    #[test]
    fn deep_nesting_is_read_without_recursion() {
        let deep = format!("[{}{}]", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(events(&deep)[0].len(), 200_000);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_batch_or_a_client_s_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let read = text(bytes.into()).and_then(|text| Batch::from_client(&text).map(drop));
            if let Err(problem) = read {
                prop_assert!(matches!(problem, Problem::Body(_) | Problem::Unprocessable(_)));
            }
        }

        #[test]
        fn any_events_come_out_as_they_went_in(texts in proptest::collection::vec(any::<String>(), 1..20)) {
            let written: Vec<String> = texts.iter().map(|text| serde_json::to_string(text).unwrap()).collect();
            let json = format!("[{}]", written.join(" , "));
            prop_assert_eq!(events(&json), written);
        }
    }
}
