//! A payment as a client asks for it: parsed once, then trusted.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tenancy::message::outgoing::Body;
use tenancy::problem::Problem;
use uuid::Uuid;

use crate::money::Money;

/// The most characters that a reference has.
pub(crate) const MOST_REFERENCE_CHARS: usize = 255;

/// The most bytes of a request: a payment's own are at most 3 KiB, every character of the reference escaped.
pub(crate) const MOST_BYTES: usize = 16_384;

/// The `type` of the event that a payment becomes.
pub(crate) const EVENT_TYPE: &str = "payment.requested";

const SHAPE: &str = r#"send {"amount":"12.50","currency":"EUR","reference":"invoice 7"}"#;

/// What is to be paid, and what for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payment {
    money: Money,
    reference: Box<str>,
}

/// The keys that a request has. A key that is not one of them is refused: kept, it would look as if it meant something.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire<'a> {
    #[serde(borrow)]
    amount: Option<&'a RawValue>,
    #[serde(borrow)]
    currency: Option<&'a RawValue>,
    #[serde(borrow)]
    reference: Option<&'a RawValue>,
}

/// The event, in the order that its keys are written.
#[derive(Serialize)]
struct Event<'a> {
    r#type: &'a str,
    payment_id: &'a str,
    amount: &'a str,
    currency: &'a str,
    reference: &'a str,
}

impl Payment {
    /// Reads a request's body: 400 for what is no JSON, 422 for JSON that is no payment.
    pub(crate) fn from_client(bytes: &[u8]) -> Result<Self, Problem> {
        if bytes.is_empty() {
            return Err(Problem::Body(format!("the body is empty; {SHAPE}")));
        }
        let text =
            std::str::from_utf8(bytes).map_err(|error| Problem::Body(format!("the body is not UTF-8: {error}")))?;
        // All of it is read before any of it is judged, so that what is no JSON is never called a wrong payment.
        let json: &RawValue = serde_json::from_str(text)
            .map_err(|error| Problem::Body(format!("the body is not valid JSON: {error}")))?;
        if !json.get().starts_with('{') {
            return Err(Problem::Unprocessable(format!("a payment is a JSON object; {SHAPE}")));
        }
        let wire: Wire<'_> =
            serde_json::from_str(json.get()).map_err(|error| Problem::Unprocessable(brief(&error.to_string())))?;
        let amount = string("amount", wire.amount)?;
        let currency = string("currency", wire.currency)?;
        let reference = string("reference", wire.reference)?;
        let money = Money::parse(&amount, &currency).map_err(|error| Problem::Unprocessable(error.to_string()))?;
        let length = reference.chars().count();
        if !(1..=MOST_REFERENCE_CHARS).contains(&length) {
            let text = format!("reference must have 1 to {MOST_REFERENCE_CHARS} characters, not {length}");
            return Err(Problem::Unprocessable(text));
        }
        if reference.contains(char::is_control) {
            return Err(Problem::Unprocessable(
                "reference must not have control characters such as line breaks".to_owned(),
            ));
        }
        Ok(Self { money, reference: reference.into() })
    }

    pub(crate) fn amount(&self) -> &str {
        self.money.amount()
    }

    pub(crate) fn currency(&self) -> &'static str {
        self.money.currency()
    }

    pub(crate) fn reference(&self) -> &str {
        &self.reference
    }

    /// SHA-256 in hexadecimal over `amount NUL currency NUL reference`. Neither of the three has a NUL.
    pub(crate) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for part in [self.amount(), "\0", self.currency(), "\0", self.reference()] {
            hash.update(part);
        }
        hash.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// The event's JSON: the same bytes however often it is sent.
    pub(crate) fn event(&self, payment_id: Uuid) -> Result<Body, serde_json::Error> {
        let (amount, currency, reference) = (self.amount(), self.currency(), self.reference());
        let mut buffer = Uuid::encode_buffer();
        let payment_id = payment_id.hyphenated().encode_lower(&mut buffer);
        let event = Event { r#type: EVENT_TYPE, payment_id, amount, currency, reference };
        serde_json::to_string(&event).map(Body::from_json)
    }
}

/// The text of a JSON string; anything else is refused by the key's name.
fn string(name: &str, value: Option<&RawValue>) -> Result<String, Problem> {
    let Some(value) = value else {
        return Err(Problem::Unprocessable(format!("{name} is missing; {SHAPE}")));
    };
    let json = value.get();
    if json.starts_with('"') {
        let unreadable = |_| Problem::Unprocessable(format!("{name} is not text: it has half of a surrogate pair"));
        return serde_json::from_str(json).map_err(unreadable);
    }
    let number = json.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let text = match name {
        "amount" if number => {
            r#"amount must be a JSON string such as "12.50": on their way through programs, JSON numbers lose digits"#
                .to_owned()
        }
        _ => format!("{name} must be a JSON string; {SHAPE}"),
    };
    Err(Problem::Unprocessable(text))
}

/// The first part of a text that may repeat what the client sent, however long that is.
fn brief(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
#[path = "payment_tests.rs"]
mod tests;
