//! Tokens, one by one.

use serde_json::{Value, json};
use tests::inside::problem;
use tests::issuer::{Issuer, Method, Signer, forged, in_seconds, symmetric};
use tests::scripted::Op;

use super::{Plane, producer, refused};

/// Claims with one changed, or left out when the value is null.
fn with(claims: &Value, name: &str, value: Value) -> Value {
    let mut claims = claims.clone();
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value,
    }
    claims
}

#[tokio::test]
async fn a_token_of_each_kind_speaks_for_its_tenant_with_the_header_and_without() {
    let keys = Method::ALL.map(|method| Signer::new(method, method.name()));
    let plane = Plane::start(&keys.iter().collect::<Vec<_>>()).await;
    for key in &keys {
        let token = key.token(&plane.issuer.claims("acme"));
        for tenant in [Some("acme"), None] {
            let answer = plane.post(&token, tenant).await;
            assert_eq!(
                (answer.status.as_u16(), &answer.json()["tenant_id"]),
                (200, &json!("acme")),
                "{}",
                answer.text()
            );
        }
    }
    assert_eq!(plane.aws.messages("consumer-acme").len(), 6);
}

#[tokio::test]
async fn a_token_for_another_tenant_is_403_and_names_nobody() {
    let key = Signer::new(Method::Es256, "1");
    let plane = Plane::start(&[&key]).await;
    let token = key.token(&plane.issuer.claims("globex"));
    let answer = plane.post(&token, Some("acme")).await;
    let why = "the token is for another tenant than the tenantID header names";
    assert_eq!(problem(&answer, 403, "token-tenant"), why);
    assert!(answer.header("www-authenticate").contains("error=\"insufficient_scope\""));
    assert!(!answer.text().contains("globex"), "{}", answer.text());
    // Its own tenant is not served here, as ever.
    problem(&plane.post(&token, None).await, 403, "tenant-not-served");
    for claim in
        [Value::Null, json!(["acme"]), json!(1), json!("Acme"), json!("../acme"), json!("acme,globex"), json!("")]
    {
        let token = key.token(&with(&plane.issuer.claims("acme"), "tenant_id", claim.clone()));
        for tenant in [Some("acme"), None] {
            let answer = plane.post(&token, tenant).await;
            assert_eq!(problem(&answer, 403, "token-tenant"), "the token names no tenant", "{claim}");
        }
    }
    assert_eq!(plane.aws.count(Op::SendMessageBatch), 0);
}

#[tokio::test]
async fn without_a_token_it_is_401_and_the_answer_says_what_is_needed() {
    let key = Signer::new(Method::Es256, "1");
    let plane = Plane::start(&[&key]).await;
    let url = plane.service.url("/producer");
    for authorization in [None, Some("Basic YWNtZTphY21l"), Some("Token x"), Some("Bearer-x y"), Some("")] {
        let mut headers = vec![("tenantID", "acme")];
        headers.extend(authorization.map(|value| ("authorization", value)));
        let answer = plane.service.http.post(&url, &headers, "{}").await;
        let detail = problem(&answer, 401, "token-missing");
        assert_eq!(detail, "send the header Authorization: Bearer TOKEN", "{authorization:?}");
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"tenant-plane\"");
    }
    let token = format!("bEaReR  {} ", key.token(&plane.issuer.claims("acme")));
    assert_eq!(plane.service.http.post(&url, &[("Authorization", &token)], "{}").await.status, 200);
    let both = [("tenantID", "acme"), ("authorization", token.as_str()), ("authorization", token.as_str())];
    let answer = plane.service.http.post(&url, &both, "{}").await;
    assert_eq!(problem(&answer, 400, "parameter"), "send exactly one Authorization header");
}

#[tokio::test]
async fn what_is_no_signed_token_is_refused() {
    let key = Signer::new(Method::Es256, "1");
    let plane = Plane::start(&[&key]).await;
    let claims = plane.issuer.claims("acme");
    let good = key.token(&claims);
    let parts: Vec<&str> = good.split('.').collect();
    for token in [
        String::new(),
        "x".to_owned(),
        "..".to_owned(),
        "a.b.c.d".to_owned(),
        parts[..2].join("."),
        format!("{good}."),
        format!("{good}="),
        format!("{good}, {good}"),
        format!("{good} {good}"),
        good.replace('.', ".."),
        format!("{}.{}.{}", parts[0], parts[1], "!"),
        forged(&json!("not an object"), &claims, b"x"),
        forged(&json!({"kid": "1"}), &claims, b"x"),
        forged(&json!({"alg": ["ES256"]}), &claims, b"x"),
    ] {
        refused(&plane.post(&token, Some("acme")).await, "the token is not a signed JWT");
    }
    let none = "the token is not signed with RS256, ES256 or EdDSA, as its key asks for";
    for alg in ["none", "None", "NONE", "nOnE", "", "HS256", "HS512", "RS512", "PS256", "ES384", "ES256K", "rs256"] {
        for signature in [&b""[..], b"x"] {
            let token = forged(&json!({"alg": alg, "kid": "1", "typ": "JWT"}), &claims, signature);
            refused(&plane.post(&token, Some("acme")).await, none);
        }
    }
    assert_eq!(plane.aws.count(Op::SendMessageBatch), 0);
}

