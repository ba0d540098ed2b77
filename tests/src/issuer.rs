//! An issuer of tokens, scripted: it has keys, publishes what a test says, counts who asks, and signs whatever it is given.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair as RsaKeyPair, KeyPairComponents, PublicKeyComponents};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

mod rfc7515;

/// Where an issuer describes itself.
pub const DISCOVERY: &str = "/.well-known/openid-configuration";

/// Where ours has its keys.
pub const KEYS: &str = "/keys";

/// A way to sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// RSA with SHA-256.
    Rs256,
    /// ECDSA on P-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rs256, Self::Es256, Self::EdDsa];

    /// As a token's header names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }
}

/// A key of an issuer, private half and public.
#[derive(Clone)]
pub struct Signer {
    /// How it signs.
    pub method: Method,
    /// Its id.
    pub kid: String,
    /// What is published of it.
    pub jwk: Value,
    key: Arc<Secret>,
}

fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// How a key signs.
enum Secret {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Secret {
    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).expect("a signature");
                signature
            }
            Self::Ec(pair) => pair.sign(&random, message).expect("a signature").as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }
}

fn rsa_pair() -> RsaKeyPair {
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("base64url");
    let components = KeyPairComponents {
        public_key: PublicKeyComponents { n: bytes(rfc7515::N), e: bytes(rfc7515::E) },
        d: bytes(rfc7515::D),
        p: bytes(rfc7515::P),
        q: bytes(rfc7515::Q),
        dP: bytes(rfc7515::DP),
        dQ: bytes(rfc7515::DQ),
        qInv: bytes(rfc7515::QINV),
    };
    RsaKeyPair::from_components(&components).expect("an RSA key")
}

impl Signer {
    /// A new key; for RSA it is always the same one.
    #[must_use]
    pub fn new(method: Method, kid: &str) -> Self {
        let random = SystemRandom::new();
        let (key, mut jwk) = match method {
            Method::Rs256 => {
                let jwk = json!({"kty": "RSA", "n": rfc7515::N, "e": rfc7515::E});
                (Secret::Rsa(rsa_pair()), jwk)
            }
            Method::Es256 => {
                let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
                let pair =
                    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.as_ref(), &random).expect("a key");
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                let jwk = json!({"kty": "EC", "crv": "P-256", "x": base64url(x), "y": base64url(y)});
                (Secret::Ec(pair), jwk)
            }
            Method::EdDsa => {
                let der = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
                let pair = Ed25519KeyPair::from_pkcs8(der.as_ref()).expect("a key");
                let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": base64url(pair.public_key().as_ref())});
                (Secret::Ed(pair), jwk)
            }
        };
        jwk["kid"] = kid.into();
        jwk["use"] = "sig".into();
        jwk["alg"] = method.name().into();
        Self { method, kid: kid.to_owned(), jwk, key: Arc::new(key) }
    }

    /// The header that an issuer would write.
    #[must_use]
    pub fn header(&self) -> Value {
        json!({"alg": self.method.name(), "kid": self.kid, "typ": "JWT"})
    }

    /// A token of these claims.
    #[must_use]
    pub fn token(&self, claims: &Value) -> String {
        self.sign(&self.header(), claims.to_string().as_bytes())
    }

    /// A token of any header and payload, signed with this key in its own way, whatever the header says.
    #[must_use]
    pub fn sign(&self, header: &Value, payload: &[u8]) -> String {
        let signed = format!("{}.{}", base64url(header.to_string().as_bytes()), base64url(payload));
        format!("{signed}.{}", base64url(&self.key.sign(signed.as_bytes())))
    }
}

/// A token with a signature of one's own making.
#[must_use]
pub fn forged(header: &Value, claims: &Value, signature: &[u8]) -> String {
    let parts = [header, claims].map(|part| base64url(part.to_string().as_bytes()));
    format!("{}.{}", parts.join("."), base64url(signature))
}

