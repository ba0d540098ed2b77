//! Noticing that AWS does not take a session's credentials any more, although their time is not over.

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::FinalizerInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

use super::Refreshing;

/// What AWS says of a session that it does not know or does not know any more, in any service's spelling.
const WORDS: [&str; 3] = ["ExpiredToken", "InvalidClientTokenId", "UnrecognizedClient"];

/// Looks at the answers of a client and tells the source of its credentials.
#[derive(Debug)]
pub(super) struct Rejections(pub(super) Refreshing);

#[dyn_dispatch_hint]
impl Intercept for Rejections {
    fn name(&self) -> &'static str {
        "Rejections"
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(response) = context.response() else { return Ok(()) };
        if !matches!(response.status().as_u16(), 400 | 401 | 403) {
            return Ok(());
        }
        let says = response.headers().get("x-amzn-query-error").unwrap_or_default();
        let body = response.body().bytes().unwrap_or_default();
        let body = std::str::from_utf8(body).unwrap_or_default();
        if WORDS.iter().any(|word| says.contains(word) || body.contains(word)) {
            self.0.rejected();
        }
        Ok(())
    }
}
