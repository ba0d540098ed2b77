//! A failed call in words for a log line: what became of it, and never what was in it.
//!
//! The SDK's own way to print an error ends with the whole answer as it came: the session's keys from STS, a record's body, a
//! payment. Here it is kind, status, code, AWS's sentence and the request's id, in bounded length.

use std::error::Error;
use std::fmt::Write as _;

use aws_sdk_sts::operation::assume_role_with_web_identity::AssumeRoleWithWebIdentityError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

/// Characters of a description, and of anything else in a log line that somebody else wrote.
pub const MOST_CHARACTERS: usize = 400;

/// Characters of AWS's sentence, and of its code.
const MOST_OF_MESSAGE: usize = 200;
const MOST_OF_CODE: usize = 80;

/// Codes whose sentence quotes the request's head: its signature, and the session's token.
const QUOTE_THE_REQUEST: [&str; 5] = [
    "SignatureDoesNotMatch",
    "InvalidSignatureException",
    "InvalidSignature",
    "IncompleteSignature",
    "IncompleteSignatureException",
];

/// What became of a call, on one line of at most [`MOST_CHARACTERS`].
pub fn describe<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
{
    answer_of(error).unwrap_or_else(|| causes(error))
}

/// The answer, if there was one.
fn answer_of<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Option<String> {
    match error {
        SdkError::ServiceError(service) => Some(answered(service.raw(), service.err().code(), service.err().message())),
        // What it was about to say may be quoted by the parser that gave up.
        SdkError::ResponseError(response) => Some(answered(response.raw(), None, None)),
        _ => None,
    }
}

/// The causes of an error, from outside in, on one line of at most [`MOST_CHARACTERS`]. An answer of STS is told as
/// [`describe`] does.
pub fn causes(error: &(dyn Error + 'static)) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let of_sts = error.downcast_ref::<SdkError<AssumeRoleWithWebIdentityError, HttpResponse>>();
        let answer = of_sts.and_then(answer_of);
        let answered = answer.is_some();
        let text = answer.unwrap_or_else(|| error.to_string());
        if texts.last() != Some(&text) {
            texts.push(text);
        }
        next = error.source().filter(|_| !answered);
    }
    cut(&texts.join(": "), MOST_CHARACTERS)
}

/// The first line of `text`, at most so many characters of it, without what could drive a terminal.
pub fn cut(text: &str, most: usize) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().nth(most).is_some() {
        short.push('…');
    }
    short
}

fn answered(answer: &HttpResponse, code: Option<&str>, message: Option<&str>) -> String {
    let status = answer.status();
    let mut text = match code {
        None if status.is_success() => format!("HTTP {status}, an answer that is cut off or malformed"),
        None => format!("HTTP {status}"),
        Some(code) => format!("HTTP {status} {}", cut(code, MOST_OF_CODE)),
    };
    let quotes = code.is_some_and(|code| QUOTE_THE_REQUEST.iter().any(|known| code.ends_with(known)));
    if let Some(message) = message.filter(|message| !quotes && !message.is_empty()) {
        let _ = write!(text, ": {}", cut(message, MOST_OF_MESSAGE));
    }
    let headers = answer.headers();
    if let Some(id) = headers.get("x-amzn-requestid").or_else(|| headers.get("x-amz-request-id")) {
        let _ = write!(text, " (request {})", cut(id, MOST_OF_CODE));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Answer, Scripted};
    use aws_smithy_types::body::SdkBody;
    use serde_json::{Value, json};

    async fn of_query(status: u16, body: Value) -> String {
        let scripted = Scripted::new(move |_, _| Answer::new(status, body.clone()));
        let client = aws_sdk_dynamodb::Client::new(&scripted.config());
        describe(&client.query().table_name("t").send().await.unwrap_err())
    }

    #[tokio::test]
    async fn an_answer_is_told_by_its_status_code_and_sentence_on_one_line() {
        let body = json!({"__type": "com.amazonaws.dynamodb.v20120810#ValidationException", "message": "one\ntwo"});
        assert_eq!(of_query(400, body).await, "HTTP 400 ValidationException: one");
        assert_eq!(of_query(502, json!(null)).await, "HTTP 502");
        let long = of_query(500, json!({"__type": "InternalError", "message": "m".repeat(300_000)})).await;
        assert_eq!(long, format!("HTTP 500 InternalError: {}…", "m".repeat(200)));
        let long = of_query(500, json!({"__type": "E".repeat(300_000), "message": "m".repeat(300_000)})).await;
        assert!(long.chars().count() < MOST_CHARACTERS, "{long}");
    }

    #[tokio::test]
    async fn a_success_that_cannot_be_read_is_told_without_what_it_holds() {
        let body = json!({"Items": [{"body": {"S": "a client's card"}, "n": {"S": 5}}], "Count": 1});
        assert_eq!(of_query(200, body).await, "HTTP 200, an answer that is cut off or malformed");
    }

    #[tokio::test]
    async fn a_sentence_that_quotes_the_signed_request_is_left_out() {
        let sentence = "The Canonical String should have been 'POST x-amz-security-token:FwoGZX'";
        for code in ["InvalidSignatureException", "com.amazon.coral.service#SignatureDoesNotMatch"] {
            let told = of_query(403, json!({"__type": code, "message": sentence})).await;
            assert!(told.starts_with("HTTP 403 ") && !told.contains("FwoGZX"), "{told}");
        }
    }

    #[test]
    fn the_request_is_named_so_that_the_support_of_aws_can_find_it() {
        let mut answer = HttpResponse::new(500_u16.try_into().unwrap(), SdkBody::empty());
        answer.headers_mut().insert("x-amzn-requestid", "1-2-3");
        assert_eq!(answered(&answer, Some("InternalError"), None), "HTTP 500 InternalError (request 1-2-3)");
    }

    #[test]
    fn causes_are_told_from_outside_in_and_a_repeated_one_once() {
        let inner = std::io::Error::other("no route\u{7}to host");
        let error = SdkError::<AssumeRoleWithWebIdentityError, HttpResponse>::timeout_error(inner);
        assert_eq!(describe(&error), "request has timed out: no route to host");
    }
}
