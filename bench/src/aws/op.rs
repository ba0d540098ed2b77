//! The operations that are answered, and how often each was called.

use serde::Serialize;

use crate::http::Request;

macro_rules! operations {
    ($($name:ident = $target:literal,)*) => {
        /// An operation of an AWS service.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Op { $($name,)* }

        impl Op {
            const ALL: &[Self] = &[$(Self::$name,)*];

            /// The operation that a request calls.
            pub(crate) fn of(request: &Request<'_>, body: &[u8]) -> Option<Self> {
                match request.target {
                    $(Some($target) => Some(Self::$name),)*
                    None if body.starts_with(b"Action=GetCallerIdentity") => Some(Self::GetCallerIdentity),
                    _ => None,
                }
            }

            /// Its name.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

operations! {
    SendMessage = "AmazonSQS.SendMessage",
    SendMessageBatch = "AmazonSQS.SendMessageBatch",
    ReceiveMessage = "AmazonSQS.ReceiveMessage",
    DeleteMessage = "AmazonSQS.DeleteMessage",
    DeleteMessageBatch = "AmazonSQS.DeleteMessageBatch",
    ChangeMessageVisibility = "AmazonSQS.ChangeMessageVisibility",
    ChangeMessageVisibilityBatch = "AmazonSQS.ChangeMessageVisibilityBatch",
    GetQueueUrl = "AmazonSQS.GetQueueUrl",
    GetQueueAttributes = "AmazonSQS.GetQueueAttributes",
    PutItem = "DynamoDB_20120810.PutItem",
    BatchWriteItem = "DynamoDB_20120810.BatchWriteItem",
    DescribeTable = "DynamoDB_20120810.DescribeTable",
    GetParameter = "AmazonSSM.GetParameter",
    GetParameters = "AmazonSSM.GetParameters",
    GetCallerIdentity = "AWSSecurityTokenServiceV20110615.GetCallerIdentity",
}

impl Op {
    /// Whether the request names a queue, which may have a latency and a limit of its own.
    pub(crate) fn is_of_a_queue(self) -> bool {
        (self as usize) <= Self::GetQueueAttributes as usize
    }
}

/// Calls of one operation.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Count {
    calls: u64,
    /// Messages, items or names in them, as far as they were accepted.
    entries: u64,
    /// Calls that were refused for being too many.
    throttled: u64,
}

/// Calls by operation.
#[derive(Debug, Default)]
pub(crate) struct Counts([Count; Op::ALL.len()]);

impl Counts {
    /// A call came in.
    pub(crate) fn called(&mut self, op: Op) {
        self.change(op, |count| count.calls += 1);
    }

    /// A call was carried out for so many entries.
    pub(crate) fn carried(&mut self, op: Op, entries: usize) {
        self.change(op, |count| count.entries += entries as u64);
    }

    /// A call was refused.
    pub(crate) fn throttled(&mut self, op: Op) {
        self.change(op, |count| count.throttled += 1);
    }

    fn change(&mut self, op: Op, with: impl Fn(&mut Count)) {
        if let Some(count) = self.0.get_mut(op as usize) {
            with(count);
        }
    }

    /// Those that were called, as JSON: `{"SendMessage":{"calls":1,"entries":1,"throttled":0}}`.
    pub(crate) fn json(&self) -> serde_json::Value {
        let called = Op::ALL.iter().zip(&self.0).filter(|(_, count)| count.calls > 0);
        called.map(|(op, count)| (op.name().to_owned(), serde_json::to_value(count).unwrap_or_default())).collect()
    }
}
