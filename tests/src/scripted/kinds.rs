//! Every kind of fault that a call can meet: what generated tests go through, and what each kind means.

use std::time::Duration;

use super::fault::{Cut, Fault, Which};
use super::op::{Op, Service};

/// Codes that AWS answers with now and then, by service: status, code, and whether the same call may be good a moment later.
const SPOKEN: [(Service, u16, &str, bool); 29] = [
    (Service::Sqs, 400, "RequestExpired", true),
    (Service::Sqs, 403, "SignatureDoesNotMatch", false),
    (Service::Sqs, 400, "OverLimit", true),
    (Service::Sqs, 400, "KmsThrottled", true),
    (Service::Sqs, 400, "KmsDisabled", false),
    (Service::Sqs, 400, "KMS.DisabledException", false),
    (Service::Sqs, 404, "AWS.SimpleQueueService.InvalidAddress", false),
    (Service::Sqs, 403, "InvalidClientTokenId", false),
    (Service::Sqs, 400, "UnsupportedOperation", false),
    (Service::Sqs, 404, "UnknownOperationException", true),
    (Service::Sqs, 400, "RequestCanceled", true),
    (Service::DynamoDb, 400, "RequestLimitExceeded", true),
    (Service::DynamoDb, 400, "InvalidSignatureException", false),
    (Service::DynamoDb, 400, "UnrecognizedClientException", false),
    (Service::DynamoDb, 400, "TransactionConflictException", true),
    (Service::DynamoDb, 400, "TransactionInProgressException", true),
    (Service::DynamoDb, 400, "ResourceInUseException", true),
    (Service::DynamoDb, 400, "LimitExceededException", true),
    (Service::DynamoDb, 400, "ValidationException", false),
    (Service::DynamoDb, 400, "ItemCollectionSizeLimitExceededException", false),
    (Service::DynamoDb, 403, "UnheardOfException", false),
    (Service::DynamoDb, 400, "UnheardOfException", true),
    (Service::Ssm, 400, "InvalidSignatureException", false),
    (Service::Ssm, 400, "TooManyUpdates", false),
    (Service::Ssm, 403, "UnheardOfException", false),
    (Service::Sts, 400, "IDPCommunicationError", true),
    (Service::Sts, 400, "InvalidIdentityToken", false),
    (Service::Sts, 403, "RegionDisabledException", false),
    (Service::Container, 404, "NotFound", false),
];

