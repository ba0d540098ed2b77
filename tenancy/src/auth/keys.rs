//! The issuer's keys, from a JWK set (RFC 7517), and verifying with one.
//!
//! A key has one algorithm, by its type: RSA verifies RS256, the curve P-256 ES256, Ed25519 EdDSA. What else is in the set,
//! other types, keys for encryption, keys that are too short, is passed over.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use thiserror::Error;

use super::Refusal;

/// The most keys of a set. Issuers have two or three.
const MOST_KEYS: usize = 100;

/// Lengths of an RSA modulus in bytes: 2048 to 8192 bits.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1_024;

/// How a token is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    /// By its name in a token's header or a key. Anything else, `none` and the symmetric ones above all, is none of ours.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A public key of the issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    material: Material,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point in its uncompressed form, or the bytes of an Ed25519 key.
    Bytes(Vec<u8>),
}

impl Key {
    /// Whether `signature` over `message` is this key's.
    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match (&self.material, self.algorithm) {
            (Material::Rsa { n, e }, _) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Material::Bytes(key), Algorithm::EdDsa) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature)
            }
            (Material::Bytes(key), _) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(message, signature)
            }
        };
        verified.is_ok()
    }
}

/// The keys of an issuer that can verify tokens. There may be none: so an issuer withdraws all that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeySet {
    keys: Vec<Key>,
    passed_over: usize,
}

/// Why bytes are no key set.
#[derive(Debug, Error)]
pub(super) enum KeySetError {
    #[error("the key set is not JSON of the form {{\"keys\": [...]}}: {0}")]
    Form(serde_json::Error),
    #[error("the key set has more than {MOST_KEYS} keys")]
    TooMany,
}

impl KeySet {
    pub(super) fn parse(json: &[u8]) -> Result<Self, KeySetError> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<serde_json::Value>,
        }
        let set: Set = serde_json::from_slice(json).map_err(KeySetError::Form)?;
        if set.keys.len() > MOST_KEYS {
            return Err(KeySetError::TooMany);
        }
        let count = set.keys.len();
        let keys: Vec<Key> = set.keys.into_iter().filter_map(usable).collect();
        Ok(Self { passed_over: count - keys.len(), keys })
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// How many members of the set are not for verifying tokens of ours.
    pub(super) fn passed_over(&self) -> usize {
        self.passed_over
    }

    /// The key of a token that names `id` and `algorithm`. A token that names no id has the issuer's only key of its algorithm.
    ///
    /// # Errors
    /// [`Refusal::UnknownKey`], [`Refusal::UnnamedKey`], or [`Refusal::Algorithm`] where the key is of another one.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Result<&Key, Refusal> {
        let mut named = self.keys.iter().filter(|key| id.is_none() || key.id.as_deref() == id);
        let mut fitting = named.clone().filter(|key| key.algorithm == algorithm);
        match (fitting.next(), fitting.next(), id) {
            (Some(key), None, _) | (Some(key), Some(_), Some(_)) => Ok(key),
            (Some(_), Some(_), None) => Err(Refusal::UnnamedKey),
            (None, _, Some(_)) if named.next().is_some() => Err(Refusal::Algorithm),
            (None, _, _) => Err(Refusal::UnknownKey),
        }
    }
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The key that a member of a set describes, if it is one for verifying tokens.
fn usable(member: serde_json::Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(member).ok()?;
    let for_signatures = jwk.usage.as_deref().is_none_or(|usage| usage == "sig")
        && jwk.key_ops.as_ref().is_none_or(|all| all.iter().any(|operation| operation == "verify"));
    let bytes = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
    let fixed = |text: &Option<String>| bytes(text).filter(|bytes| bytes.len() == 32);
    let (algorithm, material) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => {
            let number = |text| bytes(text).map(|bytes| bytes.into_iter().skip_while(|byte| *byte == 0).collect());
            let (n, e): (Vec<u8>, Vec<u8>) = (number(&jwk.n)?, number(&jwk.e)?);
            (Algorithm::Rs256, Material::Rsa { n: Some(n).filter(|n| RSA_BYTES.contains(&n.len()))?, e })
        }
        ("EC", Some("P-256")) => {
            let point = [vec![4], fixed(&jwk.x)?, fixed(&jwk.y)?].concat();
            (Algorithm::Es256, Material::Bytes(point))
        }
        ("OKP", Some("Ed25519")) => (Algorithm::EdDsa, Material::Bytes(fixed(&jwk.x)?)),
        _ => return None,
    };
    // A key says at most that it is for the one algorithm that its type has here: an RSA key for PS256 does not verify RS256.
    let fits = jwk.alg.as_deref().is_none_or(|alg| Algorithm::of(alg) == Some(algorithm));
    (for_signatures && fits).then_some(Key { id: jwk.kid, algorithm, material })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the RFCs publish: a key, a token, and how it is signed.
    const PUBLISHED: [(&str, Algorithm, &str); 3] = [
        // RFC 7515, appendix A.2
        (
            r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#,
            Algorithm::Rs256,
            "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        ),
        // RFC 7515, appendix A.3
        (
            r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
            Algorithm::Es256,
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
        // RFC 8037, appendix A.4
        (
            r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            Algorithm::EdDsa,
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
    ];

    #[test]
    fn the_tokens_that_the_rfcs_publish_verify_with_their_keys_and_no_other() {
        let sets = PUBLISHED.map(|(key, ..)| KeySet::parse(format!("{{\"keys\":[{key}]}}").as_bytes()).unwrap());
        for (at, (_, algorithm, token)) in PUBLISHED.iter().enumerate() {
            let (signed, signature) = token.rsplit_once('.').unwrap();
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            for (key, set) in sets.iter().enumerate() {
                assert_eq!(set.keys[0].verify(signed.as_bytes(), &signature), key == at, "token {at}, key {key}");
                let found = set.find(None, *algorithm);
                assert_eq!(found.is_ok(), key == at, "token {at}, key {key}: {found:?}");
            }
            let mut bent = signature.clone();
            bent[7] ^= 1;
            assert!(!sets[at].keys[0].verify(signed.as_bytes(), &bent));
            assert!(!sets[at].keys[0].verify(&signed.as_bytes()[1..], &signature));
        }
    }
}
