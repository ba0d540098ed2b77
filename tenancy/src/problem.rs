//! Errors as HTTP: RFC 9457 `application/problem+json`.
//!
//! One enum says every way in which a request can fail and, in each variant's doc, with which status. What a client reads is
//! fixed text and what the client itself sent: never a stack, AWS's words or another tenant's name. Causes are logged where
//! they happen.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

/// The media type of every error body.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// A request that was not answered with success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// 400: no `tenantID` header, or it is empty, repeated, a list or malformed. The text says which.
    Tenant(String),
    /// 400: a `tier` header that names no tier, is empty or repeated.
    Tier(String),
    /// 400: a header other than those two, a query parameter or a path segment that cannot be used.
    Parameter(String),
    /// 400: a body that is not what the route takes.
    Body(String),
    /// 401: no bearer token, where one is needed.
    NoToken,
    /// 401: a bearer token that proves nothing. The text says why; it is ASCII without quotation marks.
    Token(&'static str),
    /// 403: a token that is valid, but not for this tenant. The text says what it lacks.
    TokenTenant(&'static str),
    /// 403: a tenant that this deployment does not serve.
    NotServed,
    /// 404: no tenant of that id is registered.
    UnknownTenant,
    /// 404: no such route, or nothing of that id here.
    NotFound,
    /// 405: the route exists, not with this method; the `Allow` header names those it takes.
    Method,
    /// 408: the request's body did not arrive in time.
    Slow,
    /// 409: the tier header contradicts the tenant's registered resources.
    TierConflict,
    /// 413: a body or event larger than allowed. Holds the limit in bytes and what it counts.
    TooLarge(usize, &'static str),
    /// 415: a body whose content type is not JSON.
    MediaType,
    /// 422: well-formed, but not a value that can be accepted. The text says why.
    Unprocessable(String),
    /// 429: over a limit; come back after that time.
    Limited(Duration),
    /// 503: it cannot be taken right now, here or by AWS; come back after that time.
    Unavailable(Duration),
    /// 500: a bug of ours.
    Internal,
}

impl Problem {
    /// Temporarily unable, to be tried again in a second.
    pub const UNAVAILABLE: Self = Self::Unavailable(Duration::from_secs(1));

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Tenant(_) | Self::Tier(_) | Self::Parameter(_) | Self::Body(_) => StatusCode::BAD_REQUEST,
            Self::NoToken | Self::Token(_) => StatusCode::UNAUTHORIZED,
            Self::NotServed | Self::TokenTenant(_) => StatusCode::FORBIDDEN,
            Self::UnknownTenant | Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::TierConflict => StatusCode::CONFLICT,
            Self::TooLarge(..) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Unprocessable(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Limited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The kind of problem: the last part of `type`, stable for clients to switch on.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tenant(_) => "tenant-header",
            Self::Tier(_) => "tier-header",
            Self::Parameter(_) => "parameter",
            Self::Body(_) => "body",
            Self::NoToken => "token-missing",
            Self::Token(_) => "token-invalid",
            Self::TokenTenant(_) => "token-tenant",
            Self::NotServed => "tenant-not-served",
            Self::UnknownTenant => "tenant-unknown",
            Self::NotFound => "not-found",
            Self::Method => "method",
            Self::Slow => "slow-request",
            Self::TierConflict => "tier-conflict",
            Self::TooLarge(..) => "too-large",
            Self::MediaType => "media-type",
            Self::Unprocessable(_) => "unprocessable",
            Self::Limited(_) => "limited",
            Self::Unavailable(_) => "unavailable",
            Self::Internal => "internal",
        }
    }

    /// A short text that is the same for every problem of this kind.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Self::Tenant(_) => "The tenantID header is missing or not valid",
            Self::Tier(_) => "The tier header is not valid",
            Self::Parameter(_) => "A header or parameter is not valid",
            Self::Body(_) => "The body is not valid",
            Self::NoToken => "A bearer token is needed",
            Self::Token(_) => "The bearer token is not valid",
            Self::TokenTenant(_) => "The bearer token is not for this tenant",
            Self::NotServed => "This deployment does not serve the tenant",
            Self::UnknownTenant => "The tenant is not known",
            Self::NotFound => "There is nothing here",
            Self::Method => "The method is not allowed here",
            Self::Slow => "The request took too long to arrive",
            Self::TierConflict => "The tier is not the tenant's",
            Self::TooLarge(..) => "The request is too large",
            Self::MediaType => "The content type is not JSON",
            Self::Unprocessable(_) => "The request cannot be accepted",
            Self::Limited(_) => "Too many requests",
            Self::Unavailable(_) => "The service cannot take the request now",
            Self::Internal => "The service failed",
        }
    }

    /// What is wrong with this very request, and what to do.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            Self::Tenant(text)
            | Self::Tier(text)
            | Self::Parameter(text)
            | Self::Body(text)
            | Self::Unprocessable(text) => text.clone(),
            Self::NoToken => "send the header Authorization: Bearer TOKEN".to_owned(),
            Self::Token(text) | Self::TokenTenant(text) => (*text).to_owned(),
            Self::NotServed => "send the request to the deployment that serves this tenant".to_owned(),
            Self::UnknownTenant => {
                "check the tenantID header; a new tenant is known seconds after its onboarding".to_owned()
            }
            Self::NotFound => "check the path".to_owned(),
            Self::Method => "use a method that the Allow header names".to_owned(),
            Self::Slow => "send the whole request without pauses".to_owned(),
            Self::TierConflict => {
                "leave the tier header out, or send the tier that the tenant is registered with".to_owned()
            }
            Self::TooLarge(limit, what) => format!("{what} may have at most {limit} bytes"),
            Self::MediaType => "send JSON with content type application/json, or an empty body".to_owned(),
            Self::Limited(after) | Self::Unavailable(after) => {
                format!("try again in {} s", whole_seconds(*after))
            }
            Self::Internal => "the failure has been logged".to_owned(),
        }
    }

    /// How a client can authenticate, by RFC 6750: what is wrong with the token it sent, nothing where it sent none.
    fn challenge(&self) -> Option<HeaderValue> {
        let (error, text) = match self {
            Self::NoToken => return Some(HeaderValue::from_static("Bearer realm=\"tenant-plane\"")),
            Self::Token(text) => ("invalid_token", text),
            Self::TokenTenant(text) => ("insufficient_scope", text),
            _ => return None,
        };
        let text = format!("Bearer realm=\"tenant-plane\", error=\"{error}\", error_description=\"{text}\"");
        HeaderValue::try_from(text).ok()
    }

    /// The body as JSON; `msg` repeats `title` for older clients.
    #[must_use]
    pub fn body(&self) -> serde_json::Value {
        json!({
            "type": format!("urn:tenant-plane:problem:{}", self.kind()),
            "title": self.title(),
            "status": self.status().as_u16(),
            "detail": self.detail(),
            "msg": self.title(),
        })
    }
}

