//! Which service and which region a request is for.

use http::HeaderMap;
use http::header::{AUTHORIZATION, CONTENT_TYPE};

/// The services behind the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Sqs,
    DynamoDb,
    Ssm,
    Sts,
}

/// The service of a request, and its action: from `X-Amz-Target` (JSON protocols; `SendMessage` in `AmazonSQS.SendMessage`),
/// or STS for a form, the one query protocol here; the action is in the body then.
pub(super) fn service(headers: &HeaderMap) -> Option<(Service, String)> {
    if let Some(target) = headers.get("x-amz-target") {
        let (prefix, action) = target.to_str().ok()?.split_once('.')?;
        let service = match prefix {
            "AmazonSQS" => Service::Sqs,
            "AmazonSSM" => Service::Ssm,
            _ if prefix.starts_with("DynamoDB") => Service::DynamoDb,
            _ => return None,
        };
        return Some((service, action.to_owned()));
    }
    let content_type = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    content_type.starts_with("application/x-www-form-urlencoded").then(|| (Service::Sts, String::new()))
}

/// The region in the scope of a request's signature (`Credential=KEY/DATE/REGION/SERVICE/aws4_request`).
pub(super) fn region(headers: &HeaderMap) -> Option<&str> {
    let (_, credential) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once("Credential=")?;
    let region = credential.split([',', ' ']).next()?.split('/').nth(2)?;
    let plain = !region.is_empty() && region.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    plain.then_some(region)
}

/// The URI from which the winterbaume crates read the region: they look at the host alone, which is ours here.
pub(super) fn uri(service: &str, region: &str) -> String {
    format!("https://{service}.{region}.amazonaws.com/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_target_names_the_service_and_the_action() {
        let of = |target: &str| service(&headers(&[("x-amz-target", target)]));
        assert_eq!(of("AmazonSQS.SendMessage"), Some((Service::Sqs, "SendMessage".to_owned())));
        assert_eq!(of("AmazonSSM.GetParameters"), Some((Service::Ssm, "GetParameters".to_owned())));
        assert_eq!(of("DynamoDB_20120810.PutItem"), Some((Service::DynamoDb, "PutItem".to_owned())));
        assert_eq!(of("Kinesis_20131202.PutRecord"), None);
        assert_eq!(of("nonsense"), None);
    }

    #[test]
    fn a_form_is_for_sts() {
        let form = headers(&[("content-type", "application/x-www-form-urlencoded; charset=utf-8")]);
        assert_eq!(service(&form), Some((Service::Sts, String::new())));
        assert_eq!(service(&headers(&[("content-type", "text/plain")])), None);
    }

    #[test]
    fn the_region_is_the_one_of_the_signature() {
        let signed =
            "AWS4-HMAC-SHA256 Credential=AKID/20261130/cn-north-1/sqs/aws4_request, SignedHeaders=host, Signature=x";
        assert_eq!(region(&headers(&[("authorization", signed)])), Some("cn-north-1"));
        assert_eq!(region(&headers(&[("authorization", "Bearer x")])), None);
        assert_eq!(region(&headers(&[("authorization", "AWS4-HMAC-SHA256 Credential=AKID/20261130/a.b/sqs/x")])), None);
        assert_eq!(region(&HeaderMap::new()), None);
    }
}
