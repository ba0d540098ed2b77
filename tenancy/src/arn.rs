//! ARNs of queues and tables, as the SSM parameters hold them: [`QueueArn`] and [`TableArn`].
//!
//! Nothing is cut out of a string without a check, and every partition of AWS is known, so that a queue's URL can be derived
//! from its ARN instead of asked for (`sqs:GetQueueUrl` is never called).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Why a text is not the ARN it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ArnError {
    /// Not of the form `arn:PARTITION:SERVICE:REGION:ACCOUNT:…`.
    #[error("not an ARN")]
    Shape,
    /// A partition this product does not know the DNS suffix of.
    #[error("an ARN of an unknown partition")]
    Partition,
    /// The ARN of something else.
    #[error("an ARN of another service than {0}")]
    Service(&'static str),
    /// No region, or one with characters regions do not have.
    #[error("an ARN without a valid region")]
    Region,
    /// An account id that is not 12 digits.
    #[error("an ARN without an account id of 12 digits")]
    Account,
    /// A queue or table name that the service would not allow.
    #[error("an ARN whose resource name is not valid")]
    Name,
    /// A FIFO queue: it needs message groups and a deduplication id, which standard queues do without.
    #[error("the ARN of a FIFO queue; a standard queue is needed")]
    Fifo,
}

/// Partitions and the DNS suffix of their endpoints, from the SDKs' `partitions.json`.
const DNS_SUFFIXES: [(&str, &str); 8] = [
    ("aws", "amazonaws.com"),
    ("aws-cn", "amazonaws.com.cn"),
    ("aws-us-gov", "amazonaws.com"),
    ("aws-iso", "c2s.ic.gov"),
    ("aws-iso-b", "sc2s.sgov.gov"),
    ("aws-iso-e", "cloud.adc-e.uk"),
    ("aws-iso-f", "csp.hci.ic.gov"),
    ("aws-eusc", "amazonaws.eu"),
];

/// The parts that both kinds have.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Parts {
    text: Box<str>,
    dns_suffix: &'static str,
    /// Byte offsets in `text` where region, account and resource start.
    region: usize,
    account: usize,
    resource: usize,
}

impl Parts {
    fn parse(text: &str, service: &'static str) -> Result<Self, ArnError> {
        let mut fields = text.splitn(6, ':');
        let mut next = || fields.next().ok_or(ArnError::Shape);
        let (arn, partition, named, region, account, resource) = (next()?, next()?, next()?, next()?, next()?, next()?);
        if arn != "arn" {
            return Err(ArnError::Shape);
        }
        let known = DNS_SUFFIXES.iter().find(|(name, _)| *name == partition);
        let (_, dns_suffix) = known.ok_or(ArnError::Partition)?;
        if named != service {
            return Err(ArnError::Service(service));
        }
        let in_region = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if region.is_empty() || region.len() > 32 || !region.bytes().all(in_region) {
            return Err(ArnError::Region);
        }
        if account.len() != 12 || !account.bytes().all(|b| b.is_ascii_digit()) {
            return Err(ArnError::Account);
        }
        let resource_at = text.len() - resource.len();
        let account_at = resource_at - 1 - account.len();
        Ok(Self {
            text: text.into(),
            dns_suffix,
            region: account_at - 1 - region.len(),
            account: account_at,
            resource: resource_at,
        })
    }

    fn region(&self) -> &str {
        &self.text[self.region..self.account - 1]
    }

    fn account(&self) -> &str {
        &self.text[self.account..self.resource - 1]
    }

    fn resource(&self) -> &str {
        &self.text[self.resource..]
    }
}

/// The ARN of a standard SQS queue, such as `arn:aws:sqs:eu-central-1:123456789012:consumer-acme`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct QueueArn(Parts);

impl QueueArn {
    /// The queue's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.resource()
    }

    /// The region it lives in.
    #[must_use]
    pub fn region(&self) -> &str {
        self.0.region()
    }

    /// The ARN as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// The queue's URL: below `endpoint` when one is set, else at the service's own address in the ARN's partition and region.
    #[must_use]
    pub fn url(&self, endpoint: Option<&str>) -> String {
        let (account, name) = (self.0.account(), self.name());
        match endpoint {
            Some(endpoint) => format!("{}/{account}/{name}", endpoint.trim_end_matches('/')),
            None => format!("https://sqs.{}.{}/{account}/{name}", self.region(), self.0.dns_suffix),
        }
    }
}

impl FromStr for QueueArn {
    type Err = ArnError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = Parts::parse(text, "sqs")?;
        let name = parts.resource();
        if name.ends_with(".fifo") {
            return Err(ArnError::Fifo);
        }
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if name.is_empty() || name.len() > 80 || !name.bytes().all(allowed) {
            return Err(ArnError::Name);
        }
        Ok(Self(parts))
    }
}

