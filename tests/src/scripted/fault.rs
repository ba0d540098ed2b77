//! What can go wrong with a call: [`Fault`], and how each service spells it.

use std::time::Duration;

use super::op::{Op, Service};
use super::wire::Refusal;

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// TCP RST: the peer reads "connection reset".
    Reset,
    /// FIN without an answer: the peer reads the end of the stream.
    Close,
}

/// Which entries of a batch a fault meets, by place (from 0) or content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// Every entry.
    All,
    /// The first so many.
    First(usize),
    /// Those at these places.
    At(Vec<usize>),
    /// Those whose text (body, handle or item as JSON) contains this.
    Containing(String),
}

impl Which {
    pub(crate) fn picks(&self, at: usize, text: &str) -> bool {
        match self {
            Self::All => true,
            Self::First(count) => at < *count,
            Self::At(places) => places.contains(&at),
            Self::Containing(needle) => text.contains(needle.as_str()),
        }
    }
}

/// One way in which a call goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The service's usual word for "too fast".
    Throttled,
    /// Its other word for the same, as an older or an inner layer says it.
    ThrottledOtherwise,
    /// 500.
    InternalError,
    /// 503.
    Unavailable,
    /// A page of HTML with this status, as something in between answers.
    Page(u16),
    /// Told to ask elsewhere, where nothing is.
    Redirect,
    /// The role may not do this.
    AccessDenied,
    /// The session's credentials have run out.
    ExpiredToken,
    /// Queue, table, parameter or role is not there, in the spelling of today.
    Gone,
    /// A queue that is not there, known by the header `x-amzn-query-error` (other services: as [`Fault::Gone`]).
    GoneByHeader,
    /// The handle of a message is not one (only for calls that take handles).
    InvalidHandle,
    /// Any other error: status, code, message.
    Error(u16, &'static str, &'static str),
    /// Any other answer: status and body, with the work left undone.
    Reply(u16, String),
    /// Answers like [`Fault::Reply`], but the work is done.
    ReplyAfterWork(u16, String),
    /// Never a byte; the work is not done.
    Stall,
    /// Never a byte, but the work is done.
    StallAfterWork,
    /// Headers and half of the body, then never a byte; the work is done.
    HalfAnswer,
    /// Half of the body, and the headers say that this is all; the work is done.
    Truncated,
    /// Headers and half of the body, then the connection ends; the work is done.
    CutMidway(Cut),
    /// The body a byte at a time, with this pause after each; the work is done.
    Trickle(Duration),
    /// The connection ends before the work is done.
    CutBefore(Cut),
    /// The connection ends instead of the answer; the work is done.
    CutAfter(Cut),
    /// Waits before it does the work.
    Late(Duration),
    /// Does the work, then waits before it answers.
    SlowAnswer(Duration),
    /// These entries of a batch fail and are left undone. With `sender_fault`, sending them again cannot help.
    FailEntries {
        /// The entries.
        which: Which,
        /// The code in the entry's result.
        code: &'static str,
        /// Whether AWS blames the caller.
        sender_fault: bool,
    },
    /// These entries of a batch are left out of the result, neither good nor failed; the work is done if `done`.
    ForgetEntries {
        /// The entries.
        which: Which,
        /// Whether it is done all the same.
        done: bool,
    },
    /// The result of a batch speaks of entries that nobody sent, good and failed, and of no other; the work is done.
    Strangers,
    /// The result of a batch lists each entry as good and as failed (without sender fault); the work is done.
    BothWays,
    /// These items come back in `UnprocessedItems`.
    Unprocessed(Which),
    /// `UnprocessedItems` has as many items as were sent, but other ones; nothing is written.
    UnprocessedStrangers,
    /// Every message of the receive comes twice in it; only the second handle is the valid one.
    Duplicates,
    /// A receive brings one message more than it was asked for.
    OneTooMany,
    /// The messages of a receive lack this field.
    Without(&'static str),
}

impl Fault {
    /// The error of a whole call that this fault is, if it is one.
    pub(crate) fn refusal(&self, op: Op) -> Option<Refusal> {
        let service = op.service();
        Some(match self {
            Self::Throttled => throttled(service),
            Self::ThrottledOtherwise => throttled_otherwise(service),
            Self::InternalError => internal_error(service),
            Self::Unavailable => unavailable(service),
            Self::AccessDenied => access_denied(op),
            Self::ExpiredToken => expired_token(service),
            Self::Gone => gone(op, false),
            Self::GoneByHeader => gone(op, true),
            Self::InvalidHandle => invalid_handle("The input receipt handle is invalid."),
            Self::Error(status, code, message) => Refusal::new(*status, *code, *message).known_as(*code),
            _ => return None,
        })
    }
}

