//! A token's three parts: a signed JWT in its compact form (RFC 7515, 7519).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::Refusal;
use super::keys::Algorithm;
use crate::config::Identity;
use crate::tenant::TenantId;

/// What `typ` may say, without regard to case and to a leading `application/`.
const TYPES: [&str; 2] = ["jwt", "at+jwt"];

/// A token taken apart. Nothing in it is verified yet.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub(super) header: Header,
    /// What the signature is over.
    pub(super) signed: &'a [u8],
    pub(super) payload: Vec<u8>,
    pub(super) signature: Vec<u8>,
}

/// What we look at in a header. Keys that a token brings along (`jwk`, `jku`, `x5u`, `x5c`) are not among it.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<String>,
}

#[derive(Deserialize)]
struct RawHeader {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    #[serde(default, deserialize_with = "is_there")]
    crit: bool,
}

/// Whether a member is there, whatever it says.
fn is_there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

impl<'a> Parts<'a> {
    pub(super) fn split(token: &'a str) -> Result<Self, Refusal> {
        let (signed, signature) = token.rsplit_once('.').ok_or(Refusal::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(Refusal::Malformed)?;
        let header = Header::read(&decode(header)?)?;
        Ok(Self { header, signed: signed.as_bytes(), payload: decode(payload)?, signature: decode(signature)? })
    }
}

fn decode(part: &str) -> Result<Vec<u8>, Refusal> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::Malformed)
}

impl Header {
    fn read(json: &[u8]) -> Result<Self, Refusal> {
        let raw: RawHeader = serde_json::from_slice(json).map_err(|_| Refusal::Malformed)?;
        if raw.crit {
            return Err(Refusal::Critical);
        }
        let algorithm = Algorithm::of(&raw.alg).ok_or(Refusal::Algorithm)?;
        let typ = raw.typ.as_deref().unwrap_or(TYPES[0]).to_ascii_lowercase();
        if !TYPES.contains(&typ.strip_prefix("application/").unwrap_or(&typ)) {
            return Err(Refusal::Type);
        }
        Ok(Self { algorithm, kid: raw.kid })
    }
}

/// What a token claims.
#[derive(Debug, Default)]
pub(super) struct Claims {
    issuer: Option<String>,
    audience: Vec<String>,
    /// Seconds since 1970, perhaps with a fraction.
    expiry: Option<f64>,
    not_before: Option<f64>,
    issued_at: Option<f64>,
    tenant: Option<serde_json::Value>,
}

impl Claims {
    /// Reads the claims of a token whose signature is verified.
    pub(super) fn read(json: &[u8], tenant_claim: &str) -> Result<Self, Refusal> {
        let mut reader = serde_json::Deserializer::from_slice(json);
        let claims = ClaimsSeed(tenant_claim).deserialize(&mut reader).map_err(|_| Refusal::Claims)?;
        reader.end().map_err(|_| Refusal::Claims)?;
        Ok(claims)
    }

    /// Whose token it is, and until when it may be used in seconds since 1970, if it is for us and `now` is its time.
    pub(super) fn check(self, identity: &Identity, now: f64) -> Result<(TenantId, f64), Refusal> {
        let skew = identity.skew.as_secs_f64();
        if self.issuer.as_deref() != Some(identity.issuer.as_str()) {
            return Err(Refusal::Issuer);
        }
        if !self.audience.contains(&identity.audience) {
            return Err(Refusal::Audience);
        }
        let until = self.expiry.ok_or(Refusal::Eternal)? + skew;
        if now >= until {
            return Err(Refusal::Expired);
        }
        // Issued in the future is a clock gone wrong, or a token laid in for later.
        if [self.not_before, self.issued_at].into_iter().flatten().any(|from| from > now + skew) {
            return Err(Refusal::Early);
        }
        let tenant = self.tenant.as_ref().and_then(|tenant| tenant.as_str()).and_then(|text| text.parse().ok());
        Ok((tenant.ok_or(Refusal::NoTenant)?, until))
    }
}

/// Reads claims, one of which is named by a setting. Each may be there once: of two, someone else may have read the other.
struct ClaimsSeed<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for ClaimsSeed<'_> {
    type Value = Claims;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Claims, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ClaimsSeed<'_> {
    type Value = Claims;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of claims")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Claims, A::Error> {
        let mut claims = Claims::default();
        let mut audience: Option<Audience> = None;
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "iss" => once(&mut claims.issuer, map.next_value()?)?,
                "aud" => once(&mut audience, map.next_value()?)?,
                "exp" => once(&mut claims.expiry, map.next_value()?)?,
                "nbf" => once(&mut claims.not_before, map.next_value()?)?,
                "iat" => once(&mut claims.issued_at, map.next_value()?)?,
                name if name == self.0 => once(&mut claims.tenant, map.next_value()?)?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        claims.audience = audience.map(Audience::into_vec).unwrap_or_default();
        Ok(claims)
    }
}

fn once<T, E: serde::de::Error>(place: &mut Option<T>, value: T) -> Result<(), E> {
    if place.replace(value).is_some() { Err(E::custom("a claim is repeated")) } else { Ok(()) }
}

/// `aud` is a text or a list of texts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(audience) => vec![audience],
            Self::Many(all) => all,
        }
    }
}
