//! What a failed call to AWS means for us: [`Fault`].

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::{ConnectorError, SdkError};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

/// Kinds of failure, by what helps against them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Too many calls: try again, more slowly.
    Throttled,
    /// Not answered, cut off, timed out, or failed on AWS's side: try again.
    Transient,
    /// The queue, table or parameter is not there (any more): look it up again.
    Gone,
    /// The role may not do this, or the identity is not accepted: an operator must act, trying again slowly finds out when.
    Denied,
    /// No credentials could be had, or those in use have run out: as `Denied`, though it often passes by itself.
    NoCredentials,
    /// AWS says, in words that are known to mean it, that the request is wrong. Trying the same again does not help.
    Refused,
}

/// Codes by which SQS and DynamoDB blame what they were sent. Whoever posted it is told so and throws it away: what is not
/// known to mean that, such as a code that something in between made up, is tried again instead.
const BLAME: [&str; 28] = [
    // Of SQS.
    "InvalidMessageContents",
    "InvalidParameterValue",
    "InvalidParameterValueException",
    "InvalidParameterCombination",
    "InvalidParameter",
    "MissingParameter",
    "InvalidAttributeName",
    "InvalidAttributeValue",
    "BatchRequestTooLong",
    "MessageTooLong",
    "RequestTooLarge",
    "RequestEntityTooLarge",
    "RequestEntityTooLargeException",
    "EmptyBatchRequest",
    "TooManyEntriesInBatchRequest",
    "BatchEntryIdsNotDistinct",
    "InvalidBatchEntryId",
    "InvalidIdFormat",
    "ReceiptHandleIsInvalid",
    "MessageNotInflight",
    "UnsupportedMediaType",
    // Of DynamoDB.
    "ValidationException",
    "ValidationError",
    "SerializationException",
    "ItemCollectionSizeLimitExceededException",
    "ItemCollectionSizeLimitExceeded",
    "ConditionalCheckFailedException",
    "InvalidInput",
];

impl Fault {
    /// The fault as a metric label.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Throttled => "throttled",
            Self::Transient => "transient",
            Self::Gone => "gone",
            Self::Denied => "denied",
            Self::NoCredentials => "no_credentials",
            Self::Refused => "refused",
        }
    }

    /// The fault that an error code of SQS, DynamoDB, SSM or a batch entry stands for; `None` for one that blames the request,
    /// and for one that is not known.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        let code = bare(code);
        if let Some(of_key) = code.strip_prefix("KMS.").or_else(|| code.strip_prefix("Kms")) {
            // The queue's key. That it is disabled or gone is nothing a message could be blamed for.
            let busy = matches!(of_key, "ThrottlingException" | "Throttled");
            return Some(if busy { Self::Throttled } else { Self::Denied });
        }
        Some(match code {
            "ThrottlingException"
            | "Throttling"
            | "ThrottledException"
            | "RequestThrottled"
            | "RequestThrottledException"
            | "TooManyRequestsException"
            | "ProvisionedThroughputExceededException"
            | "ProvisionedThroughputExceeded"
            | "RequestLimitExceeded"
            | "BandwidthLimitExceeded"
            | "LimitExceededException"
            | "SlowDown"
            | "OverLimit"
            | "TransactionConflictException"
            | "PriorRequestNotComplete"
            | "TransactionInProgressException" => Self::Throttled,
            "InternalError"
            | "InternalFailure"
            | "InternalServerError"
            | "ServiceUnavailable"
            | "ServiceUnavailableException"
            | "RequestTimeout"
            | "RequestTimeoutException"
            | "RequestExpired"
            | "RequestTimeTooSkewed"
            | "ResourceInUseException"
            | "ReplicatedWriteConflictException" => Self::Transient,
            "QueueDoesNotExist"
            | "NonExistentQueue"
            | "InvalidAddress"
            | "QueueDeletedRecently"
            | "ResourceNotFoundException"
            | "TableNotFoundException"
            | "ParameterNotFound" => Self::Gone,
            // The next session is on its way.
            "ExpiredToken" | "ExpiredTokenException" => Self::NoCredentials,
            "AccessDenied"
            | "AccessDeniedException"
            | "UnrecognizedClientException"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "SignatureDoesNotMatch"
            | "IncompleteSignature"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "OptInRequired"
            | "UnsupportedOperation"
            | "InvalidAccessKeyId"
            | "AuthFailure"
            | "InvalidSecurity"
            | "NotAuthorized" => Self::Denied,
            _ => return None,
        })
    }
}

/// A code without the namespace before `#` and without SQS's older prefix, which some answers have.
fn bare(code: &str) -> &str {
    let code = code.rsplit('#').next().unwrap_or(code);
    code.strip_prefix("AWS.SimpleQueueService.").unwrap_or(code)
}

