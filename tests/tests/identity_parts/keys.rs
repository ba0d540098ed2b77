//! The issuer's keys: rotated, withdrawn, out of reach, and asked for by a flood.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::http::Answer;
use tests::inside::{aws_with, problem};
use tests::issuer::{DISCOVERY, Issuer, KEYS, Method, Reply, Signer};

use super::{Plane, producer, refused};

const UNKNOWN: &str = "the token is signed with a key that the issuer does not publish";
const FORGED: &str = "the signature of the token is not valid";

/// Asserts that nobody claims to know what the token is worth.
#[track_caller]
fn undecided(answer: &Answer) {
    problem(answer, 503, "unavailable");
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn a_new_key_is_accepted_with_its_first_token_and_a_withdrawn_one_no_more() {
    let (old, new) = (Signer::new(Method::Es256, "2026-11"), Signer::new(Method::EdDsa, "2026-12"));
    let plane = Plane::start(&[&old]).await;
    let of_old = old.token(&plane.issuer.claims("acme"));
    assert_eq!(plane.post(&of_old, None).await.status, 200);
    plane.issuer.publish(&[&new]);
    // Believed until the keys are read again, minutes later at most, or now, since a token names the new one.
    assert_eq!(plane.post(&of_old, None).await.status, 200);
    assert_eq!(plane.post(&new.token(&plane.issuer.claims("acme")), None).await.status, 200);
    refused(&plane.post(&of_old, None).await, UNKNOWN);
}

#[tokio::test]
async fn while_the_issuer_is_out_of_reach_its_last_keys_stay() {
    let (key, new) = (Signer::new(Method::Es256, "1"), Signer::new(Method::Es256, "2"));
    let plane = Plane::start(&[&key]).await;
    plane.issuer.publish(&[&new]);
    let fresh = || key.token(&plane.issuer.claims("acme"));
    for reply in [Reply::new(500, ""), Reply::new(200, "<html>")] {
        plane.issuer.reply(KEYS, reply);
        undecided(&plane.post(&new.token(&plane.issuer.claims("acme")), None).await);
        assert_eq!(plane.post(&fresh(), None).await.status, 200);
    }
    plane.issuer.set_down(true);
    // More than may cause a fetch: what is not asked for anew is not known either.
    for _ in 0..4 {
        undecided(&plane.post(&new.token(&plane.issuer.claims("acme")), None).await);
    }
    assert_eq!(plane.post(&fresh(), None).await.status, 200);
    // A signature that is not the known key's is still not.
    let forged = Signer::new(Method::Es256, "1").token(&plane.issuer.claims("acme"));
    refused(&plane.post(&forged, None).await, FORGED);
}

#[tokio::test]
async fn an_issuer_that_withdraws_all_its_keys_is_believed_also_of_tokens_that_were_seen() {
    let (old, new) = (Signer::new(Method::Es256, "1"), Signer::new(Method::EdDsa, "2"));
    let plane = Plane::start(&[&old]).await;
    let seen = old.token(&plane.issuer.claims("acme"));
    assert_eq!(plane.post(&seen, None).await.status, 200);
    plane.issuer.publish(&[]);
    refused(&plane.post(&new.token(&plane.issuer.claims("acme")), None).await, UNKNOWN);
    refused(&plane.post(&seen, None).await, UNKNOWN);
    plane.issuer.publish(&[&new]);
    // Without keys they are read again and again: what was said just before may be on its way still.
    let began = Instant::now();
    loop {
        let answer = plane.post(&new.token(&plane.issuer.claims("acme")), None).await;
        if answer.status == 200 {
            break;
        }
        refused(&answer, UNKNOWN);
        assert!(began.elapsed() < Duration::from_secs(30), "the new key is not believed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for token in [seen, old.token(&plane.issuer.claims("acme"))] {
        refused(&plane.post(&token, None).await, UNKNOWN);
    }
}

#[tokio::test]
async fn a_key_that_is_replaced_under_its_id_counts_from_the_first_token_that_the_new_one_signs() {
    let keys = [Method::Es256, Method::Es256, Method::EdDsa].map(|method| Signer::new(method, "1"));
    let plane = Plane::start(&[&keys[0]]).await;
    let tokens = [0, 1, 2].map(|at| keys[at].token(&plane.issuer.claims("acme")));
    assert_eq!(plane.post(&tokens[0], None).await.status, 200);
    for at in [1, 2] {
        plane.issuer.publish(&[&keys[at]]);
        assert_eq!(plane.post(&tokens[at], None).await.status, 200, "key {at}");
    }
    let why = "the token is not signed with RS256, ES256 or EdDSA, as its key asks for";
    refused(&plane.post(&tokens[0], None).await, why);
}

#[tokio::test]
async fn nobody_waits_for_the_issuer_s_keys_longer_than_a_request_may_take() {
    let key = Signer::new(Method::Es256, "1");
    let (aws, issuer) = (aws_with("acme"), Issuer::start(&[&key]).await);
    let service = producer(&aws, &issuer, &["--request-timeout", "200ms"]).await;
    service.becomes_ready().await;
    issuer.set_silent(true);
    let token = format!("Bearer {}", Signer::new(Method::Es256, "2").token(&issuer.claims("acme")));
    let began = Instant::now();
    undecided(&service.get("/producer", &[("authorization", &token)]).await);
    // A document of the issuer's alone is waited for for 4 s.
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_unknown_keys_and_of_forged_signatures_causes_a_handful_of_fetches() {
    let key = Signer::new(Method::Es256, "1");
    let plane = Plane::start(&[&key]).await;
    let before = plane.issuer.asked(KEYS);
    let began = Instant::now();
    let mut flood = tokio::task::JoinSet::new();
    for client in 0..20 {
        let (http, url) = (plane.service.http.clone(), plane.service.url("/producer"));
        let mut forger = Signer::new(Method::Es256, "x");
        let claims = plane.issuer.claims("acme");
        flood.spawn(async move {
            for n in 0..50 {
                let (kid, why) = if n % 2 == 0 { (format!("{client}-{n}"), UNKNOWN) } else { ("1".to_owned(), FORGED) };
                forger.kid = kid;
                let token = format!("Bearer {}", forger.token(&claims));
                refused(&http.post(&url, &[("authorization", &token)], "{}").await, why);
            }
        });
    }
    flood.join_all().await;
    let fetches = plane.issuer.asked(KEYS) - before;
    let allowed = 3 + usize::try_from(began.elapsed().as_secs() / 10).unwrap() + 1;
    assert!((1..=allowed).contains(&fetches), "{fetches} fetches for 1,000 forged tokens in {:?}", began.elapsed());
    assert_eq!(plane.post(&key.token(&plane.issuer.claims("acme")), None).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_while_the_issuer_is_silent_is_told_to_come_back_and_tokens_of_known_keys_are_served() {
    let key = Signer::new(Method::Es256, "1");
    let plane = Plane::start(&[&key]).await;
    plane.issuer.set_silent(true);
    let mut flood = tokio::task::JoinSet::new();
    for client in 0..100 {
        let (http, url) = (plane.service.http.clone(), plane.service.url("/producer"));
        let forger = Signer::new(Method::EdDsa, &format!("forged-{client}"));
        let token = format!("Bearer {}", forger.token(&plane.issuer.claims("acme")));
        flood.spawn(async move { http.post(&url, &[("authorization", &token)], "{}").await });
    }
    assert_eq!(plane.post(&key.token(&plane.issuer.claims("acme")), None).await.status, 200);
    for answer in flood.join_all().await {
        undecided(&answer);
    }
}

#[tokio::test]
async fn until_the_keys_are_known_it_is_not_ready_and_tokens_are_503() {
    let key = Signer::new(Method::Es256, "1");
    let (aws, issuer) = (aws_with("acme"), Issuer::start(&[&key]).await);
    issuer.set_down(true);
    let service = producer(&aws, &issuer, &[]).await;
    let token = format!("Bearer {}", key.token(&issuer.claims("acme")));
    let answer = service.get("/producer", &[("authorization", &token)]).await;
    undecided(&answer);
    assert_eq!(service.get("/producer/readiness-probe", &[]).await.status, 503);
    assert_eq!(service.get("/producer", &[]).await.status, 200);
    issuer.set_down(false);
    service.becomes_ready().await;
    assert_eq!(service.get("/producer", &[("authorization", &token)]).await.status, 200);
}

#[tokio::test]
async fn keys_come_from_the_issuer_s_own_origin_or_not_at_all() {
    let (key, thief) = (Signer::new(Method::Es256, "1"), Signer::new(Method::Es256, "1"));
    let plane = Plane::start(&[&key]).await;
    let other = Issuer::start(&[&thief]).await;
    let (own, elsewhere) = (format!("{}{KEYS}", plane.issuer.url), format!("{}{KEYS}", other.url));
    let host = plane.issuer.url.trim_start_matches("http://").to_owned();
    let described = |issuer: &str, keys: &str| Reply::json(&json!({"issuer": issuer, "jwks_uri": keys}));
    let stranger = || {
        let signer = Signer::new(Method::EdDsa, "stranger");
        signer.token(&plane.issuer.claims("acme"))
    };
    for (path, reply) in [
        (DISCOVERY, described(&plane.issuer.url, &elsewhere)),
        (
            DISCOVERY,
            described(&plane.issuer.url, &format!("http://{host}@{}{KEYS}", other.url.trim_start_matches("http://"))),
        ),
        (DISCOVERY, described(&other.url, &own)),
        (DISCOVERY, described(&plane.issuer.url, "/keys")),
        (DISCOVERY, Reply::redirect(&format!("{}{DISCOVERY}", other.url))),
        (KEYS, Reply::redirect(&elsewhere)),
    ] {
        plane.issuer.reply(DISCOVERY, described(&plane.issuer.url, &own));
        plane.issuer.publish(&[&key]);
        plane.issuer.reply(path, reply);
        let service = producer(&plane.aws, &plane.issuer, &[]).await;
        let asked = plane.issuer.asked(path);
        while plane.issuer.asked(path) < asked + 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let token = format!("Bearer {}", stranger());
        problem(&service.get("/producer", &[("authorization", &token)]).await, 503, "unavailable");
        // What it asks for is not to count for the next one.
        assert!(service.stop().await);
    }
    assert_eq!((other.asked(KEYS), other.asked(DISCOVERY)), (0, 0));
}

#[tokio::test]
async fn an_issuer_without_discovery_has_its_keys_at_a_url_of_its_own() {
    let key = Signer::new(Method::Rs256, "1");
    let (aws, issuer) = (aws_with("acme"), Issuer::start(&[&key]).await);
    issuer.reply(DISCOVERY, Reply::new(404, ""));
    let keys = format!("{}{KEYS}", issuer.url);
    let service = producer(&aws, &issuer, &["--auth-jwks-url", &keys]).await;
    service.becomes_ready().await;
    let token = format!("Bearer {}", key.token(&issuer.claims("acme")));
    assert_eq!(service.get("/producer", &[("authorization", &token)]).await.status, 200);
    assert_eq!(issuer.asked(DISCOVERY), 0);
}

#[tokio::test]
async fn a_key_set_that_is_too_large_changes_nothing() {
    let key = Signer::new(Method::Es256, "1");
    let plane = Plane::start(&[&key]).await;
    let fresh = Signer::new(Method::Es256, "2");
    let padding = "x".repeat(300 * 1024);
    plane.issuer.reply(KEYS, Reply::json(&json!({"keys": [fresh.jwk], "padding": padding})));
    undecided(&plane.post(&fresh.token(&plane.issuer.claims("acme")), None).await);
    let many: Vec<&Value> = std::iter::repeat_n(&fresh.jwk, 101).collect();
    plane.issuer.reply(KEYS, Reply::json(&json!({ "keys": many })));
    undecided(&plane.post(&fresh.token(&plane.issuer.claims("acme")), None).await);
    assert_eq!(plane.post(&key.token(&plane.issuer.claims("acme")), None).await.status, 200);
}

#[tokio::test]
async fn keys_that_are_not_for_verifying_our_tokens_are_passed_over() {
    let good = Signer::new(Method::EdDsa, "good");
    let change = |name: &str, value: Value| {
        let mut key = Signer::new(Method::Es256, name);
        key.jwk[name] = value;
        key
    };
    let mut private = Signer::new(Method::Es256, "kty");
    private.jwk["kty"] = "oct".into();
    let unfit = [
        change("use", "enc".into()),
        change("alg", "ES384".into()),
        change("alg", "HS256".into()),
        change("key_ops", json!(["sign"])),
        change("crv", "P-384".into()),
        change("x", "AAAA".into()),
        change("y", "not base64url!".into()),
        change("x", json!(1)),
        private,
    ];
    let mut all: Vec<&Signer> = unfit.iter().collect();
    all.push(&good);
    let plane = Plane::start(&all).await;
    assert_eq!(plane.post(&good.token(&plane.issuer.claims("acme")), None).await.status, 200);
    for key in &unfit {
        refused(&plane.post(&key.token(&plane.issuer.claims("acme")), None).await, UNKNOWN);
    }
}

#[tokio::test]
async fn a_token_without_a_key_id_is_of_the_only_key_of_its_algorithm() {
    let (one, two, other) =
        (Signer::new(Method::Es256, "1"), Signer::new(Method::Es256, "2"), Signer::new(Method::EdDsa, "3"));
    let anonymous = |key: &Signer, plane: &Plane| {
        let header = json!({"alg": key.method.name()});
        key.sign(&header, plane.issuer.claims("acme").to_string().as_bytes())
    };
    let plane = Plane::start(&[&one, &other]).await;
    assert_eq!(plane.post(&anonymous(&one, &plane), None).await.status, 200);
    assert_eq!(plane.post(&anonymous(&other, &plane), None).await.status, 200);
    let plane = Plane::start(&[&one, &two]).await;
    let why = "the token names no key (kid) and the issuer has several";
    refused(&plane.post(&anonymous(&one, &plane), None).await, why);
}
