//! Who may ask. The sandbox listens on loopback, but so does the browser of whoever runs it: a page from elsewhere can make it
//! send requests here. One that has its own name resolve to 127.0.0.1 is known by `Host`, one that posts across sites by
//! `Origin`; and no answer may be framed, or run what did not come from here.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::refusal;

/// What every answer says about itself.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // Another build of the sandbox may answer at the same address a minute later.
    (CACHE_CONTROL, "no-store"),
];

pub(super) async fn guard(request: Request, next: Next) -> Response {
    let mut response = match check(&request) {
        Ok(()) => next.run(request).await,
        Err(text) => refusal(StatusCode::FORBIDDEN, text).into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn check(request: &Request) -> Result<(), &'static str> {
    let host = authority(request).filter(is_loopback);
    let host = host.ok_or("the console answers to localhost, 127.0.0.1 and [::1] only, by any port")?;
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if reads || is_from_here(request.headers(), &host) {
        Ok(())
    } else {
        Err("the console takes posts from its own page only")
    }
}

/// What the client calls this server: of HTTP/2 it is in the URI.
fn authority(request: &Request) -> Option<Authority> {
    let mut named = request.headers().get_all(HOST).iter();
    match (named.next(), named.next(), request.uri().authority()) {
        (Some(host), None, _) => host.to_str().ok()?.parse().ok(),
        (None, _, authority) => authority.cloned(),
        _ => None,
    }
}

fn is_loopback(host: &Authority) -> bool {
    matches!(host.host(), "127.0.0.1" | "[::1]") || host.host().eq_ignore_ascii_case("localhost")
}

/// Browsers name the origin of every post. Who names none is no browser, which nobody else can make send anything.
fn is_from_here(headers: &HeaderMap, host: &Authority) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (Some(origin), None) => origin.as_bytes().eq_ignore_ascii_case(format!("http://{host}").as_bytes()),
        (None, _) => headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin"),
        _ => false,
    }
}