#[tokio::test]
async fn an_algorithm_belongs_to_the_key_and_is_not_the_token_s_to_choose() {
    let (rsa, ec) = (Signer::new(Method::Rs256, "rsa"), Signer::new(Method::Es256, "ec"));
    let plane = Plane::start(&[&rsa, &ec]).await;
    let claims = plane.issuer.claims("acme");
    let why = "the token is not signed with RS256, ES256 or EdDSA, as its key asks for";
    // The public key is public: as a shared secret it would let everybody sign.
    for secret in [rsa.jwk["n"].as_str().unwrap().as_bytes(), rsa.jwk.to_string().as_bytes()] {
        refused(&plane.post(&symmetric("rsa", &claims, secret), Some("acme")).await, why);
    }
    // Signed with the EC key in the RSA key's name, and the other way about.
    let token = ec.sign(&json!({"alg": "ES256", "kid": "rsa"}), claims.to_string().as_bytes());
    refused(&plane.post(&token, Some("acme")).await, why);
    let token = ec.sign(&json!({"alg": "RS256", "kid": "rsa"}), claims.to_string().as_bytes());
    refused(&plane.post(&token, Some("acme")).await, "the signature of the token is not valid");
}

#[tokio::test]
async fn a_signature_of_another_key_or_over_other_claims_is_refused() {
    for method in Method::ALL {
        let key = Signer::new(method, "1");
        let plane = Plane::start(&[&key]).await;
        let good = key.token(&plane.issuer.claims("acme"));
        assert_eq!(plane.post(&good, None).await.status, 200);
        let parts: Vec<&str> = good.split('.').collect();
        let other = key.token(&plane.issuer.claims("globex"));
        let swapped = format!("{}.{}.{}", parts[0], other.split('.').nth(1).unwrap(), parts[2]);
        let why = "the signature of the token is not valid";
        refused(&plane.post(&swapped, None).await, why);
        refused(&plane.post(&format!("{}.{}.", parts[0], parts[1]), None).await, why);
        refused(&plane.post(&forged(&key.header(), &plane.issuer.claims("acme"), &[0; 64]), None).await, why);
        if method != Method::Rs256 {
            let thief = Signer::new(method, "1");
            refused(&plane.post(&thief.token(&plane.issuer.claims("acme")), None).await, why);
        }
    }
}

#[tokio::test]
async fn keys_that_a_token_brings_along_are_not_looked_at() {
    let (key, thief) = (Signer::new(Method::Es256, "1"), Signer::new(Method::Es256, "thief"));
    let plane = Plane::start(&[&key]).await;
    let other = Issuer::start(&[&thief]).await;
    let claims = plane.issuer.claims("acme").to_string();
    let keys = format!("{}/keys", other.url);
    let header = json!({"alg": "ES256", "kid": "thief", "jwk": thief.jwk, "jku": keys, "x5u": keys});
    let answer = plane.post(&thief.sign(&header, claims.as_bytes()), None).await;
    refused(&answer, "the token is signed with a key that the issuer does not publish");
    assert_eq!(other.asked("/keys"), 0);
}

#[tokio::test]
async fn extensions_and_other_kinds_of_tokens_are_refused() {
    let key = Signer::new(Method::EdDsa, "1");
    let plane = Plane::start(&[&key]).await;
    let claims = plane.issuer.claims("acme").to_string();
    let with = |name: &str, value: Value| {
        let mut header = key.header();
        header[name] = value;
        key.sign(&header, claims.as_bytes())
    };
    for crit in [json!(["b64"]), json!([]), Value::Null, json!("exp")] {
        let why = "the token has a crit header, and its extensions are not known here";
        refused(&plane.post(&with("crit", crit), None).await, why);
    }
    for typ in ["logout+jwt", "dpop+jwt", "JWE", "application/secevent+jwt", ""] {
        refused(
            &plane.post(&with("typ", typ.into()), None).await,
            "the token is neither an access token nor an ID token",
        );
    }
    for typ in ["JWT", "jwt", "at+jwt", "application/at+JWT"] {
        assert_eq!(plane.post(&with("typ", typ.into()), None).await.status, 200, "{typ}");
    }
}