/// Seconds, rounded up: whoever comes back a moment too early has come in vain.
fn whole_seconds(time: Duration) -> u64 {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1)
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), self.body().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(challenge) = self.challenge() {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Self::Limited(after) | Self::Unavailable(after) = &self {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(*after)));
        }
        response.extensions_mut().insert(ProblemKind(self.kind()));
        response
    }
}

/// Left in the response's extensions so that metrics can count problems by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProblemKind(pub &'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_type_title_status_detail_and_the_older_msg() {
        let body = Problem::TooLarge(262_144, "an event").body();
        assert_eq!(
            body,
            json!({
                "type": "urn:tenant-plane:problem:too-large",
                "title": "The request is too large",
                "status": 413,
                "detail": "an event may have at most 262144 bytes",
                "msg": "The request is too large",
            })
        );
    }

    #[test]
    fn who_has_no_valid_token_is_told_how_to_authenticate() {
        for (problem, status, challenge) in [
            (Problem::NoToken, 401, "Bearer realm=\"tenant-plane\""),
            (
                Problem::Token("the token has expired"),
                401,
                "Bearer realm=\"tenant-plane\", error=\"invalid_token\", error_description=\"the token has expired\"",
            ),
            (
                Problem::TokenTenant("the token is for another tenant"),
                403,
                "Bearer realm=\"tenant-plane\", error=\"insufficient_scope\", error_description=\"the token is for another tenant\"",
            ),
        ] {
            let response = problem.into_response();
            assert_eq!(response.status(), status);
            assert_eq!(response.headers()[header::WWW_AUTHENTICATE], challenge);
        }
        assert_eq!(Problem::NotServed.into_response().headers().get(header::WWW_AUTHENTICATE), None);
    }

    #[test]
    fn who_should_come_back_is_told_when() {
        for problem in [Problem::UNAVAILABLE, Problem::Limited(Duration::from_millis(10))] {
            let response = problem.into_response();
            assert_eq!(response.headers()[header::RETRY_AFTER], "1");
            assert_eq!(response.headers()[header::CONTENT_TYPE], PROBLEM_JSON);
        }
    }
}
