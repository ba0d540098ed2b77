//! What may be asked for.

use crate::support::{INVOICE_7, Payments, accepted, aws_with, operations, problem};

#[tokio::test]
async fn amounts_have_their_currency_s_own_number_of_places() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    for (amount, currency) in [("12.50", "EUR"), ("1250", "JPY"), ("1.234", "KWD"), ("1.2345", "CLF"), ("0.01", "USD")]
    {
        let body = format!(r#"{{"amount":"{amount}","currency":"{currency}","reference":"r"}}"#);
        accepted(&payments.pay("acme", &format!("{amount}-{currency}"), &body).await);
    }
    for (amount, currency, detail) in [
        (r#""12.5""#, "EUR", "amount must have exactly 2 decimal places in EUR, such as 12.50"),
        (r#""12.505""#, "EUR", "amount must have exactly 2 decimal places in EUR, such as 12.50"),
        (r#""12""#, "EUR", "amount must have exactly 2 decimal places in EUR, such as 12.50"),
        (r#""12.50""#, "JPY", "amount must have no decimal places in JPY, such as 1250"),
        (r#""0.00""#, "EUR", "amount must be greater than zero"),
        (r#""99999999999999999.00""#, "EUR", "amount must have at most 18 digits"),
        (r#""12.50""#, "ZZZ", "currency must be an ISO 4217 code in upper case, such as EUR"),
        (r#""12.50""#, "eur", "currency must be an ISO 4217 code in upper case, such as EUR"),
        (
            "12.50",
            "EUR",
            r#"amount must be a JSON string such as "12.50": on their way through programs, JSON numbers lose digits"#,
        ),
        (
            r#""-12.50""#,
            "EUR",
            "amount must be a plain decimal such as 12.50: digits, and a point before the decimal places; no sign, exponent or leading zero",
        ),
    ] {
        let body = format!(r#"{{"amount":{amount},"currency":"{currency}","reference":"r"}}"#);
        assert_eq!(problem(&payments.pay("acme", "k", &body).await, 422, "unprocessable"), detail);
    }
    assert_eq!(operations(&aws).len(), 10);
}

#[tokio::test]
async fn a_body_that_is_no_json_is_a_400_no_payment_a_422_and_no_json_by_its_type_a_415() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    for body in ["", "{", "{'amount':1}", "\u{feff}{}"] {
        problem(&payments.pay("acme", "k", body).await, 400, "body");
    }
    for body in ["{}", "[]", "null", "1", "\"x\"", r#"["12.50","EUR","r"]"#] {
        problem(&payments.pay("acme", "k", body).await, 422, "unprocessable");
    }
    let unknown = r#"{"amount":"12.50","currency":"EUR","reference":"r","note":"x"}"#;
    let detail = problem(&payments.pay("acme", "k", unknown).await, 422, "unprocessable");
    assert!(detail.starts_with("unknown field `note`, expected one of `amount`, `currency`, `reference`"), "{detail}");
    let form = [("tenantID", "acme"), ("Idempotency-Key", "k"), ("content-type", "application/x-www-form-urlencoded")];
    problem(&payments.post(&form, "amount=12.50").await, 415, "media-type");
    assert_eq!(operations(&aws), []);
}

/// A payment with white space after it, so many bytes in all.
fn padded(bytes: usize) -> String {
    format!("{INVOICE_7}{}", " ".repeat(bytes - INVOICE_7.len()))
}

#[tokio::test]
async fn a_request_has_at_most_16_kib_which_the_longest_payment_fits_into() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    let reference = "\\ud83d\\ude00".repeat(255);
    let longest = format!(r#"{{"amount":"9999999999999999.99","currency":"EUR","reference":"{reference}"}}"#);
    accepted(&payments.pay("acme", "k", &longest).await);
    assert!(aws.messages("consumer-acme")[0].body.contains(&"\u{1f600}".repeat(255)));
    accepted(&payments.pay("acme", "l", &padded(16_384)).await);
    for bytes in [16_385, 1_000_000, 25_000_000] {
        let answer = payments.pay("acme", "m", &padded(bytes)).await;
        assert_eq!(problem(&answer, 413, "too-large"), "a payment may have at most 16384 bytes");
    }
}

#[tokio::test]
async fn hostile_bodies_get_a_client_s_error_and_the_next_request_is_fine() {
    let aws = aws_with("acme");
    let payments = Payments::start(&aws, "acme", &[]).await;
    let with = |reference: &str| format!(r#"{{"amount":"12.50","currency":"EUR","reference":{reference}}}"#);
    for body in [
        "[".repeat(16_000),
        "{\"amount\":".repeat(1_600),
        "\0".repeat(16_000),
        with(r#""\ud800""#),
        with(r#""a\u0000b""#),
        with(r#""line\nbreak""#),
        with("\"\""),
        with(&format!("\"{}\"", "é".repeat(256))),
        with("{\"a\":1}"),
        format!(r#"{{"{}":1}}"#, "k".repeat(16_000)),
        format!(r#"{{"amount":"{}","currency":"EUR","reference":"r"}}"#, "9".repeat(16_000)),
        r#"{"amount":"1e5","currency":"EUR","reference":"r"}"#.to_owned(),
        r#"{"amount":"NaN","currency":"EUR","reference":"r"}"#.to_owned(),
        r#"{"amount":"12.50","amount":"12.51","currency":"EUR","reference":"r"}"#.to_owned(),
    ] {
        let answer = payments.pay("acme", "k", &body).await;
        assert!((400..500).contains(&answer.status.as_u16()), "{:.60}: {} {}", body, answer.status, answer.text());
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert!(answer.text().len() < 1_000, "{}", answer.text());
    }
    let binary = [("tenantID", "acme"), ("Idempotency-Key", "k")];
    problem(&payments.post(&binary, &b"{\"amount\":\"\xff\"}"[..]).await, 400, "body");
    assert_eq!(operations(&aws), []);
    accepted(&payments.pay("acme", "k", INVOICE_7).await);
}