/// A token signed with a shared secret, as HS256.
#[must_use]
pub fn symmetric(kid: &str, claims: &Value, secret: &[u8]) -> String {
    let header = json!({"alg": "HS256", "kid": kid, "typ": "JWT"});
    let signed = [&header, claims].map(|part| base64url(part.to_string().as_bytes())).join(".");
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
    format!("{signed}.{}", base64url(signature.as_ref()))
}

/// Seconds since 1970, moved by some.
#[must_use]
pub fn in_seconds(seconds: i64) -> i64 {
    jiff::Timestamp::now().as_second() + seconds
}

/// What is answered at a path.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    location: Option<String>,
    body: Bytes,
}

impl Reply {
    /// A status and a body.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, location: None, body: body.into() }
    }

    /// A document.
    #[must_use]
    pub fn json(body: &Value) -> Self {
        Self::new(200, body.to_string())
    }

    /// A redirect.
    #[must_use]
    pub fn redirect(to: &str) -> Self {
        Self { status: 302, location: Some(to.to_owned()), body: Bytes::new() }
    }
}

#[derive(Default)]
struct State {
    replies: HashMap<String, Reply>,
    asked: Vec<String>,
    /// Connections are dropped as they come.
    down: bool,
    /// Requests are taken and not answered.
    silent: bool,
}

/// A running issuer. Dropping it ends it.
pub struct Issuer {
    /// What `iss` says, and AUTH_ISSUER.
    pub url: String,
    state: Arc<Mutex<State>>,
    server: JoinHandle<()>,
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Issuer {
    /// An issuer on a free port of loopback that publishes these keys.
    pub async fn start(keys: &[&Signer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address: SocketAddr = listener.local_addr().expect("an address");
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        let server = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                if !lock(&shared).down {
                    tokio::spawn(talk(stream, shared.clone()));
                }
            }
        });
        let issuer = Self { url: format!("http://{address}"), state, server };
        let described = json!({"issuer": issuer.url, "jwks_uri": format!("{}{KEYS}", issuer.url)});
        issuer.reply(DISCOVERY, Reply::json(&described));
        issuer.publish(keys);
        issuer
    }

    /// Publishes these keys instead of the last ones.
    pub fn publish(&self, keys: &[&Signer]) {
        let keys: Vec<&Value> = keys.iter().map(|key| &key.jwk).collect();
        self.reply(KEYS, Reply::json(&json!({ "keys": keys })));
    }

    /// Answers so at a path from now on.
    pub fn reply(&self, path: &str, reply: Reply) {
        lock(&self.state).replies.insert(path.to_owned(), reply);
    }

    /// Whether connections are dropped.
    pub fn set_down(&self, down: bool) {
        lock(&self.state).down = down;
    }

    /// Whether requests are left without an answer.
    pub fn set_silent(&self, silent: bool) {
        lock(&self.state).silent = silent;
    }

    /// How often a path was asked for.
    #[must_use]
    pub fn asked(&self, path: &str) -> usize {
        lock(&self.state).asked.iter().filter(|asked| *asked == path).count()
    }

    /// The claims of a token that is valid for `tenant` for some minutes, for the audience `plane`.
    #[must_use]
    pub fn claims(&self, tenant: &str) -> Value {
        json!({"iss": self.url, "aud": "plane", "exp": in_seconds(300), "iat": in_seconds(0), "tenant_id": tenant})
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn talk(stream: TcpStream, state: Arc<Mutex<State>>) {
    let service = service_fn(|request: Request<Incoming>| {
        let (reply, silent) = {
            let mut state = lock(&state);
            let path = request.uri().path().to_owned();
            let reply = state.replies.get(&path).cloned();
            state.asked.push(path);
            (reply.unwrap_or_else(|| Reply::new(404, "")), state.silent)
        };
        async move {
            if silent {
                std::future::pending::<()>().await;
            }
            let mut answer = Response::builder().status(reply.status);
            if let Some(to) = reply.location {
                answer = answer.header("location", to);
            }
            Ok::<_, Infallible>(answer.body(Full::new(reply.body)).expect("an answer"))
        }
    });
    // Errors are connections that the client has dropped.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
