//! An issuer of tokens for the sandbox's tenants, for `--auth`: a key made at the start, published as an issuer publishes its own.
//!
//! It gives a token to whoever asks, for any tenant of the plane: it shows how the services take identity, not how people log in.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Whom its tokens are for.
const AUDIENCE: &str = "sandbox";

/// How long a token lives, in seconds.
pub(crate) const LIFETIME: u64 = 3_600;

/// The id of its only key.
const KEY: &str = "sandbox";

/// A running issuer. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Issuer(Arc<Inner>);

struct Inner {
    url: String,
    pair: EcdsaKeyPair,
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Issuer").field(&self.0.url).finish()
    }
}

impl Issuer {
    /// Makes a key, and publishes it on a free port of 127.0.0.1 until `stopping`.
    pub(crate) async fn start(stopping: CancellationToken) -> std::io::Result<Self> {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &random)
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let described = json!({"issuer": url, "jwks_uri": format!("{url}/keys")});
        let keys = json!({"keys": [published(pair.public_key().as_ref())]});
        let app = Router::new()
            .route("/.well-known/openid-configuration", get(move || async move { Json(described) }))
            .route("/keys", get(move || async move { Json(keys) }));
        tokio::spawn(async move {
            let serving = axum::serve(listener, app).with_graceful_shutdown(stopping.cancelled_owned());
            if let Err(error) = serving.await {
                tracing::error!(%error, "the issuer ended");
            }
        });
        Ok(Self(Arc::new(Inner { url, pair })))
    }

    /// What makes a service believe it.
    pub(crate) fn arguments(&self) -> [String; 4] {
        ["--auth-issuer", &self.0.url, "--auth-audience", AUDIENCE].map(str::to_owned)
    }

    /// What a client of a tenant sends as `Authorization`.
    pub(crate) fn bearer(&self, tenant: &str) -> Option<String> {
        self.token(tenant).map(|token| format!("Bearer {token}"))
    }

    /// A token for a tenant; `None` should the system have no random numbers.
    pub(crate) fn token(&self, tenant: &str) -> Option<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let header = json!({"alg": "ES256", "kid": KEY, "typ": "JWT"});
        let claims = json!({
            "iss": self.0.url, "aud": AUDIENCE, "sub": format!("client of {tenant}"), "tenant_id": tenant,
            "iat": now, "exp": now + LIFETIME,
        });
        let signed = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signature = self.0.pair.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref())))
    }
}

/// A public key as a JWK: a point in its uncompressed form is one byte, x and y.
fn published(point: &[u8]) -> Value {
    let (x, y) = (point.get(1..33).unwrap_or_default(), point.get(33..65).unwrap_or_default());
    let [x, y] = [x, y].map(|half| URL_SAFE_NO_PAD.encode(half));
    json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": KEY, "x": x, "y": y})
}
