//! The digests that SDKs hold against what they sent and received.

use std::borrow::Cow;
use std::collections::BTreeMap;

use md5::{Digest, Md5};
use serde::Deserialize;

/// A digest as the 32 characters of its hexadecimal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hex([u8; 32]);

impl Hex {
    /// Of a body.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::from(Md5::digest(bytes).as_slice())
    }

    /// Of message attributes: names in order, each with type, kind (1: text) and value, all with their lengths in front.
    pub(crate) fn of_attributes(attributes: &Attributes<'_>) -> Self {
        let mut digest = Md5::new();
        let field = |digest: &mut Md5, bytes: &[u8]| {
            digest.update(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
            digest.update(bytes);
        };
        for (name, attribute) in attributes {
            field(&mut digest, name.as_bytes());
            field(&mut digest, attribute.data_type.as_bytes());
            digest.update([1]);
            field(&mut digest, attribute.string_value.as_bytes());
        }
        Self::from(digest.finalize().as_slice())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for Hex {
    fn from(bytes: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 32];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(bytes) {
            pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        Self(hex)
    }
}

/// Message attributes by name.
pub(crate) type Attributes<'a> = BTreeMap<Cow<'a, str>, Attribute<'a>>;

/// A text attribute. Those of other kinds are not taken: nobody here sends any.
#[derive(Debug, Deserialize)]
pub(crate) struct Attribute<'a> {
    #[serde(rename = "DataType", borrow)]
    data_type: Cow<'a, str>,
    #[serde(rename = "StringValue", borrow)]
    string_value: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(hex: Hex) -> String {
        String::from_utf8(hex.as_bytes().to_vec()).unwrap()
    }

    /// The values are those that moto answered to the same messages.
    #[test]
    fn digests_equal_those_of_another_implementation() {
        assert_eq!(text(Hex::of(b"This is a test message")), "fafb00f5732ab283681e124bf8747ed1");
        let attributes: Attributes<'_> =
            serde_json::from_str(r#"{"tenant_id":{"DataType":"String","StringValue":"acme"}}"#).unwrap();
        assert_eq!(text(Hex::of_attributes(&attributes)), "ba9f9d077e1e36341a531e892f63a045");
    }
}
