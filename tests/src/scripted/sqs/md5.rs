//! The digests that SQS sends back with a message.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use md5::{Digest, Md5};

use super::request::Attributes;

/// `MD5OfMessageBody`.
pub(crate) fn of_body(body: &str) -> String {
    hex(&Md5::digest(body.as_bytes()))
}

/// `MD5OfMessageAttributes`: names in order, each with type, kind of transport (1 text, 2 binary) and value, all with
/// their lengths in front. `None` when there are no attributes: SQS leaves the field out.
pub(crate) fn of_attributes(attributes: &Attributes<'_>) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let mut digest = Md5::new();
    let field = |digest: &mut Md5, bytes: &[u8]| {
        digest.update((bytes.len() as u32).to_be_bytes());
        digest.update(bytes);
    };
    for (name, attribute) in attributes {
        field(&mut digest, name.as_bytes());
        field(&mut digest, attribute.data_type.as_bytes());
        if let Some(text) = &attribute.string_value {
            digest.update([1]);
            field(&mut digest, text.as_bytes());
        } else if let Some(binary) = &attribute.binary_value {
            digest.update([2]);
            field(&mut digest, &BASE64_STANDARD.decode(binary.as_bytes()).unwrap_or_default());
        }
    }
    Some(hex(&digest.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those that moto 5.2.1 answered to the same message.
    #[test]
    fn digests_equal_those_of_another_implementation() {
        assert_eq!(of_body("This is a test message"), "fafb00f5732ab283681e124bf8747ed1");
        let attributes: Attributes<'_> = serde_json::from_str(
            r#"{"tenant_id":{"DataType":"String","StringValue":"acme"},
                "count":{"DataType":"Number","StringValue":"12"},
                "blob":{"DataType":"Binary.png","BinaryValue":"AAEC/w=="}}"#,
        )
        .unwrap();
        assert_eq!(of_attributes(&attributes).as_deref(), Some("48fc4da732342a2d0c1bb77d3ddd200a"));
        assert_eq!(of_attributes(&Attributes::default()), None);
    }
}
