//! STS, from winterbaume-sts: `AssumeRoleWithWebIdentity` for the services, `GetCallerIdentity` for people. The crate takes any
//! web identity; here an empty token or one that is no JWT is refused as AWS does, so that a broken token file shows.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderMap;
use winterbaume_core::{MockRequest, MockResponse, MockService};
use winterbaume_sts::StsService;

use super::{scope, ssm};

#[derive(Default)]
pub(super) struct Sts {
    service: StsService,
}

impl Sts {
    pub(super) async fn answer(&self, region: &str, headers: HeaderMap, body: Bytes) -> Response {
        if field(&body, "Action") == Some("AssumeRoleWithWebIdentity") {
            let token = field(&body, "WebIdentityToken").unwrap_or_default();
            if token.split('.').filter(|part| !part.is_empty()).count() != 3 {
                let refusal =
                    MockResponse::error(400, "InvalidIdentityToken", "The ID Token provided is not a valid JWT.");
                return ssm::winterbaume(refusal);
            }
        }
        if field(&body, "Action").is_none() {
            return (http::StatusCode::BAD_REQUEST, "a form without Action\n").into_response();
        }
        let request = MockRequest { method: "POST".to_owned(), uri: scope::uri("sts", region), headers, body };
        ssm::winterbaume(self.service.handle(request).await)
    }
}

/// A field of a form, still percent-encoded: enough for names and tokens, whose characters need no encoding.
fn field<'a>(form: &'a [u8], name: &str) -> Option<&'a str> {
    let fields = std::str::from_utf8(form).ok()?.split('&');
    fields.filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
}
