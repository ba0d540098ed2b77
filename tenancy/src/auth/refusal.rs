//! Why a token is not accepted: one word to count by, one sentence for the client.

use crate::problem::Problem;

/// What is wrong with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is none.
    Missing,
    /// Longer than [`super::MOST_TOKEN_BYTES`].
    TooLong,
    /// Not three parts in base64url, the first of them a JSON object.
    Malformed,
    /// Signed in another way than we accept, or not at all, or in another way than its key is for.
    Algorithm,
    /// It relies on extensions that we do not know.
    Critical,
    /// Made for something else, such as telling of a logout.
    Type,
    /// The issuer has no such key.
    UnknownKey,
    /// It names no key, and the issuer has several that it could be.
    UnnamedKey,
    /// Nobody knows whether the issuer has such a key: its keys cannot be had now.
    Undecided,
    /// The signature is not the key's.
    Signature,
    /// The claims are no JSON object, or one of them is repeated or of the wrong type.
    Claims,
    /// Of another issuer.
    Issuer,
    /// For another audience.
    Audience,
    /// Without an expiry.
    Eternal,
    /// Too late.
    Expired,
    /// Too early.
    Early,
    /// Valid, but names no tenant.
    NoTenant,
    /// Valid, but names another tenant than the request.
    OtherTenant,
}

/// What may become of a token, in words for metrics.
pub const RESULTS: &[&str] = &[
    "ok",
    "missing",
    "too_long",
    "malformed",
    "algorithm",
    "critical",
    "type",
    "unknown_key",
    "unnamed_key",
    "undecided",
    "signature",
    "claims",
    "issuer",
    "audience",
    "no_expiry",
    "expired",
    "not_yet_valid",
    "no_tenant",
    "other_tenant",
];

impl Refusal {
    /// Whether the issuer may have keys by now with which it would not be one.
    pub(super) fn is_about_keys(self) -> bool {
        matches!(self, Self::UnknownKey | Self::UnnamedKey | Self::Algorithm | Self::Signature)
    }

    /// One word, for metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::TooLong => "too_long",
            Self::Malformed => "malformed",
            Self::Algorithm => "algorithm",
            Self::Critical => "critical",
            Self::Type => "type",
            Self::UnknownKey => "unknown_key",
            Self::UnnamedKey => "unnamed_key",
            Self::Undecided => "undecided",
            Self::Signature => "signature",
            Self::Claims => "claims",
            Self::Issuer => "issuer",
            Self::Audience => "audience",
            Self::Eternal => "no_expiry",
            Self::Expired => "expired",
            Self::Early => "not_yet_valid",
            Self::NoTenant => "no_tenant",
            Self::OtherTenant => "other_tenant",
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Missing => Self::NoToken,
            Refusal::TooLong => Self::Token("the token has more than 8192 bytes"),
            Refusal::Malformed => Self::Token("the token is not a signed JWT"),
            Refusal::Algorithm => {
                Self::Token("the token is not signed with RS256, ES256 or EdDSA, as its key asks for")
            }
            Refusal::Critical => Self::Token("the token has a crit header, and its extensions are not known here"),
            Refusal::Type => Self::Token("the token is neither an access token nor an ID token"),
            Refusal::UnknownKey => Self::Token("the token is signed with a key that the issuer does not publish"),
            Refusal::UnnamedKey => Self::Token("the token names no key (kid) and the issuer has several"),
            Refusal::Undecided => Self::UNAVAILABLE,
            Refusal::Signature => Self::Token("the signature of the token is not valid"),
            Refusal::Claims => Self::Token("the claims of the token cannot be read"),
            Refusal::Issuer => Self::Token("the token is from another issuer"),
            Refusal::Audience => Self::Token("the token is for another audience"),
            Refusal::Eternal => Self::Token("the token has no expiry"),
            Refusal::Expired => Self::Token("the token has expired"),
            Refusal::Early => Self::Token("the token is not valid yet"),
            Refusal::NoTenant => Self::TokenTenant("the token names no tenant"),
            Refusal::OtherTenant => Self::TokenTenant("the token is for another tenant than the tenantID header names"),
        }
    }
}