impl Fault {
    /// Every kind of fault that `op` can meet, one of each, with parameters that fit a quick test.
    #[must_use]
    pub fn each_of(op: Op) -> Vec<Self> {
        let mut faults = vec![
            Self::Throttled,
            Self::ThrottledOtherwise,
            Self::InternalError,
            Self::Unavailable,
            Self::AccessDenied,
            Self::ExpiredToken,
            Self::Gone,
            Self::GoneByHeader,
            Self::Redirect,
            Self::Stall,
            Self::StallAfterWork,
            Self::HalfAnswer,
            Self::Truncated,
            Self::Trickle(Duration::from_millis(150)),
            Self::Late(Duration::from_millis(150)),
            Self::SlowAnswer(Duration::from_millis(150)),
            Self::Reply(200, "not JSON".into()),
        ];
        for cut in [Cut::Reset, Cut::Close] {
            faults.extend([Self::CutBefore(cut), Self::CutAfter(cut), Self::CutMidway(cut)]);
        }
        faults.extend([403, 404, 413, 429, 502, 503].map(Self::Page));
        let spoken = SPOKEN.iter().filter(|(service, ..)| *service == op.service());
        faults.extend(spoken.map(|&(_, status, code, _)| Self::Error(status, code, "scripted")));
        // Where an empty object is all that success says, it would be a lie that nobody can see through.
        let says_nothing = matches!(op, Op::PutItem | Op::GetItem | Op::DeleteMessage | Op::ChangeMessageVisibility);
        if !says_nothing {
            faults.extend([Self::Reply(200, "{}".into()), Self::Reply(200, String::new())]);
        }
        match op {
            Op::SendMessageBatch | Op::DeleteMessageBatch | Op::ChangeMessageVisibilityBatch => {
                for (code, sender_fault) in [("InternalError", false), ("InvalidParameterValue", true)] {
                    faults.push(Self::FailEntries { which: Which::First(1), code, sender_fault });
                    faults.push(Self::FailEntries { which: Which::All, code, sender_fault });
                }
                for done in [true, false] {
                    faults.push(Self::ForgetEntries { which: Which::First(1), done });
                }
                faults.extend([
                    Self::ForgetEntries { which: Which::All, done: false },
                    Self::Strangers,
                    Self::BothWays,
                ]);
            }
            Op::BatchWriteItem => faults.extend([
                Self::Unprocessed(Which::First(1)),
                Self::Unprocessed(Which::All),
                Self::UnprocessedStrangers,
                Self::Reply(204, String::new()),
                Self::Reply(200, r#"{"UnprocessedItems":null}"#.into()),
                Self::Reply(200, r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}"#.into()),
            ]),
            Op::ReceiveMessage => faults.extend([
                Self::Duplicates,
                Self::OneTooMany,
                Self::Without("MessageId"),
                Self::Without("ReceiptHandle"),
                Self::Without("Body"),
                Self::Without("Attributes"),
                Self::Without("MessageAttributes"),
                Self::Reply(200, r#"{"Messages":null}"#.into()),
                Self::Reply(200, r#"{"Messages":[]}"#.into()),
            ]),
            Op::GetParameters => faults.push(Self::ForgetEntries { which: Which::First(1), done: false }),
            _ => {}
        }
        if matches!(
            op,
            Op::DeleteMessage | Op::DeleteMessageBatch | Op::ChangeMessageVisibility | Op::ChangeMessageVisibilityBatch
        ) {
            faults.push(Self::InvalidHandle);
        }
        faults
    }

    /// Whether trying the same call again is all that is needed.
    #[must_use]
    pub fn passes_when_tried_again(&self) -> bool {
        match self {
            Self::FailEntries { sender_fault, .. } => !sender_fault,
            Self::Error(_, code, _) => SPOKEN.iter().any(|(_, _, spoken, passes)| spoken == code && *passes),
            // The request is too large for something in between; smaller ones are not.
            Self::Page(status) => *status != 413,
            Self::AccessDenied | Self::Gone | Self::GoneByHeader | Self::InvalidHandle => false,
            _ => true,
        }
    }

    /// Whether the work is done although the caller hears of a failure, of nothing, or of something strange.
    #[must_use]
    pub fn does_its_work(&self) -> bool {
        matches!(
            self,
            Self::StallAfterWork
                | Self::HalfAnswer
                | Self::Truncated
                | Self::CutMidway(_)
                | Self::Trickle(_)
                | Self::CutAfter(_)
                | Self::Late(_)
                | Self::SlowAnswer(_)
                | Self::ReplyAfterWork(..)
                | Self::Strangers
                | Self::BothWays
                | Self::ForgetEntries { done: true, .. }
        )
    }

    /// Whether the client cannot know that a receive took messages, so that they stay hidden for nothing.
    #[must_use]
    pub fn loses_a_receive(&self) -> bool {
        self.does_its_work() && !matches!(self, Self::Late(_) | Self::SlowAnswer(_))
            || matches!(self, Self::Without("ReceiptHandle" | "Body" | "MessageAttributes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_meets_every_kind_of_whole_call_fault() {
        for &op in Op::ALL {
            let faults = Fault::each_of(op);
            assert!(faults.len() >= 29, "{op:?}");
            assert!(faults.contains(&Fault::CutAfter(Cut::Reset)), "{op:?}");
        }
        assert!(Fault::each_of(Op::BatchWriteItem).contains(&Fault::Unprocessed(Which::All)));
        assert!(Fault::each_of(Op::ReceiveMessage).contains(&Fault::Duplicates));
    }

    #[test]
    fn a_code_is_told_by_its_service_alone() {
        let sqs = Fault::each_of(Op::SendMessageBatch);
        assert!(sqs.contains(&Fault::Error(400, "KmsDisabled", "scripted")));
        assert!(!sqs.contains(&Fault::Error(400, "ValidationException", "scripted")));
        assert!(Fault::Error(400, "OverLimit", "").passes_when_tried_again());
        assert!(!Fault::Error(400, "ValidationException", "").passes_when_tried_again());
    }
}
