//! The limits of DynamoDB on what a write holds.

use std::collections::HashSet;

use super::super::wire::Refusal;
use super::request::Request;
use super::table::TableSpec;
use super::value::{Item, Value};

/// An item may have as many bytes, names of its attributes included.
const MAX_ITEM_BYTES: usize = 400 * 1024;
/// A batch may have as many writes.
const MAX_WRITES: usize = 25;
/// A request may have as many bytes.
const MAX_REQUEST_BYTES: usize = 16 * 1024 * 1024;

pub(crate) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::violation("com.amazon.coral.validate#ValidationException", message)
}

/// What can be checked without a table.
pub(crate) fn check(request: &Request<'_>, body: &[u8]) -> Result<(), Refusal> {
    if body.len() > MAX_REQUEST_BYTES {
        return Err(invalid("Request size exceeds 16 MB"));
    }
    match request {
        Request::Put(_, item) => check_item(item),
        Request::Get(get) => check_item(&get.key),
        Request::BatchWrite(tables) => {
            let count: usize = tables.iter().map(|(_, writes)| writes.len()).sum();
            if count == 0 || tables.iter().any(|(_, writes)| writes.is_empty()) {
                return Err(invalid("The batch write request list for a table cannot be null or empty."));
            }
            if count > MAX_WRITES {
                return Err(invalid(format!(
                    "Too many items requested for the BatchWriteItem call ({count}); at most 25."
                )));
            }
            tables.iter().flat_map(|(_, writes)| writes).try_for_each(|write| check_item(&write.attributes))
        }
        Request::Query(query) => match query.limit {
            Some(limit) if limit < 1 => Err(invalid("Limit must be greater than or equal to 1")),
            _ => Ok(()),
        },
    }
}

fn check_item(item: &Item<'_>) -> Result<(), Refusal> {
    let mut size = 0;
    for (name, value) in item {
        if let Some(problem) = value.problem() {
            return Err(invalid(format!("One or more parameter values were invalid: {problem}")));
        }
        if name.is_empty() || name.len() > 65_535 {
            return Err(invalid("One or more parameter values were invalid: attribute names have 1 to 65,535 bytes"));
        }
        if value.depth() > 32 {
            return Err(invalid("Nesting Levels have exceeded supported limits"));
        }
        size += name.len() + value.size();
    }
    if size > MAX_ITEM_BYTES {
        return Err(invalid(format!("Item size has exceeded the maximum allowed size ({size} bytes)")));
    }
    Ok(())
}

/// The key of `item`: strings of 1 to 2,048 and 1 to 1,024 bytes.
pub(crate) fn key(spec: &TableSpec, item: &Item<'_>) -> Result<(Box<str>, Box<str>), Refusal> {
    let part = |name: &str, most: usize, kind: &str| match item.get(name) {
        None => Err(invalid(format!("One or more parameter values were invalid: Missing the key {name} in the item"))),
        Some(Value::S(text)) if text.is_empty() => Err(invalid(format!(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: {name}"
        ))),
        Some(Value::S(text)) if text.len() > most => Err(invalid(format!(
            "One or more parameter values were invalid: Size of {kind} has exceeded the maximum size limit of {most} bytes"
        ))),
        Some(Value::S(text)) => Ok(Box::from(&**text)),
        Some(_) => Err(invalid(format!(
            "One or more parameter values were invalid: Type mismatch for key {name}, expected: S"
        ))),
    };
    Ok((part(&spec.partition_key, 2_048, "hashkey")?, part(&spec.sort_key, 1_024, "sortkey")?))
}

/// A batch may not write one key twice.
pub(crate) fn distinct<'k>(keys: impl Iterator<Item = &'k (Box<str>, Box<str>)>) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    for key in keys {
        if !seen.insert(key) {
            return Err(invalid("Provided list of item keys contains duplicates"));
        }
    }
    Ok(())
}
