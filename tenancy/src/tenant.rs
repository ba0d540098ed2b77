//! Who a request is for: [`TenantId`], [`PoolId`], [`Environment`] and [`Tier`].
//!
//! Each is parsed once, at the edge, and trusted afterwards. The rule for a tenant's id is written down here and nowhere else
//! in Rust; the chart's schema and the Terraform module state the same rule in their own languages.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

/// The longest tenant id, in bytes.
///
/// The tightest names made from it are the load balancer's annotation `conditions.SERVICE` (63, so a Service has 52), the Helm
/// release `TENANT-advanced` (53), the label `TENANT-tf-runner` (63) and the role `producer-role-TENANT` (64).
pub const TENANT_ID_MAX_LEN: usize = 40;

/// A customer: 1 to 40 characters of `a-z`, `0-9` and single `-`, starting with a letter and ending with a letter or digit.
///
/// It becomes a Kubernetes namespace and a path in SSM, so names those reserve are refused: `aws…` and `ssm…` (SSM),
/// `default`, `kube-…`, `flux-…` (Kubernetes and Flux), and `pool-…` (our pools). Ids are compared byte for byte: `Acme` is
/// refused rather than taken for `acme`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TenantId(Arc<str>);

/// Why a text is not a tenant id. The text says what would be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TenantIdError {
    /// No character at all.
    #[error("a tenant id must not be empty")]
    Empty,
    /// More than [`TENANT_ID_MAX_LEN`] bytes.
    #[error("a tenant id has at most {TENANT_ID_MAX_LEN} characters")]
    TooLong,
    /// A character or an order of characters that the pattern does not allow.
    #[error("a tenant id matches ^[a-z]([a-z0-9-]*[a-z0-9])?$ without two hyphens in a row")]
    Pattern,
    /// A name that SSM, Kubernetes, Flux or this product keeps for itself.
    #[error("a tenant id is not 'default' and does not start with aws, ssm, kube-, flux- or pool-")]
    Reserved,
}

impl TenantId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The one rule for tenant ids.
fn check_tenant_id(text: &str) -> Result<(), TenantIdError> {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return Err(TenantIdError::Empty);
    };
    if bytes.len() > TENANT_ID_MAX_LEN {
        return Err(TenantIdError::TooLong);
    }
    let allowed = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    let hyphens_apart = bytes.windows(2).all(|pair| pair != b"--");
    if !first.is_ascii_lowercase() || *last == b'-' || !bytes.iter().all(allowed) || !hyphens_apart {
        return Err(TenantIdError::Pattern);
    }
    let reserved = ["aws", "ssm", "kube-", "flux-", "pool-"];
    if text == "default" || reserved.iter().any(|prefix| text.starts_with(prefix)) {
        return Err(TenantIdError::Reserved);
    }
    Ok(())
}

impl FromStr for TenantId {
    type Err = TenantIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        check_tenant_id(text)?;
        Ok(Self(Arc::from(text)))
    }
}

/// A pool of tenants that share resources: `pool-` and a number from 1 to 9999.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolId(Arc<str>);

/// A text that is not a pool's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a pool is called pool-N, N from 1 to 9999")]
pub struct PoolIdError;

impl PoolId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PoolId {
    type Err = PoolIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("pool-").ok_or(PoolIdError)?.as_bytes();
        let number =
            (1..=4).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) && digits.first() != Some(&b'0');
        if number { Ok(Self(Arc::from(text))) } else { Err(PoolIdError) }
    }
}

/// Where a deployment lives: the namespace of one tenant (silo) or of a pool.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Environment {
    /// One tenant's own.
    Tenant(TenantId),
    /// Shared by the tenants of a pool.
    Pool(PoolId),
}

/// A text that names neither a tenant nor a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("neither a pool (pool-1 to pool-9999) nor a tenant id: {0}")]
pub struct EnvironmentError(#[from] TenantIdError);

impl Environment {
    /// The tenant's or pool's id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Tenant(tenant) => tenant.as_str(),
            Self::Pool(pool) => pool.as_str(),
        }
    }

    /// Whether this is the environment of that one tenant.
    #[must_use]
    pub fn is_tenant(&self, tenant: &TenantId) -> bool {
        matches!(self, Self::Tenant(own) if own == tenant)
    }
}

impl From<TenantId> for Environment {
    fn from(tenant: TenantId) -> Self {
        Self::Tenant(tenant)
    }
}

impl FromStr for Environment {
    type Err = EnvironmentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(pool) => Ok(Self::Pool(pool)),
            Err(PoolIdError) => Ok(Self::Tenant(text.parse()?)),
        }
    }
}