fn throttled(service: Service) -> Refusal {
    match service {
        Service::DynamoDb => Refusal::new(
            400,
            "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
            "The level of configured provisioned throughput for the table was exceeded.",
        ),
        Service::Ssm => Refusal::new(400, "ThrottlingException", "Rate exceeded"),
        Service::Sts => Refusal::new(400, "Throttling", "Rate exceeded"),
        Service::Sqs => Refusal::new(400, "com.amazonaws.sqs#RequestThrottled", "Request is throttled.")
            .known_as("RequestThrottled"),
        _ => Refusal::new(429, "TooManyRequestsException", "Rate exceeded"),
    }
}

fn throttled_otherwise(service: Service) -> Refusal {
    match service {
        Service::DynamoDb => Refusal::new(
            400,
            "com.amazon.coral.availability#ThrottlingException",
            "Rate of requests exceeds the allowed throughput.",
        ),
        Service::Ssm => Refusal::new(400, "com.amazon.coral.availability#ThrottlingException", "Rate exceeded"),
        Service::Sqs => Refusal::new(400, "com.amazon.coral.availability#ThrottlingException", "Rate exceeded")
            .known_as("ThrottlingException"),
        _ => Refusal::new(503, "SlowDown", "Please reduce your request rate."),
    }
}

fn internal_error(service: Service) -> Refusal {
    match service {
        Service::DynamoDb => Refusal::new(
            500,
            "com.amazonaws.dynamodb.v20120810#InternalServerError",
            "The request processing has failed.",
        ),
        Service::Ssm => Refusal::new(500, "InternalServerError", "An error occurred on the server side."),
        Service::Sqs => {
            Refusal::new(500, "com.amazon.coral.service#InternalFailure", "We encountered an internal error.")
                .known_as("InternalFailure")
        }
        _ => Refusal::new(500, "InternalFailure", "We encountered an internal error."),
    }
}

fn unavailable(service: Service) -> Refusal {
    let refusal =
        Refusal::new(503, "com.amazon.coral.availability#ServiceUnavailableException", "Service is unavailable.");
    match service {
        Service::Sqs => refusal.known_as("ServiceUnavailable"),
        Service::Sts => Refusal::new(503, "ServiceUnavailable", "Service is unavailable."),
        _ => refusal,
    }
}

fn access_denied(op: Op) -> Refusal {
    let message = format!(
        "User: arn:aws:sts::123456789012:assumed-role/role/session is not authorized to perform: {}",
        op.name()
    );
    match op.service() {
        Service::Sqs => {
            Refusal::new(403, "com.amazon.coral.service#AccessDeniedException", message).known_as("AccessDenied")
        }
        Service::DynamoDb => Refusal::new(400, "com.amazon.coral.service#AccessDeniedException", message),
        Service::Sts => Refusal::new(403, "AccessDenied", message),
        _ => Refusal::new(400, "AccessDeniedException", message),
    }
}

pub(crate) fn expired_token(service: Service) -> Refusal {
    let message = "The security token included in the request is expired";
    match service {
        Service::Sqs => {
            Refusal::new(403, "com.amazon.coral.service#ExpiredTokenException", message).known_as("ExpiredToken")
        }
        Service::Sts => Refusal::new(400, "ExpiredTokenException", "Token expired"),
        _ => Refusal::new(400, "com.amazon.coral.service#ExpiredTokenException", message),
    }
}

/// What `op` needs is not there. `by_header`: SQS names it by its older protocol's code.
pub(crate) fn gone(op: Op, by_header: bool) -> Refusal {
    match (op.service(), op) {
        (Service::Sqs, _) => {
            let refusal =
                Refusal::new(400, "com.amazonaws.sqs#QueueDoesNotExist", "The specified queue does not exist.");
            if by_header { refusal.known_as("AWS.SimpleQueueService.NonExistentQueue") } else { refusal }
        }
        (Service::DynamoDb, _) => Refusal::new(
            400,
            "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
            "Requested resource not found",
        ),
        (Service::Ssm, _) => Refusal::new(400, "ParameterNotFound", ""),
        (Service::Sts, _) => {
            Refusal::new(403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity")
        }
        _ => Refusal::new(404, "ResourceNotFoundException", "There is no such thing here."),
    }
}

/// A text that is no receipt handle of this queue.
pub(crate) fn invalid_handle(message: &str) -> Refusal {
    Refusal::new(400, "com.amazonaws.sqs#ReceiptHandleIsInvalid", message).known_as("ReceiptHandleIsInvalid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_queue_has_two_spellings() {
        assert_eq!(gone(Op::SendMessage, false).query_code, None);
        assert_eq!(gone(Op::SendMessage, true).query_code.as_deref(), Some("AWS.SimpleQueueService.NonExistentQueue"));
    }
}
