//! Why a message was not sent.

use thiserror::Error;

use crate::problem::Problem;

/// Why a message was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SendError {
    /// It has more bytes, attributes included, than the limit named here.
    #[error("the message has more than {0} bytes with its attributes")]
    TooLarge(usize),
    /// Too much is waiting for its queue already.
    #[error("the lane of the queue is full")]
    Full,
    /// SQS did not take it in time. It may have it all the same; sent again under the same id it is the same record.
    #[error("SQS did not take the message in time")]
    Deadline,
    /// The queue cannot be used now: gone, or the role may not send to it.
    #[error("the queue cannot be used now")]
    Unavailable,
    /// SQS says that this message is wrong.
    #[error("SQS refused the message")]
    Refused,
}

impl SendError {
    /// The error as a word for spans.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge(_) => "too_large",
            Self::Full => "full",
            Self::Deadline => "deadline",
            Self::Unavailable => "unavailable",
            Self::Refused => "refused",
        }
    }
}

impl From<SendError> for Problem {
    fn from(error: SendError) -> Self {
        match error {
            SendError::TooLarge(most) => Self::TooLarge(most, "an event with its attributes"),
            SendError::Refused => Self::Unprocessable("the queue does not take this event".to_owned()),
            SendError::Full | SendError::Deadline | SendError::Unavailable => Self::UNAVAILABLE,
        }
    }
}
