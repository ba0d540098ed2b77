//! What a failed call to AWS means for us: [`Fault`].

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
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
    /// No credentials could be had: as `Denied`, though it often passes by itself.
    NoCredentials,
    /// AWS says that the request is wrong. Trying the same again does not help.
    Refused,
}

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

    /// The fault that an error code of SQS, DynamoDB, SSM or a batch entry stands for.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        // Codes arrive with or without a namespace before `#` and with or without SQS's older prefix.
        let code = code.rsplit('#').next().unwrap_or(code);
        let code = code.strip_prefix("AWS.SimpleQueueService.").unwrap_or(code);
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
            | "KmsThrottled"
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
            | "RequestTimeTooSkewed" => Self::Transient,
            "QueueDoesNotExist"
            | "NonExistentQueue"
            | "QueueDeletedRecently"
            | "ResourceNotFoundException"
            | "TableNotFoundException" => Self::Gone,
            "AccessDenied"
            | "AccessDeniedException"
            | "UnrecognizedClientException"
            | "InvalidClientTokenId"
            | "ExpiredToken"
            | "ExpiredTokenException"
            | "InvalidSignatureException"
            | "SignatureDoesNotMatch"
            | "IncompleteSignature"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "OptInRequired"
            | "KmsAccessDenied"
            | "InvalidSecurity"
            | "NotAuthorized" => Self::Denied,
            _ => return None,
        })
    }
}

/// What `error` means.
pub fn fault_of<E>(error: &SdkError<E, HttpResponse>) -> Fault
where
    E: ProvideErrorMetadata,
{
    match error {
        SdkError::ServiceError(service) => {
            let status = service.raw().status().as_u16();
            match service.err().code().and_then(Fault::of_code) {
                Some(fault) => fault,
                None if status == 429 => Fault::Throttled,
                None if (400..500).contains(&status) && status != 408 => Fault::Refused,
                // 5xx, or a success whose body cannot be read: what became of the call is not known.
                None => Fault::Transient,
            }
        }
        SdkError::ConstructionFailure(_) => Fault::Refused,
        SdkError::DispatchFailure(failure) if failure.is_other() || failure.is_user() => Fault::NoCredentials,
        _ => Fault::Transient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("ExpiredTokenException", Fault::Denied),
            ("InternalError", Fault::Transient),
        ] {
            assert_eq!(Fault::of_code(code), Some(fault), "{code}");
        }
        assert_eq!(Fault::of_code("ValidationException"), None);
    }
}
