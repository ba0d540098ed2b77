//! How answers look on the wire: [`Reply`], and [`Refusal`], an error in the spelling of its service.

use bytes::Bytes;
use serde_json::json;

use super::op::Service;

/// An answer, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    /// `x-amzn-query-error`, by which SQS names an error as its older protocol did.
    pub(crate) query_error: Option<String>,
    /// Where a redirection leads.
    pub(crate) location: Option<String>,
    pub(crate) body: Bytes,
}

impl Reply {
    /// A good answer of a JSON service.
    pub(crate) fn json(body: impl Into<Bytes>) -> Self {
        Self::raw(200, "application/x-amz-json-1.0", body)
    }

    /// An answer of any status, without the trimmings of a service.
    pub(crate) fn raw(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status, content_type, query_error: None, location: None, body: body.into() }
    }
}

/// An error as a service sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// The code as `__type` (JSON) or `<Code>` (XML) carry it, with its namespace where the service sends one.
    pub(crate) code: String,
    /// The code in `x-amzn-query-error`, for SQS.
    pub(crate) query_code: Option<String>,
    pub(crate) message: String,
    /// A JSON object that is sent along, such as the `Item` a condition met.
    pub(crate) item: Option<String>,
    /// AWS refuses such a request because of what is in it, whatever its state: the caller broke a limit.
    pub(crate) violation: bool,
}

impl Refusal {
    /// An error that a correct caller can meet.
    pub(crate) fn new(status: u16, code: impl Into<String>, message: impl Into<String>) -> Self {
        let (code, message) = (code.into(), message.into());
        Self { status, code, query_code: None, message, item: None, violation: false }
    }

    /// An error that only a request outside AWS's limits meets.
    pub(crate) fn violation(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { violation: true, ..Self::new(400, code, message) }
    }

    /// SQS names it so in `x-amzn-query-error`.
    pub(crate) fn known_as(mut self, query_code: impl Into<String>) -> Self {
        self.query_code = Some(query_code.into());
        self
    }

    /// The code without its namespace.
    pub(crate) fn short_code(&self) -> &str {
        self.code.rsplit('#').next().unwrap_or(&self.code)
    }

    /// The answer in the protocol of `service`.
    pub(crate) fn reply(&self, service: Service) -> Reply {
        let fault = if self.status < 500 { "Sender" } else { "Receiver" };
        if service == Service::Sts {
            let body = format!(
                "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>{fault}</Type>\
                 <Code>{}</Code><Message>{}</Message></Error><RequestId>{REQUEST_ID}</RequestId></ErrorResponse>",
                self.code,
                xml_escaped(&self.message),
            );
            return Reply::raw(self.status, "text/xml", body);
        }
        let mut body = json!({"__type": self.code, "message": self.message});
        if service == Service::Container {
            body = json!({"code": self.code, "message": self.message});
        }
        if let Some(item) = &self.item {
            body["Item"] = serde_json::from_str(item).unwrap_or_default();
        }
        let query_error = self.query_code.as_ref().map(|code| format!("{code};{fault}"));
        let content_type =
            if service == Service::Ssm { "application/x-amz-json-1.1" } else { "application/x-amz-json-1.0" };
        Reply { query_error, ..Reply::raw(self.status, content_type, body.to_string()) }
    }
}

/// The request id that every answer carries.
pub(crate) const REQUEST_ID: &str = "7b5e1c1e-0000-4000-8000-000000000000";

/// `text` for the inside of an XML element.
pub(crate) fn xml_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqs_error_carries_both_spellings() {
        let refusal = Refusal::new(400, "com.amazonaws.sqs#QueueDoesNotExist", "gone")
            .known_as("AWS.SimpleQueueService.NonExistentQueue");
        let reply = refusal.reply(Service::Sqs);
        assert_eq!(reply.body, r#"{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"gone"}"#);
        assert_eq!(reply.query_error.as_deref(), Some("AWS.SimpleQueueService.NonExistentQueue;Sender"));
        assert_eq!(refusal.short_code(), "QueueDoesNotExist");
    }

    #[test]
    fn an_sts_error_is_xml() {
        let reply = Refusal::new(400, "Throttling", "a < b").reply(Service::Sts);
        let text = String::from_utf8(reply.body.to_vec()).unwrap();
        assert!(text.contains("<Type>Sender</Type><Code>Throttling</Code><Message>a &lt; b</Message>"), "{text}");
    }
}
