//! Message ids: the sort key of a record.
//!
//! An id of ours is a UUID. Without an idempotency key it is version 7, so that ids sort by time; with one it is version 5
//! over service, tenant, key and place in the batch, so that a client's retry lands on the same record.

use std::fmt;
use std::str::FromStr;

use serde::Serializer;
use thiserror::Error;
use uuid::Uuid;

/// The namespace of our version 5 ids. Made once, at random; to change it would turn every retry into a second record.
const NAMESPACE: Uuid = Uuid::from_u128(0x5aed_c43a_00e7_48a9_8bb5_e866_e382_c825);

/// What every payment's claim has before its id, beside the record of the same id. No message is ever stored under such a key.
pub const CLAIM_PREFIX: &str = "payment#";

/// The longest sort key that DynamoDB takes, in bytes.
pub const MAX_BYTES: usize = 1_024;

/// The id of a new message: unique, and greater than those made before it by this process.
#[must_use]
pub fn unique() -> Uuid {
    Uuid::now_v7()
}

/// The id that stands for `key`: the same for the same service, tenant, key and index (the place in a batch, else 0).
#[must_use]
pub fn of_key(service: &str, tenant: &crate::tenant::TenantId, key: &IdempotencyKey, index: usize) -> Uuid {
    let name = format!("{service}\0{tenant}\0{key}\0{index}");
    Uuid::new_v5(&NAMESPACE, name.as_bytes())
}

/// Writes an id as answers have it, without a copy on the way: for serde's `serialize_with`.
///
/// # Errors
/// The serializer's.
pub fn hyphenated<S: Serializer>(id: &Uuid, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
}

/// Whether a message from the queue may be stored under this text: 1 to 1,024 bytes, and not a payment's claim.
#[must_use]
pub fn is_usable(text: &str) -> bool {
    (1..=MAX_BYTES).contains(&text.len()) && !text.starts_with(CLAIM_PREFIX)
}

/// The value of an `Idempotency-Key` header: 1 to 255 visible ASCII characters, the client's own choice, per tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(Box<str>);

/// A value that cannot be an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the Idempotency-Key header has 1 to 255 visible ASCII characters")]
pub struct IdempotencyKeyError;

impl FromStr for IdempotencyKey {
    type Err = IdempotencyKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if visible && (1..=255).contains(&text.len()) { Ok(Self(text.into())) } else { Err(IdempotencyKeyError) }
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_key_gives_the_same_id_and_nothing_else_does() {
        let id = |service: &str, tenant: &str, key: &str, index| {
            of_key(service, &tenant.parse().unwrap(), &key.parse().unwrap(), index).to_string()
        };
        let first = id("producer", "acme", "order-1", 0);
        assert_eq!(first, id("producer", "acme", "order-1", 0));
        for other in [
            id("payments", "acme", "order-1", 0),
            id("producer", "acne", "order-1", 0),
            id("producer", "acme", "order-2", 0),
            id("producer", "acme", "order-1", 1),
        ] {
            assert_ne!(first, other);
        }
        // Written down, since a change would store a second record for a retry that spans a deployment.
        assert_eq!(first, "fd4c5c23-75ea-5812-b888-93e8bf1770c3");
    }

    #[test]
    fn ids_without_a_key_sort_by_the_time_they_were_made() {
        let ids: Vec<String> = (0..1_000).map(|_| unique().to_string()).collect();
        assert!(ids.is_sorted());
    }

    #[test]
    fn a_key_is_visible_ascii_of_bounded_length() {
        assert!("a".repeat(255).parse::<IdempotencyKey>().is_ok());
        for bad in ["", " ", "a b", "a\tb", "é", &"a".repeat(256)] {
            assert_eq!(bad.parse::<IdempotencyKey>(), Err(IdempotencyKeyError), "{bad:?}");
        }
    }

    #[test]
    fn a_claim_s_key_is_not_for_messages() {
        assert!(is_usable("0198c0de"));
        assert!(is_usable(&"x".repeat(1_024)));
        for bad in ["", "payment#0198c0de", &"x".repeat(1_025)] {
            assert!(!is_usable(bad), "{bad:?}");
        }
    }
}
