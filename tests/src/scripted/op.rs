//! The calls the scripted AWS knows: [`Op`] and the [`Service`] each belongs to.

/// A service, with its own protocol, spelling of errors and latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// SQS, JSON 1.0.
    Sqs,
    /// DynamoDB, JSON 1.0.
    DynamoDb,
    /// SSM, JSON 1.1.
    Ssm,
    /// STS, query in and XML out.
    Sts,
    /// The endpoint that hands credentials to a container (Pod Identity, ECS).
    Container,
    /// The metadata service of a machine: nothing of ours may ask it.
    Metadata,
    /// Whatever else was sent here.
    Unknown,
}

impl Service {
    /// Every service, in the order that counters use.
    pub const ALL: [Self; 7] =
        [Self::Sqs, Self::DynamoDb, Self::Ssm, Self::Sts, Self::Container, Self::Metadata, Self::Unknown];

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

macro_rules! operations {
    ($($name:ident $service:ident $target:literal),* $(,)?) => {
        /// One operation of a service.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op { $(#[doc = concat!("`", stringify!($name), "` of [`Service::", stringify!($service), "`].")] $name),* }

        impl Op {
            /// Every operation.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The service it belongs to.
            #[must_use]
            pub fn service(self) -> Service {
                match self { $(Self::$name => Service::$service),* }
            }

            /// Its name as the service spells it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// The operation of an `X-Amz-Target` header, or of `Action=` for STS.
            pub(crate) fn of_target(target: &str) -> Option<Self> {
                match target { $($target => Some(Self::$name),)* _ => None }
            }

            pub(crate) fn index(self) -> usize {
                self as usize
            }
        }
    };
}

operations! {
    SendMessage Sqs "AmazonSQS.SendMessage",
    SendMessageBatch Sqs "AmazonSQS.SendMessageBatch",
    ReceiveMessage Sqs "AmazonSQS.ReceiveMessage",
    DeleteMessage Sqs "AmazonSQS.DeleteMessage",
    DeleteMessageBatch Sqs "AmazonSQS.DeleteMessageBatch",
    ChangeMessageVisibility Sqs "AmazonSQS.ChangeMessageVisibility",
    ChangeMessageVisibilityBatch Sqs "AmazonSQS.ChangeMessageVisibilityBatch",
    GetQueueAttributes Sqs "AmazonSQS.GetQueueAttributes",
    GetQueueUrl Sqs "AmazonSQS.GetQueueUrl",
    PutItem DynamoDb "DynamoDB_20120810.PutItem",
    GetItem DynamoDb "DynamoDB_20120810.GetItem",
    BatchWriteItem DynamoDb "DynamoDB_20120810.BatchWriteItem",
    Query DynamoDb "DynamoDB_20120810.Query",
    GetParameter Ssm "AmazonSSM.GetParameter",
    GetParameters Ssm "AmazonSSM.GetParameters",
    AssumeRoleWithWebIdentity Sts "AssumeRoleWithWebIdentity",
    GetCallerIdentity Sts "GetCallerIdentity",
    ContainerCredentials Container "ContainerCredentials",
    Metadata Metadata "Metadata",
    Unknown Unknown "Unknown",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_header_names_its_operation() {
        assert_eq!(Op::of_target("AmazonSQS.SendMessageBatch"), Some(Op::SendMessageBatch));
        assert_eq!(Op::of_target("DynamoDB_20120810.Query"), Some(Op::Query));
        assert_eq!(Op::of_target("AmazonSQS.PurgeQueue"), None);
        assert_eq!(Op::GetParameters.service(), Service::Ssm);
    }

    #[test]
    fn indexes_are_places_in_the_tables() {
        assert!(Op::ALL.iter().enumerate().all(|(at, op)| op.index() == at));
        assert!(Service::ALL.iter().enumerate().all(|(at, service)| service.index() == at));
    }
}
