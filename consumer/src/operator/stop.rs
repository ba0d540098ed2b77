//! Why a command ends early, in words that say what to do.

use tenancy::aws::Fault;
use tenancy::directory::ReadError;
use thiserror::Error;

use crate::drain::seam::Failure;

/// The end of a command before all is done.
#[derive(Debug, Error)]
pub(crate) enum Stop {
    /// The command line or a setting is wrong.
    #[error("{0}")]
    Usage(String),
    /// It cannot go on.
    #[error("{0}")]
    Failed(String),
}

impl Stop {
    /// The exit status.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }

    /// A call that failed for good. `action` is its name in IAM, `on` what it was about.
    pub(crate) fn call(action: &str, on: &str, failure: &Failure) -> Self {
        Self::Failed(explain(action, on, failure.fault, &failure.text))
    }

    /// A parameter that gave nothing.
    pub(crate) fn parameter(error: ReadError) -> Self {
        match error {
            ReadError::Call { fault, parameter, text } => {
                Self::Failed(explain("ssm:GetParameters", &format!("parameter{parameter}"), fault, &text))
            }
            value @ ReadError::Value { .. } => Self::Failed(value.to_string()),
        }
    }
}

fn explain(action: &str, on: &str, fault: Fault, text: &str) -> String {
    let advice = match fault {
        Fault::Denied => format!("the role in use needs {action} on {on} (docs/operations.md has the whole policy)"),
        Fault::NoCredentials => "there are no credentials: set AWS_PROFILE, AWS_ACCESS_KEY_ID or a role".to_owned(),
        Fault::Gone => format!("{on} does not exist in this account and region"),
        Fault::Throttled => format!("{on} takes no more calls: try again later, or with a lower --rate"),
        Fault::Transient => format!("{action} on {on} got no good answer: try again"),
        Fault::Refused => format!("AWS refuses {action} on {on}"),
    };
    format!("{advice}: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_named_with_what_it_is_missing_on() {
        let failure = Failure {
            fault: Fault::Denied,
            code: None,
            text: "AccessDenied: not authorized".to_owned(),
            timed_out: false,
        };
        let stop = Stop::call("sqs:SendMessage", "arn:aws:sqs:eu-central-1:123456789012:consumer-acme", &failure);
        assert_eq!(
            stop.to_string(),
            "the role in use needs sqs:SendMessage on arn:aws:sqs:eu-central-1:123456789012:consumer-acme \
             (docs/operations.md has the whole policy): AccessDenied: not authorized"
        );
        assert_eq!((stop.code(), Stop::Usage(String::new()).code()), (1, 2));
    }
}