#[tokio::test]
async fn issuer_and_audience_are_compared_whole() {
    let key = Signer::new(Method::Es256, "1");
    let plane = Plane::start(&[&key]).await;
    let claims = plane.issuer.claims("acme");
    let url = plane.issuer.url.clone();
    for iss in [Value::Null, json!("https://evil.example"), json!(format!("{url}/")), json!(url.to_uppercase())] {
        let token = key.token(&with(&claims, "iss", iss));
        refused(&plane.post(&token, None).await, "the token is from another issuer");
    }
    for aud in [Value::Null, json!("other"), json!(["other", "plan"]), json!([]), json!("plane "), json!("Plane")] {
        let token = key.token(&with(&claims, "aud", aud));
        refused(&plane.post(&token, None).await, "the token is for another audience");
    }
    for aud in [json!("plane"), json!(["plane"]), json!(["other", "plane"])] {
        assert_eq!(plane.status(&key, &with(&claims, "aud", aud)).await, 200);
    }
}

#[tokio::test]
async fn a_token_has_its_time_and_clocks_may_differ_by_thirty_seconds() {
    let key = Signer::new(Method::Es256, "1");
    let plane = Plane::start(&[&key]).await;
    let claims = plane.issuer.claims("acme");
    let token = |name: &str, value: Value| key.token(&with(&claims, name, value));
    refused(&plane.post(&token("exp", Value::Null), None).await, "the token has no expiry");
    for exp in [in_seconds(-31), in_seconds(-3_600), 0, -1] {
        refused(&plane.post(&token("exp", exp.into()), None).await, "the token has expired");
    }
    for name in ["nbf", "iat"] {
        refused(&plane.post(&token(name, in_seconds(60).into()), None).await, "the token is not valid yet");
        assert_eq!(plane.status(&key, &with(&claims, name, in_seconds(15).into())).await, 200);
    }
    assert_eq!(plane.status(&key, &with(&claims, "exp", in_seconds(-5).into())).await, 200);
    assert_eq!(plane.status(&key, &with(&claims, "exp", json!(in_seconds(60) as f64 + 0.5))).await, 200);
}

#[tokio::test]
async fn a_token_that_was_accepted_is_refused_once_it_has_expired() {
    let key = Signer::new(Method::Es256, "1");
    let (aws, issuer) = (tests::inside::aws_with("acme"), Issuer::start(&[&key]).await);
    let service = producer(&aws, &issuer, &["--auth-clock-skew", "0"]).await;
    service.becomes_ready().await;
    let (expiry, token) = loop {
        let expiry = in_seconds(4);
        let token = format!("Bearer {}", key.token(&with(&issuer.claims("acme"), "exp", expiry.into())));
        let answer = service.get("/producer", &[("authorization", token.as_str())]).await;
        if answer.status == 200 {
            break (expiry, token);
        }
        // On a machine that stood still meanwhile; another one then.
        assert!(in_seconds(0) >= expiry, "{}", answer.text());
    };
    let headers = [("authorization", token.as_str())];
    while in_seconds(0) < expiry {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    refused(&service.get("/producer", &headers).await, "the token has expired");
}

#[tokio::test]
async fn claims_that_can_be_read_in_two_ways_are_refused() {
    let key = Signer::new(Method::Es256, "1");
    let plane = Plane::start(&[&key]).await;
    let claims = plane.issuer.claims("acme").to_string();
    let twice = claims.replacen('{', "{\"tenant_id\":\"globex\",", 1);
    let late = claims.replacen("\"exp\":", "\"exp\":9e999,\"x\":", 1);
    let text = claims.replacen("\"exp\":", "\"exp\":\"soon\",\"x\":", 1);
    for payload in [twice.as_str(), &late, &text, "[]", "null", "", "{", &format!("{claims} x"), "{\"exp\":null}"] {
        let token = key.sign(&key.header(), payload.as_bytes());
        refused(&plane.post(&token, Some("acme")).await, "the claims of the token cannot be read");
    }
}

#[tokio::test]
async fn a_token_has_at_most_8192_bytes() {
    let key = Signer::new(Method::EdDsa, "1");
    let plane = Plane::start(&[&key]).await;
    let padded = |bytes: usize| key.token(&with(&plane.issuer.claims("acme"), "groups", "x".repeat(bytes).into()));
    let (good, long) = (padded(5_500), padded(6_100));
    assert!(good.len() <= 8_192 && long.len() > 8_192, "{} {}", good.len(), long.len());
    assert_eq!(plane.post(&good, None).await.status, 200);
    refused(&plane.post(&long, None).await, "the token has more than 8192 bytes");
    // The longest that a head carries at all; beyond that nobody reads as far as the token.
    refused(&plane.post(&"x".repeat(16_000), None).await, "the token has more than 8192 bytes");
    assert_eq!(plane.post(&"x".repeat(16_385), None).await.status, 431);
}
