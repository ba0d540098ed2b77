use super::*;
use proptest::prelude::*;

fn parse(json: &str) -> Result<Payment, Problem> {
    Payment::from_client(json.as_bytes())
}

fn unprocessable(json: &str) -> String {
    match parse(json) {
        Err(Problem::Unprocessable(text)) => text,
        other => panic!("{json}: {other:?}"),
    }
}

fn invalid(bytes: &[u8]) -> String {
    match Payment::from_client(bytes) {
        Err(Problem::Body(text)) => text,
        other => panic!("{bytes:?}: {other:?}"),
    }
}

#[test]
fn a_payment_is_three_strings_in_any_order() {
    let payment = parse(r#" {"reference":"caf\u00e9 7","amount":"12.50","currency":"EUR"} "#).unwrap();
    assert_eq!((payment.amount(), payment.currency(), payment.reference()), ("12.50", "EUR", "café 7"));
}

#[test]
fn an_amount_that_is_a_json_number_is_refused_with_the_reason() {
    for number in ["12.50", "12.5", "-1", "1e2", "12345678901234567890123456789012345678901"] {
        assert_eq!(
            unprocessable(&format!(r#"{{"amount":{number},"currency":"EUR","reference":"r"}}"#)),
            r#"amount must be a JSON string such as "12.50": on their way through programs, JSON numbers lose digits"#
        );
    }
}

#[test]
fn a_key_that_is_missing_or_null_is_named() {
    assert_eq!(
        unprocessable(r#"{"currency":"EUR","reference":"r"}"#),
        r#"amount is missing; send {"amount":"12.50","currency":"EUR","reference":"invoice 7"}"#
    );
    assert!(unprocessable(r#"{"amount":"12.50","currency":null,"reference":"r"}"#).starts_with("currency is missing;"));
    assert!(unprocessable(r#"{"amount":"12.50","currency":"EUR"}"#).starts_with("reference is missing;"));
    assert!(
        unprocessable(r#"{"amount":"12.50","currency":"EUR","reference":{}}"#)
            .starts_with("reference must be a JSON string;")
    );
    assert!(
        unprocessable(r#"{"amount":["12.50"],"currency":"EUR","reference":"r"}"#)
            .starts_with("amount must be a JSON string;")
    );
}

#[test]
fn a_key_that_means_nothing_or_stands_twice_is_named() {
    let unknown = unprocessable(r#"{"amount":"12.50","currency":"EUR","reference":"r","ammount":"1"}"#);
    assert!(
        unknown.starts_with("unknown field `ammount`, expected one of `amount`, `currency`, `reference`"),
        "{unknown}"
    );
    let twice = unprocessable(r#"{"amount":"12.50","amount":"99.00","currency":"EUR","reference":"r"}"#);
    assert!(twice.starts_with("duplicate field `amount`"), "{twice}");
    let long = unprocessable(&format!(r#"{{"{}":1}}"#, "é".repeat(10_000)));
    assert_eq!(long.chars().count(), 201);
}

#[test]
fn a_reference_has_1_to_255_characters_of_any_script_and_no_control_characters() {
    let with = |reference: &str| {
        let reference = serde_json::to_string(reference).unwrap();
        parse(&format!(r#"{{"amount":"12.50","currency":"EUR","reference":{reference}}}"#))
    };
    assert_eq!(with(&"😀".repeat(255)).unwrap().reference().len(), 1_020);
    for (bad, why) in [
        (String::new(), "reference must have 1 to 255 characters, not 0"),
        ("é".repeat(256), "reference must have 1 to 255 characters, not 256"),
        ("a\nb".to_owned(), "reference must not have control characters such as line breaks"),
        ("a\0b".to_owned(), "reference must not have control characters such as line breaks"),
    ] {
        assert_eq!(with(&bad).unwrap_err(), Problem::Unprocessable(why.to_owned()));
    }
    assert_eq!(
        unprocessable(r#"{"amount":"12.50","currency":"EUR","reference":"\ud800"}"#),
        "reference is not text: it has half of a surrogate pair"
    );
}

#[test]
fn what_is_no_json_is_a_400_and_other_json_a_422() {
    assert!(invalid(b"").starts_with("the body is empty;"));
    for bad in [
        &b"{"[..],
        b" ",
        b"{'amount':1}",
        b"{\"amount\":\"12.50\",\"currency\":\"EUR\",\"reference\":\"r\"} x",
        b"{\"unknown\":1",
    ] {
        assert!(invalid(bad).starts_with("the body is not valid JSON:"), "{bad:?}");
    }
    assert!(invalid(b"\"\xff\"").starts_with("the body is not UTF-8:"));
    for other in [
        "null",
        "12.50",
        "\"x\"",
        r#"["12.50","EUR","r"]"#,
        "[]",
        &format!("{}{}", "[".repeat(8_000), "]".repeat(8_000)),
    ] {
        assert!(unprocessable(other).starts_with("a payment is a JSON object;"), "{other}");
    }
}

#[test]
fn the_digest_covers_amount_currency_and_reference() {
    let digest = |amount: &str, currency: &str, reference: &str| {
        let json = serde_json::json!({"amount": amount, "currency": currency, "reference": reference});
        parse(&json.to_string()).unwrap().digest()
    };
    // printf '12.50\0EUR\0invoice 7' | sha256sum
    let first = digest("12.50", "EUR", "invoice 7");
    assert_eq!(first, "ba7b0761194f4aa615e96273cd8cc3fb3876e0c6b263a09f84926215a0a34d33");
    for other in
        [digest("12.51", "EUR", "invoice 7"), digest("12.50", "USD", "invoice 7"), digest("12.50", "EUR", "invoice 8")]
    {
        assert_ne!(first, other);
    }
}

#[test]
fn the_event_says_all_of_the_payment() {
    let payment = parse(r#"{"amount":"12.50","currency":"EUR","reference":"a \"b\" \uffff"}"#).unwrap();
    assert_eq!(
        payment.event(Uuid::nil()).unwrap().as_str(),
        concat!(
            r#"{"type":"payment.requested","payment_id":"00000000-0000-0000-0000-000000000000","#,
            r#""amount":"12.50","currency":"EUR","reference":"a \"b\" \uffff"}"#
        )
    );
}

proptest! {
    #[test]
    fn any_bytes_are_a_payment_or_a_client_s_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        if let Err(problem) = Payment::from_client(&bytes) {
            prop_assert!(matches!(problem, Problem::Body(_) | Problem::Unprocessable(_)));
        }
    }

    #[test]
    fn any_three_values_are_a_payment_or_a_422(amount in ".{0,8}", currency in ".{0,4}", reference in any::<String>()) {
        let json = serde_json::json!({"amount": amount, "currency": currency, "reference": reference}).to_string();
        if let Err(problem) = parse(&json) {
            prop_assert!(matches!(problem, Problem::Unprocessable(_)), "{:?}", problem);
        }
    }
}
