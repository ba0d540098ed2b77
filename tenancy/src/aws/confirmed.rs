//! What counts as DynamoDB's word where all that success says may be an empty object.
//!
//! The SDK reads an answer without a body as one without anything to say, and one of status 200 that names an error as well.
//! DynamoDB never answers so. It is somebody in between, and what became of the item is not known.

use std::collections::BTreeMap;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::AfterDeserializationInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use serde::de::IgnoredAny;
use thiserror::Error;

/// A success that is none.
#[derive(Debug, Error)]
#[error("an answer of status {0} that says nothing of the item")]
struct Unsaid(u16);

/// Makes a call of `GetItem` or `PutItem` fail, with what counts as [`Fault::Transient`](super::Fault), when the answer under its
/// success is no JSON object or names an error.
#[derive(Debug, Clone, Copy)]
pub struct Confirmed;

#[dyn_dispatch_hint]
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
            return Err(Unsaid(response.status().as_u16()).into());
        }
        Ok(())
    }
}

/// Whether the body of a success is an object that names no error. An item may say `__type` wherever it likes.
fn confirms(body: &[u8]) -> bool {
    serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(body).is_ok_and(|answer| !answer.contains_key("__type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_that_names_no_error_says_something_of_an_item() {
        for body in ["{}", " {}\n", r#"{"ConsumedCapacity":{}}"#, r#"{"Item":{"reference":{"S":"__type"}}}"#] {
            assert!(confirms(body.as_bytes()), "{body:?}");
        }
        for body in ["", "  \r\n", "null", "[]", "{", r#"{"__type":"InternalServerError","message":"x"}"#] {
            assert!(!confirms(body.as_bytes()), "{body:?}");
        }
    }
}