/// What a tenant pays for, and so what it shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Producer, consumer, payments, queue and table of a pool.
    Basic,
    /// The pool's producer; a consumer, payments, queue and table of its own.
    Advanced,
    /// Everything of its own.
    Premium,
}

/// A text that is no tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a tier is basic, advanced or premium")]
pub struct TierError;

impl Tier {
    /// The tier as it stands in headers and values.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Advanced => "advanced",
            Self::Premium => "premium",
        }
    }
}

impl FromStr for Tier {
    type Err = TierError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "basic" => Ok(Self::Basic),
            "advanced" => Ok(Self::Advanced),
            "premium" => Ok(Self::Premium),
            _ => Err(TierError),
        }
    }
}

macro_rules! shown_as_text {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}
shown_as_text!(TenantId, PoolId, Environment, Tier);

macro_rules! debugged_as_text {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }
    )*};
}
debugged_as_text!(TenantId, PoolId, Environment);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tenant_id_is_short_lower_case_and_starts_with_a_letter() {
        for good in ["a", "acme", "tenant-1", "a1", "x-y-z", "a123456789012345678901234567890123456789"] {
            assert_eq!(good.parse::<TenantId>().map(|id| id.to_string()), Ok(good.to_owned()));
        }
        for (bad, why) in [
            ("", TenantIdError::Empty),
            ("a1234567890123456789012345678901234567890", TenantIdError::TooLong),
            ("Acme", TenantIdError::Pattern),
            ("1acme", TenantIdError::Pattern),
            ("acme-", TenantIdError::Pattern),
            ("-acme", TenantIdError::Pattern),
            ("a--b", TenantIdError::Pattern),
            ("acme corp", TenantIdError::Pattern),
            ("acme\n", TenantIdError::Pattern),
            (" acme", TenantIdError::Pattern),
            ("a/b", TenantIdError::Pattern),
            ("a.b", TenantIdError::Pattern),
            ("../other", TenantIdError::Pattern),
            ("other/consumer_sqs", TenantIdError::Pattern),
            ("{x}", TenantIdError::Pattern),
            ("*", TenantIdError::Pattern),
            ("acme?", TenantIdError::Pattern),
            ("tést", TenantIdError::Pattern),
        ] {
            assert_eq!(bad.parse::<TenantId>(), Err(why), "{bad:?}");
        }
    }

    #[test]
    fn names_that_the_platform_keeps_for_itself_are_no_tenants() {
        for bad in ["awsome", "aws", "ssm", "ssmith", "default", "kube-system", "flux-system", "pool-1", "pool-x"] {
            assert_eq!(bad.parse::<TenantId>(), Err(TenantIdError::Reserved), "{bad:?}");
        }
        for good in ["defaults", "kube", "kubernetes", "flux", "pool", "poolside", "laws"] {
            assert!(good.parse::<TenantId>().is_ok(), "{good:?}");
        }
    }

    #[test]
    fn a_pool_has_a_number_from_1_to_9999() {
        for good in ["pool-1", "pool-9", "pool-10", "pool-9999"] {
            assert!(matches!(good.parse(), Ok(Environment::Pool(_))), "{good:?}");
        }
        for bad in ["pool-0", "pool-01", "pool-10000", "pool-", "pool", "pool-1a", "pool-1 ", "Pool-1", "pool--1"] {
            assert_eq!(bad.parse::<PoolId>(), Err(PoolIdError), "{bad:?}");
        }
        assert!("pool-0".parse::<Environment>().is_err());
        assert!(matches!("acme".parse(), Ok(Environment::Tenant(_))));
    }

    #[test]
    fn a_tier_is_one_of_three_words_in_lower_case() {
        assert_eq!("basic".parse(), Ok(Tier::Basic));
        assert_eq!("advanced".parse(), Ok(Tier::Advanced));
        assert_eq!("premium".parse(), Ok(Tier::Premium));
        for bad in ["", "Basic", "gold", "basic ", "basic,premium"] {
            assert_eq!(bad.parse::<Tier>(), Err(TierError), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_is_a_legal_dns_label_and_path_segment(text in ".{0,60}") {
            if let Ok(id) = text.parse::<TenantId>() {
                prop_assert_eq!(id.as_str(), &text);
                prop_assert!(text.len() <= 40);
                prop_assert!(text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
                prop_assert!(!text.starts_with('-') && !text.ends_with('-') && !text.contains("--"));
            }
        }

        #[test]
        fn ids_of_the_pattern_are_accepted_unless_reserved(text in "[a-z]([a-z0-9]|-[a-z0-9]){0,19}") {
            let reserved = text == "default" || ["aws", "ssm", "kube-", "flux-", "pool-"].iter().any(|p| text.starts_with(p));
            prop_assert_eq!(text.parse::<TenantId>().is_ok(), !reserved && text.len() <= 40);
        }
    }
}
