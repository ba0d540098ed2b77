//! The settings of identity: who issues the tokens, for whom, and which claim names the tenant.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use clap::Args;
use http::Uri;
use thiserror::Error;

use super::{ConfigError, Span};
use crate::port;

/// The longest URL that is taken, in bytes.
const LONGEST_URL: usize = 1_024;

/// Clocks that differ by more than this are to be set, not to be put up with.
const MOST_SKEW: Span = Span::secs(300);

/// Claims that say something else than a tenant, and are checked as what they are.
const OTHER_CLAIMS: [&str; 5] = ["iss", "aud", "exp", "nbf", "iat"];

/// Whether requests need a bearer token, and what it has to say.
#[derive(Debug, Clone, Args)]
// The comments are the text of --help, where a URL stands as it is.
#[allow(rustdoc::bare_urls)]
pub struct Auth {
    /// Issuer of the bearer tokens that requests then need, such as https://login.example.com/tenants; tokens name it in iss, character by character. Its keys are found through its /.well-known/openid-configuration [default: no identity: the tenantID header is believed].
    #[arg(long, env, hide_env_values = true)]
    pub auth_issuer: Option<IssuerUrl>,

    /// With AUTH_ISSUER: whom tokens must be for (aud) [default: required with AUTH_ISSUER].
    #[arg(long, env, hide_env_values = true)]
    pub auth_audience: Option<String>,

    /// With AUTH_ISSUER: the claim that holds the tenant's id.
    #[arg(long, env, hide_env_values = true, default_value = "tenant_id")]
    pub auth_tenant_claim: String,

    /// With AUTH_ISSUER: where its keys are (a JWK set), for an issuer without discovery; of the same scheme, host and port as the issuer [default: what discovery says].
    #[arg(long, env, hide_env_values = true)]
    pub auth_jwks_url: Option<IssuerUrl>,

    /// With AUTH_ISSUER: how far the issuer's clock may be off, at most 5m.
    #[arg(long, env, hide_env_values = true, default_value = "30s")]
    pub auth_clock_skew: Span,
}

/// Identity as configured, once it has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// What `iss` must be.
    pub issuer: IssuerUrl,
    /// What `aud` must be or contain.
    pub audience: String,
    /// The claim that holds the tenant's id.
    pub tenant_claim: String,
    /// Where the keys are, when discovery is not to be asked.
    pub jwks_url: Option<IssuerUrl>,
    /// How far clocks may be apart.
    pub skew: std::time::Duration,
}

impl Auth {
    /// What requests have to prove; `None` where nothing is asked of them.
    ///
    /// # Errors
    /// A setting that is missing beside another one, or contradicts it.
    pub fn identity(&self) -> Result<Option<Identity>, ConfigError> {
        let error = |variable: &str, reason: String| Err(ConfigError::new(variable, reason));
        let Some(issuer) = self.auth_issuer.clone() else {
            // Half of the settings is more likely a template gone wrong than a wish to believe everybody.
            for (variable, is_set) in
                [("AUTH_AUDIENCE", self.auth_audience.is_some()), ("AUTH_JWKS_URL", self.auth_jwks_url.is_some())]
            {
                if is_set {
                    return error("AUTH_ISSUER", format!("must be set, since {variable} is"));
                }
            }
            return Ok(None);
        };
        if issuer.as_str().contains('?') {
            return error("AUTH_ISSUER", format!("must have no query: {issuer}"));
        }
        let audience = match self.auth_audience.clone() {
            None => return error("AUTH_AUDIENCE", "must be set, since AUTH_ISSUER is".to_owned()),
            Some(audience) if audience.trim().is_empty() => {
                return error("AUTH_AUDIENCE", "must name whom tokens are for, and is empty".to_owned());
            }
            Some(audience) => audience,
        };
        let claim = self.auth_tenant_claim.clone();
        if claim.is_empty() || OTHER_CLAIMS.contains(&claim.as_str()) {
            let reason = format!("must name the claim that holds the tenant's id, not {claim:?}");
            return error("AUTH_TENANT_CLAIM", reason);
        }
        if let Some(jwks) = &self.auth_jwks_url
            && !jwks.same_origin(&issuer)
        {
            let reason = format!("must be of the issuer's own scheme, host and port ({}), not {jwks}", issuer.origin());
            return error("AUTH_JWKS_URL", reason);
        }
        if self.auth_clock_skew > MOST_SKEW {
            return error("AUTH_CLOCK_SKEW", format!("must be at most {MOST_SKEW}, not {}", self.auth_clock_skew));
        }
        let skew = self.auth_clock_skew.get();
        Ok(Some(Identity { issuer, audience, tenant_claim: claim, jwks_url: self.auth_jwks_url.clone(), skew }))
    }

    /// Whether requests have to prove whom they speak for.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.auth_issuer.is_some()
    }
}

/// The URL of an issuer or of its keys: https, or http to this machine itself; no fragment, no user.
#[derive(Clone, PartialEq, Eq)]
pub struct IssuerUrl {
    text: String,
    origin: String,
}

/// Why a text is no [`IssuerUrl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IssuerUrlError {
    /// No URL, or one with more than scheme, host, port and path.
    #[error("it is a URL such as https://login.example.com/tenants, without fragment or user")]
    Form,
    /// http to another machine: whoever is on the way could put keys of its own in place.
    #[error("it must be https (http only for an issuer on this machine, such as http://127.0.0.1:9000)")]
    Plain,
    /// A port that nobody can call.
    #[error("its port is a number from 1 to 65535")]
    Port,
}

impl IssuerUrl {
    /// As it was written: what `iss` is compared with.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Scheme, host and port, in one spelling.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Whether both lead to the same server.
    #[must_use]
    pub fn same_origin(&self, other: &Self) -> bool {
        self.origin == other.origin
    }

    /// Where the issuer describes itself, by OpenID Connect Discovery: a slash at the end of the issuer does not count.
    #[must_use]
    pub fn discovery(&self) -> String {
        format!("{}/.well-known/openid-configuration", self.text.strip_suffix('/').unwrap_or(&self.text))
    }
}

impl FromStr for IssuerUrl {
    type Err = IssuerUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text.parse().map_err(|_| IssuerUrlError::Form)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(IssuerUrlError::Form);
        };
        let more = authority.as_str().contains('@') || text.contains('#');
        if more || text.len() > LONGEST_URL || authority.host().is_empty() {
            return Err(IssuerUrlError::Form);
        }
        if !port::is_callable(&uri) {
            return Err(IssuerUrlError::Port);
        }
        let host = authority.host().to_ascii_lowercase();
        let port = match (scheme, authority.port_u16()) {
            (_, Some(port)) => port,
            ("https", None) => 443,
            (_, None) => 80,
        };
        match scheme {
            "https" => {}
            "http" if is_loopback(&host) => {}
            "http" => return Err(IssuerUrlError::Plain),
            _ => return Err(IssuerUrlError::Form),
        }
        Ok(Self { text: text.to_owned(), origin: format!("{scheme}://{host}:{port}") })
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for IssuerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for IssuerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}
