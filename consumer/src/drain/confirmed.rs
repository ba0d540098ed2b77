//! What counts as AWS's word that an item is stored.
//!
//! The SDK reads an answer without a body as one without anything to say. DynamoDB never answers so: a batch that is stored
//! has a map of what is left over, if an empty one, and a single item at least an empty object. Nothing, or an error under
//! a status that says success, is somebody in between, and what became of the record is not known.

use aws_sdk_dynamodb::config::interceptors::AfterDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use thiserror::Error;

/// A success that is none.
#[derive(Debug, Error)]
#[error("an answer of status {status} that does not say that the record is stored")]
struct Unsaid {
    status: u16,
}

/// Fails a call whose answer has no object in it, or one that names an error. For calls whose success is an empty object.
#[derive(Debug)]
pub(crate) struct Confirmed;

impl Intercept for Confirmed {
    fn name(&self) -> &'static str {
        "Confirmed"
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response();
        if context.output_or_error().is_ok() && !confirms(response.body().bytes().unwrap_or_default()) {
            return Err(Unsaid { status: response.status().as_u16() }.into());
        }
        Ok(())
    }
}

/// Whether the body of a success is an object that names no error.
fn confirms(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{") && !body.windows(8).any(|name| name == b"\"__type\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_that_names_no_error_says_that_an_item_is_stored() {
        for body in ["{}", " {}\n", "{\"ConsumedCapacity\":{\"TableName\":\"consumer-acme\"}}"] {
            assert!(confirms(body.as_bytes()), "{body:?}");
        }
        for body in ["", "  \r\n", "null", "[]", "{\"__type\":\"InternalServerError\",\"message\":\"x\"}"] {
            assert!(!confirms(body.as_bytes()), "{body:?}");
        }
    }
}
