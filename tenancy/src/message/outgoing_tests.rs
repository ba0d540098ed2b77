use super::*;
use proptest::prelude::*;

fn body(text: &str) -> Result<String, String> {
    let body = Body::from_client(Bytes::copy_from_slice(text.as_bytes()));
    body.map(|body| body.as_str().to_owned()).map_err(|error| error.to_string())
}

#[test]
fn an_empty_body_is_the_default_event() {
    assert_eq!(body(""), Ok(r#"{"event":"Event raised!"}"#.to_owned()));
}

#[test]
fn json_is_kept_byte_for_byte() {
    for text in [
        r#"{"b":1,"a":2,"b":3}"#,
        "12345678901234567890123456789012345678901",
        "0.1",
        "1e400",
        r#" { "note" : "" } "#,
        "\"a\ttab\"".replace('\t', "\\t").as_str(),
        r#""\ud800""#,
        "null",
        "\r\n[1,\t2]\n",
        "\"\u{10ffff}\u{fffd}\"",
    ] {
        assert_eq!(body(text), Ok(text.to_owned()));
    }
}

#[test]
fn what_sqs_refuses_is_escaped() {
    assert_eq!(body("\"a\u{ffff}b\u{fffe}\""), Ok(r#""a\uffffb\ufffe""#.to_owned()));
}

#[test]
fn what_is_not_json_is_refused() {
    for text in [" ", "{", "{'a':1}", "nul", "[1,]", "\"\u{1}\"", "1 2", "\u{feff}{}"] {
        assert!(body(text).is_err(), "{text:?}");
    }
    assert!(Body::from_client(Bytes::from_static(b"\"\xff\"")).is_err());
}

#[test]
fn deep_nesting_is_checked_without_recursion() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(body(&deep), Ok(deep));
}

#[test]
fn size_is_counted_in_bytes_with_the_attributes() {
    let message = Outgoing {
        tenant: "acme".parse().unwrap(),
        message_id: Uuid::nil(),
        body: Body::from_json("\"\u{1f600}\""),
        content_type: ContentType::default(),
        traceparent: None,
    };
    let producer = "pool-1".parse().unwrap();
    // body 6, then name + "String" + value: tenant_id 9+6+4, producer_environment 20+6+6, message_id 10+6+36, content_type 12+6+16
    assert_eq!(message.size(&producer), 6 + 19 + 32 + 52 + 34);
    let attributes = message.attributes(&producer).unwrap();
    let counted: usize =
        attributes.iter().map(|(name, value)| name.len() + 6 + value.string_value().unwrap().len()).sum();
    assert_eq!(message.size(&producer), 6 + counted);
}

#[test]
fn content_types_of_json_are_kept_as_written() {
    for good in ["application/json", "application/json; charset=utf-8", "application/cloudevents+json", "text/json"] {
        assert_eq!(ContentType::parse(good).map(|kind| kind.as_str().to_owned()), Ok(good.to_owned()));
    }
    assert_eq!(ContentType::parse("Application/JSON").map(|kind| kind.as_str().to_owned()), Ok(JSON.to_owned()));
    for bad in [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "json",
        "/json",
        "application/+json",
        "application/jsonp",
    ] {
        assert_eq!(ContentType::parse(bad), Err(ContentTypeError), "{bad:?}");
    }
}

proptest! {
    /// By SQS's documentation, with no stand-in for SQS that might be more lenient.
    #[test]
    fn whatever_the_event_its_message_is_one_that_sqs_takes(
        tenant in "[a-z]([a-z0-9]{0,30})",
        text in any::<String>(),
        kind in "(application|text)/([a-z.]{1,20}\\+)?json(; [a-z]{1,10}=[!-:<-~]{1,40})?",
        traceparent in prop::option::of("00-[0-9a-f]{32}-[0-9a-f]{16}-01"),
    ) {
        let (Ok(tenant), Ok(content_type)) = (tenant.parse(), ContentType::parse(&kind)) else { return Ok(()) };
        let body = Body::from_client(Bytes::from(serde_json::to_string(&text).unwrap())).unwrap();
        let traceparent = traceparent.map(Into::into);
        let message = Outgoing { tenant, message_id: Uuid::now_v7(), body, content_type, traceparent };
        let producer = "pool-1".parse().unwrap();
        let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
        prop_assert!(!message.body.as_str().is_empty() && message.body.as_str().chars().all(allowed));
        let attributes = message.attributes(&producer).unwrap();
        prop_assert!((1..=10).contains(&attributes.len()));
        let mut counted = message.body.as_str().len();
        for (name, attribute) in attributes {
            let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
            prop_assert!((1..=256).contains(&name.len()) && name.bytes().all(legal), "{}", name);
            prop_assert!(!name.starts_with('.') && !name.ends_with('.') && !name.contains(".."), "{}", name);
            let lower = name.to_ascii_lowercase();
            prop_assert!(!lower.starts_with("aws.") && !lower.starts_with("amazon."), "{}", name);
            prop_assert_eq!(attribute.data_type(), "String");
            let value = attribute.string_value().unwrap_or_default();
            prop_assert!(!value.is_empty() && value.chars().all(allowed), "{}", name);
            counted += name.len() + attribute.data_type().len() + value.len();
        }
        prop_assert_eq!(message.size(&producer), counted);
    }

    #[test]
    fn any_json_string_survives_but_for_the_escape(text in any::<String>()) {
        let json = serde_json::to_string(&text).unwrap();
        let sent = body(&json).unwrap();
        let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
        prop_assert!(sent.chars().all(allowed));
        prop_assert_eq!(serde_json::from_str::<String>(&sent).unwrap(), text);
    }
}
