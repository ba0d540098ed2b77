//! What identity costs: the same load with a token that was seen before, and without any.
//!
//! The issuer is of the benchmark's own: a key that is made at the start, published as a JWK set on 127.0.0.1.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

use super::post::{Post, SILO, With};
use super::subject::Subject;
use super::{Bench, Found};
use crate::clock;
use crate::http::{self, Frame};

/// Whom tokens are for.
const AUDIENCE: &str = "bench";

/// How long a token is good, in seconds: longer than any run.
const LIFETIME: u64 = 86_400;

/// The longest request for the keys.
const MOST_BYTES: usize = 16 * 1024;

/// How long whoever asks for the keys may take over it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether requests have to prove whom they speak for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// The header is believed.
    Nothing,
    /// A bearer token, the same with every request.
    Token,
}

impl Asked {
    pub(super) const ALL: [Self; 2] = [Self::Nothing, Self::Token];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "64 connections, 100 B, no identity",
            Self::Token => "64 connections, 100 B, one token",
        }
    }
}

/// The producer at 64 connections.
pub(super) fn measure(bench: &Bench, issuer: &Issuer, asked: Asked) -> io::Result<Found> {
    let with = match asked {
        Asked::Nothing => With::default(),
        Asked::Token => With {
            settings: issuer.settings().to_vec(),
            headers: vec![("Authorization", format!("Bearer {}", issuer.token(SILO)?))],
        },
    };
    Post::small(64, 0).measure_with(bench, Subject::Producer, &with)
}

/// An issuer of tokens. It serves its keys until the process ends.
pub(super) struct Issuer {
    address: SocketAddr,
    pair: EcdsaKeyPair,
}

impl Issuer {
    pub(super) fn start() -> io::Result<Self> {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).map_err(no_random)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &random)
            .map_err(|error| io::Error::other(error.to_string()))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let keys = key_set(pair.public_key().as_ref());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Whoever breaks off here asks again.
                let _ = publish(stream, &keys);
            }
        });
        Ok(Self { address, pair })
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What makes a service believe it.
    fn settings(&self) -> [(&'static str, String); 3] {
        [
            ("AUTH_ISSUER", self.url()),
            ("AUTH_AUDIENCE", AUDIENCE.to_owned()),
            ("AUTH_JWKS_URL", format!("{}/keys", self.url())),
        ]
    }

    /// A token for a tenant, about as long as those of the large issuers.
    fn token(&self, tenant: &str) -> io::Result<String> {
        let now = clock::epoch_millis() / 1_000;
        let header = json!({"alg": "ES256", "kid": AUDIENCE, "typ": "at+jwt"});
        let claims = json!({
            "iss": self.url(), "aud": [AUDIENCE, format!("{}/userinfo", self.url())], "tenant_id": tenant,
            "sub": "auth|5f7c8ec7c33c6c004bbafe82", "azp": "my-client-of-the-events-interface",
            "scope": "openid profile email events:write events:read payments:write payments:read",
            "jti": "0c2c5d8e-6c5c-4f5b-9d3a-2f8a6e0b7c11", "iat": now, "nbf": now, "exp": now + LIFETIME,
        });
        let signed = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).map_err(no_random)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref())))
    }
}

fn no_random(_: ring::error::Unspecified) -> io::Error {
    io::Error::other("the system gives no random numbers")
}

/// A public key as a JWK set: a point in its uncompressed form is one byte, x and y.
fn key_set(point: &[u8]) -> String {
    let [x, y] = [1..33, 33..65].map(|half| URL_SAFE_NO_PAD.encode(point.get(half).unwrap_or_default()));
    let key = json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": AUDIENCE, "x": x, "y": y});
    json!({"keys": [key]}).to_string()
}

/// Answers one request with the keys, whatever its path.
fn publish(mut stream: TcpStream, keys: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut room = [0; 1_024];
    while matches!(http::request(&request), Frame::More) && request.len() < MOST_BYTES {
        match stream.read(&mut room)? {
            0 => return Ok(()),
            count => request.extend_from_slice(room.get(..count).unwrap_or_default()),
        }
    }
    let length = keys.len();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
    stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n{keys}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    #[test]
    fn its_keys_can_be_fetched_and_verify_its_tokens() {
        let issuer = Issuer::start().unwrap();
        let (status, body) = http::call(issuer.address, "GET", "/keys", "").unwrap();
        assert_eq!(status, 200);
        let keys: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let half = |name: &str| URL_SAFE_NO_PAD.decode(keys["keys"][0][name].as_str().unwrap()).unwrap();
        let point = [vec![4], half("x"), half("y")].concat();
        let token = issuer.token("silo").unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        key.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        let claims = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!((&claims["tenant_id"], &claims["iss"]), (&json!("silo"), &json!(issuer.url())));
    }
}
