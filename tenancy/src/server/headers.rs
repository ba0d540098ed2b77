//! What requests say in headers, read once, strictly.

use axum::http::HeaderMap;

use crate::message::id::IdempotencyKey;
use crate::problem::Problem;
use crate::registry::Caller;
use crate::tenant::{TenantId, Tier};
use crate::trace::Parent;

/// Whose request it is. Header names are compared without regard to case, as HTTP has it; ids are not.
pub const TENANT_ID: &str = "tenantid";
/// What the tenant says it pays for.
pub const TIER: &str = "tier";
/// The client's own name for a request, so that it can be repeated.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The W3C trace context.
pub const TRACEPARENT: &str = "traceparent";

/// How many values a header has.
enum Values<'a> {
    None,
    One(&'a str),
    Many,
    NotText,
}

fn values<'a>(headers: &'a HeaderMap, name: &str) -> Values<'a> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Values::None,
        (Some(_), Some(_)) => Values::Many,
        (Some(value), None) => value.to_str().map_or(Values::NotText, Values::One),
    }
}

/// The tenant and tier that a request names; `None` without a `tenantID` header.
///
/// # Errors
/// 400: a header that is empty, repeated, a list or malformed.
pub fn caller(headers: &HeaderMap) -> Result<Option<Caller>, Problem> {
    let tier = tier(headers)?;
    Ok(tenant(headers)?.map(|tenant| Caller { tenant, tier }))
}

/// The tenant that a request names.
pub(super) fn tenant(headers: &HeaderMap) -> Result<Option<TenantId>, Problem> {
    let wrong = |text: &str| Err(Problem::Tenant(text.to_owned()));
    match values(headers, TENANT_ID) {
        Values::None => Ok(None),
        Values::Many => wrong("send exactly one tenantID header"),
        Values::NotText => wrong("a tenant id has only the characters a-z, 0-9 and -"),
        Values::One(list) if list.contains(',') => wrong("send exactly one tenant id, not a list"),
        Values::One(text) => text.parse().map(Some).map_err(|error| Problem::Tenant(format!("{error}"))),
    }
}

/// The tier that a request names.
pub(super) fn tier(headers: &HeaderMap) -> Result<Option<Tier>, Problem> {
    let wrong = |text: &str| Err(Problem::Tier(text.to_owned()));
    match values(headers, TIER) {
        Values::None => Ok(None),
        Values::Many => wrong("send at most one tier header"),
        Values::NotText => wrong("a tier is basic, advanced or premium"),
        Values::One(text) => text.parse().map(Some).map_err(|error| Problem::Tier(format!("{error}"))),
    }
}

/// The `Idempotency-Key` of a request, if it has one.
///
/// # Errors
/// 400: it is repeated, empty, too long or not visible ASCII.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Problem> {
    let wrong = |text: &str| Problem::Parameter(text.to_owned());
    match values(headers, IDEMPOTENCY_KEY) {
        Values::None => Ok(None),
        Values::Many => Err(wrong("send at most one Idempotency-Key header")),
        Values::NotText => Err(wrong("the Idempotency-Key header has 1 to 255 visible ASCII characters")),
        Values::One(text) => text.parse().map(Some).map_err(|error| Problem::Parameter(format!("{error}"))),
    }
}

/// The trace context of a request whose trace is sampled. Anything else, malformed values too, is no context: a broken tracer
/// must not cost anyone an event.
#[must_use]
pub fn traceparent(headers: &HeaderMap) -> Option<Box<str>> {
    let Values::One(text) = values(headers, TRACEPARENT) else { return None };
    Parent::read(text).filter(Parent::is_sampled).map(|_| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    fn headers(pairs: &[(&str, &[u8])]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_bytes(value).unwrap());
        }
        map
    }

    #[test]
    fn the_tenant_header_has_exactly_one_value() {
        for (pairs, detail) in [
            (&[("tenantid", b"acme" as &[u8]), ("tenantID", b"acme")][..], "send exactly one tenantID header"),
            (&[("tenantid", b"acme, globex")], "send exactly one tenant id, not a list"),
            (&[("tenantid", b"")], "a tenant id must not be empty"),
            (&[("tenantid", b"t\xe9st")], "a tenant id has only the characters a-z, 0-9 and -"),
            (&[("tenantid", "tést".as_bytes())], "a tenant id has only the characters a-z, 0-9 and -"),
        ] {
            assert_eq!(caller(&headers(pairs)), Err(Problem::Tenant(detail.to_owned())));
        }
        assert_eq!(caller(&headers(&[])), Ok(None));
        let acme = caller(&headers(&[("TenantID", b"acme"), ("tier", b"basic")])).unwrap().unwrap();
        assert_eq!((acme.tenant.as_str(), acme.tier), ("acme", Some(Tier::Basic)));
    }

    #[test]
    fn a_tier_is_checked_even_without_a_tenant() {
        for value in [&b""[..], b"gold", b"\xff", b"basic,premium", b"Basic"] {
            let headers = headers(&[("tier", value)]);
            assert!(matches!(caller(&headers), Err(Problem::Tier(_))), "{value:?}");
        }
        assert!(matches!(caller(&headers(&[("tier", b"basic"), ("tier", b"basic")])), Err(Problem::Tier(_))));
    }

    #[test]
    fn only_a_sampled_trace_travels_on() {
        let sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(traceparent(&headers(&[("traceparent", sampled.as_bytes())])).as_deref(), Some(sampled));
        for other in [
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "nonsense",
            "",
        ] {
            assert_eq!(traceparent(&headers(&[("traceparent", other.as_bytes())])), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_header_value_makes_the_rules_panic(value in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                let mut map = HeaderMap::new();
                for name in [TENANT_ID, TIER, IDEMPOTENCY_KEY, TRACEPARENT] {
                    map.insert(name, value.clone());
                }
                let _ = (caller(&map), idempotency_key(&map), traceparent(&map));
            }
        }
    }
}
