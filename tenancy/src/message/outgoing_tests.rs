use super::*;
use proptest::prelude::*;

fn body(text: &str) -> Result<String, String> {
    Body::from_client(&Bytes::copy_from_slice(text.as_bytes()))
        .map(Body::into_string)
        .map_err(|error| error.to_string())
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
    assert!(Body::from_client(&Bytes::from_static(b"\"\xff\"")).is_err());
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
    #[test]
    fn any_json_string_survives_but_for_the_escape(text in any::<String>()) {
        let json = serde_json::to_string(&text).unwrap();
        let sent = body(&json).unwrap();
        let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
        prop_assert!(sent.chars().all(allowed));
        prop_assert_eq!(serde_json::from_str::<String>(&sent).unwrap(), text);
    }
}