/// What `error` means.
pub fn fault_of<E>(error: &SdkError<E, HttpResponse>) -> Fault
where
    E: ProvideErrorMetadata,
{
    match error {
        SdkError::ServiceError(service) => of_answer(service.raw().status().as_u16(), service.err().code()),
        SdkError::ConstructionFailure(_) => Fault::Refused,
        SdkError::DispatchFailure(failure) => failure.as_connector_error().map_or(Fault::Transient, of_connector),
        _ => Fault::Transient,
    }
}

/// What it means that a request was not sent, or that its connection brought no answer.
pub(super) fn of_connector(error: &ConnectorError) -> Fault {
    // There was nothing to sign it with. A connection that ended without an answer is "other" as well, but of a kind.
    let unsigned = error.is_user() || (error.is_other() && error.as_other().is_none());
    if unsigned { Fault::NoCredentials } else { Fault::Transient }
}

/// What an answer of this status means that names this code, or none.
pub(super) fn of_answer(status: u16, code: Option<&str>) -> Fault {
    if let Some(fault) = code.and_then(Fault::of_code) {
        return fault;
    }
    match (status, code) {
        (429, _) => Fault::Throttled,
        (401 | 403, Some(_)) => Fault::Denied,
        (413, _) => Fault::Refused,
        (400..500, Some(code)) if BLAME.contains(&bare(code)) => Fault::Refused,
        // 5xx; a redirection; a success that cannot be read; a page or a code that somebody in between wrote. None of them
        // says anything about the request, and what became of it is not known.
        _ => Fault::Transient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_smithy_types::retry::ErrorKind;

    #[test]
    fn what_is_not_said_by_aws_is_not_held_against_the_request() {
        for (status, code, fault) in [
            (400, Some("ValidationException"), Fault::Refused),
            (400, Some("InvalidMessageContents"), Fault::Refused),
            (413, None, Fault::Refused),
            (400, None, Fault::Transient),
            (403, None, Fault::Transient),
            (404, None, Fault::Transient),
            (407, None, Fault::Transient),
            (408, Some("Unheard"), Fault::Transient),
            (400, Some("AWS.SimpleQueueService.BatchRequestTooLong"), Fault::Refused),
            (400, Some("com.amazonaws.dynamodb.v20120810#ItemCollectionSizeLimitExceededException"), Fault::Refused),
            (404, Some("NotFound"), Fault::Transient),
            (404, Some("UnknownOperationException"), Fault::Transient),
            (400, Some("RequestCanceled"), Fault::Transient),
            (400, Some("UnheardOfException"), Fault::Transient),
            (403, Some("UnheardOfException"), Fault::Denied),
            (429, None, Fault::Throttled),
            (200, None, Fault::Transient),
            (307, None, Fault::Transient),
            (502, None, Fault::Transient),
            (500, Some("UnheardOfException"), Fault::Transient),
        ] {
            assert_eq!(of_answer(status, code), fault, "{status} {code:?}");
        }
    }

    #[test]
    fn every_spelling_of_a_code_means_the_same() {
        for (code, fault) in [
            ("QueueDoesNotExist", Fault::Gone),
            ("com.amazonaws.sqs#QueueDoesNotExist", Fault::Gone),
            ("AWS.SimpleQueueService.NonExistentQueue", Fault::Gone),
            ("com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", Fault::Gone),
            ("com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", Fault::Throttled),
            ("com.amazon.coral.availability#ThrottlingException", Fault::Throttled),
            ("RequestThrottled", Fault::Throttled),
            ("AccessDeniedException", Fault::Denied),
            ("ExpiredTokenException", Fault::NoCredentials),
            ("InternalError", Fault::Transient),
            ("KmsThrottled", Fault::Throttled),
            ("KMS.ThrottlingException", Fault::Throttled),
            ("KmsDisabled", Fault::Denied),
            ("KMS.DisabledException", Fault::Denied),
            ("KmsAccessDenied", Fault::Denied),
            ("OverLimit", Fault::Throttled),
            ("TransactionConflictException", Fault::Throttled),
            ("AWS.SimpleQueueService.InvalidAddress", Fault::Gone),
        ] {
            assert_eq!(Fault::of_code(code), Some(fault), "{code}");
        }
        assert_eq!(Fault::of_code("ValidationException"), None);
    }

    #[test]
    fn a_connection_that_ended_without_an_answer_is_no_lack_of_credentials() {
        let fault = |error: ConnectorError| {
            fault_of(&SdkError::<aws_sdk_sqs::operation::send_message::SendMessageError, _>::dispatch_failure(error))
        };
        let cause = || std::io::Error::other("connection closed before message completed").into();
        assert_eq!(fault(ConnectorError::other(cause(), Some(ErrorKind::TransientError))), Fault::Transient);
        assert_eq!(fault(ConnectorError::io(cause())), Fault::Transient);
        assert_eq!(fault(ConnectorError::other(cause(), None)), Fault::NoCredentials);
    }
}
