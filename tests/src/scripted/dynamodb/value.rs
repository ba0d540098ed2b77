//! Attribute values of DynamoDB: reading, order, and size as DynamoDB counts it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use super::super::text::Text;

/// The attributes of an item by name.
pub(crate) type Item<'a> = BTreeMap<Text<'a>, Value<'a>>;

/// A value with its type.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) enum Value<'a> {
    S(#[serde(borrow)] Text<'a>),
    N(#[serde(borrow)] Text<'a>),
    B(#[serde(borrow)] Text<'a>),
    #[serde(rename = "BOOL")]
    Bool(bool),
    #[serde(rename = "NULL")]
    Null(bool),
    L(Vec<Value<'a>>),
    M(#[serde(borrow)] BTreeMap<Text<'a>, Value<'a>>),
    #[serde(rename = "SS")]
    Strings(#[serde(borrow)] Vec<Text<'a>>),
    #[serde(rename = "NS")]
    Numbers(#[serde(borrow)] Vec<Text<'a>>),
    #[serde(rename = "BS")]
    Binaries(#[serde(borrow)] Vec<Text<'a>>),
}

impl Value<'_> {
    /// Bytes as DynamoDB counts them; numbers as its rule of thumb says.
    pub(crate) fn size(&self) -> usize {
        let number = |text: &str| text.bytes().filter(u8::is_ascii_digit).count().div_ceil(2) + 1;
        match self {
            Self::S(text) => text.len(),
            Self::N(text) => number(text),
            Self::B(text) => decoded(text).len(),
            Self::Bool(_) | Self::Null(_) => 1,
            Self::L(values) => 3 + values.iter().map(|value| value.size() + 1).sum::<usize>(),
            Self::M(values) => 3 + values.iter().map(|(name, value)| name.len() + value.size() + 1).sum::<usize>(),
            Self::Strings(texts) => texts.iter().map(|text| text.len()).sum(),
            Self::Numbers(texts) => texts.iter().map(|text| number(text)).sum(),
            Self::Binaries(texts) => texts.iter().map(|text| decoded(text).len()).sum(),
        }
    }

    /// How deep lists and maps nest.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::L(values) => 1 + values.iter().map(Value::depth).max().unwrap_or(0),
            Self::M(values) => 1 + values.values().map(Value::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Order within one type; `None` across types.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::S(one), Self::S(two)) => Some(one.as_bytes().cmp(two.as_bytes())),
            (Self::N(one), Self::N(two)) => one.parse::<f64>().ok()?.partial_cmp(&two.parse::<f64>().ok()?),
            (Self::B(one), Self::B(two)) => Some(decoded(one).cmp(&decoded(two))),
            _ => None,
        }
    }

    /// The first thing that DynamoDB refuses in it.
    pub(crate) fn problem(&self) -> Option<String> {
        match self {
            Self::N(text) => number_problem(text),
            Self::B(text) => {
                BASE64_STANDARD.decode(text.as_bytes()).err().map(|_| "Invalid base64 in a binary value".to_owned())
            }
            Self::L(values) => values.iter().find_map(Value::problem),
            Self::M(values) => values.values().find_map(Value::problem),
            Self::Strings(texts) | Self::Binaries(texts) => set_problem(texts),
            Self::Numbers(texts) => set_problem(texts).or_else(|| texts.iter().find_map(|text| number_problem(text))),
            Self::Null(false) => Some("Null attribute value types must have the value of true".to_owned()),
            _ => None,
        }
    }
}

fn decoded(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text.as_bytes()).unwrap_or_default()
}

fn set_problem(texts: &[Text<'_>]) -> Option<String> {
    let distinct: std::collections::HashSet<&str> = texts.iter().map(|text| &**text).collect();
    (texts.is_empty() || distinct.len() < texts.len())
        .then(|| "An set attribute may not be empty or hold duplicates".to_owned())
}

fn number_problem(text: &str) -> Option<String> {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_matches('0').len();
    match text.parse::<f64>() {
        Err(_) => Some(format!("The parameter cannot be converted to a numeric value: {text}")),
        Ok(_) if significant > 38 => Some("Attempting to store more than 38 significant digits in a Number".to_owned()),
        Ok(number) if !number.is_finite() || number.abs() >= 1e126 => {
            Some("Number overflow. Attempting to store a number with magnitude larger than supported range".to_owned())
        }
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value<'_> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn sizes_follow_the_published_rules() {
        assert_eq!(value(r#"{"S":"tést"}"#).size(), 5);
        assert_eq!(value(r#"{"N":"12345"}"#).size(), 4);
        assert_eq!(
            value(r#"{"M":{"ab":{"BOOL":true},"c":{"L":[{"S":"x"}]}}}"#).size(),
            3 + (2 + 1 + 1) + (1 + (3 + 2) + 1)
        );
    }

    #[test]
    fn numbers_of_more_than_38_digits_are_refused() {
        assert!(value(r#"{"N":"12345678901234567890123456789012345678901"}"#).problem().is_some());
        assert!(value(r#"{"N":"1e400"}"#).problem().is_some());
        assert_eq!(value(r#"{"N":"0.1"}"#).problem(), None);
    }
}