/// The ARN of a DynamoDB table, such as `arn:aws:dynamodb:eu-central-1:123456789012:table/consumer-acme`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TableArn(Parts);

impl TableArn {
    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        let resource = self.0.resource();
        resource.strip_prefix("table/").unwrap_or(resource)
    }

    /// The region it lives in.
    #[must_use]
    pub fn region(&self) -> &str {
        self.0.region()
    }

    /// The ARN as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.text
    }
}

impl FromStr for TableArn {
    type Err = ArnError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = Parts::parse(text, "dynamodb")?;
        let name = parts.resource().strip_prefix("table/").ok_or(ArnError::Name)?;
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        if !(3..=255).contains(&name.len()) || !name.bytes().all(allowed) {
            return Err(ArnError::Name);
        }
        Ok(Self(parts))
    }
}

macro_rules! shown_as_text {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }
    )*};
}
shown_as_text!(QueueArn, TableArn);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn queue(text: &str) -> QueueArn {
        text.parse().unwrap()
    }

    #[test]
    fn the_url_follows_the_partition() {
        for (arn, url) in [
            (
                "arn:aws:sqs:eu-central-1:123456789012:consumer-acme",
                "https://sqs.eu-central-1.amazonaws.com/123456789012/consumer-acme",
            ),
            ("arn:aws-cn:sqs:cn-north-1:123456789012:q", "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q"),
            (
                "arn:aws-us-gov:sqs:us-gov-west-1:123456789012:q",
                "https://sqs.us-gov-west-1.amazonaws.com/123456789012/q",
            ),
            ("arn:aws-iso:sqs:us-iso-east-1:123456789012:q", "https://sqs.us-iso-east-1.c2s.ic.gov/123456789012/q"),
        ] {
            assert_eq!(queue(arn).url(None), url);
        }
    }

    #[test]
    fn an_endpoint_override_takes_the_place_of_the_host() {
        let arn = queue("arn:aws-cn:sqs:cn-north-1:123456789012:q");
        assert_eq!(arn.url(Some("http://127.0.0.1:9324")), "http://127.0.0.1:9324/123456789012/q");
        assert_eq!(arn.url(Some("http://127.0.0.1:9324/")), "http://127.0.0.1:9324/123456789012/q");
    }

    #[test]
    fn what_is_no_queue_is_refused_with_the_reason() {
        for (text, why) in [
            ("", ArnError::Shape),
            ("https://sqs.eu-central-1.amazonaws.com/123456789012/q", ArnError::Shape),
            ("arn:aws:sqs:eu-central-1:123456789012", ArnError::Shape),
            ("arn:mars:sqs:eu-central-1:123456789012:q", ArnError::Partition),
            ("arn:aws:sns:eu-central-1:123456789012:q", ArnError::Service("sqs")),
            ("arn:aws:sqs::123456789012:q", ArnError::Region),
            ("arn:aws:sqs:eu_central:123456789012:q", ArnError::Region),
            ("arn:aws:sqs:eu-central-1:12345:q", ArnError::Account),
            ("arn:aws:sqs:eu-central-1:123456789012:", ArnError::Name),
            ("arn:aws:sqs:eu-central-1:123456789012:a/b", ArnError::Name),
            ("arn:aws:sqs:eu-central-1:123456789012:q\n", ArnError::Name),
            ("arn:aws:sqs:eu-central-1:123456789012:q.fifo", ArnError::Fifo),
        ] {
            assert_eq!(text.parse::<QueueArn>(), Err(why), "{text:?}");
        }
    }

    #[test]
    fn a_table_is_named_by_its_arn() {
        let table: TableArn = "arn:aws:dynamodb:eu-central-1:123456789012:table/consumer-acme".parse().unwrap();
        assert_eq!((table.name(), table.region()), ("consumer-acme", "eu-central-1"));
        for (text, why) in [
            ("arn:aws:dynamodb:eu-central-1:123456789012:consumer-acme", ArnError::Name),
            ("arn:aws:dynamodb:eu-central-1:123456789012:table/ab", ArnError::Name),
            ("arn:aws:dynamodb:eu-central-1:123456789012:table/abc/index/x", ArnError::Name),
            ("arn:aws:sqs:eu-central-1:123456789012:table/abc", ArnError::Service("dynamodb")),
        ] {
            assert_eq!(text.parse::<TableArn>(), Err(why), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = text.parse::<QueueArn>();
            let _ = text.parse::<TableArn>();
        }

        #[test]
        fn what_parses_is_shown_as_it_was_written(name in "[A-Za-z0-9_-]{1,80}", region in "[a-z]{2}-[a-z]{4,9}-[1-9]") {
            let text = format!("arn:aws:sqs:{region}:123456789012:{name}");
            let arn = queue(&text);
            prop_assert_eq!(arn.to_string(), text);
            prop_assert_eq!(arn.name(), name);
            prop_assert_eq!(arn.region(), region);
        }
    }
}
