//! The routes that services have and the routes that their OpenAPI documents tell of are the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tenancy::aws::{Clients, Connect};
use tenancy::config::{Parsed, Settings, parse};
use tenancy::server::App;
use tower::ServiceExt;

/// Methods by path.
type Routes = BTreeMap<String, BTreeSet<String>>;

/// Clients for an AWS that is never called.
fn clients() -> Clients {
    Connect::with_keys("eu-west-1", "http://127.0.0.1:9", "AKIATEST", "secret").clients()
}

fn settings<S: Settings>(service: &str, more: &[&str]) -> S {
    let common = [service, "--environment", "pool-1", "--host", "127.0.0.1", "--port", "0", "--admin-port", "0"];
    match parse(common.iter().chain(more).map(OsString::from)) {
        Ok(Parsed::Run(settings)) => settings,
        _ => panic!("the settings of {service}"),
    }
}

async fn app(service: &str) -> App {
    let reads = ["--record-reads", "on"];
    match service {
        "producer" => producer::build(settings(service, &[]), clients()).await.unwrap(),
        "consumer" => consumer::build(settings(service, &reads), clients()).await.unwrap(),
        _ => payments::build(settings(service, &reads), clients()).await.unwrap(),
    }
}

fn document(service: &str) -> Value {
    serde_json::from_slice(&std::fs::read(tests::openapi::file(service)).unwrap()).unwrap()
}

fn documented(document: &Value) -> Routes {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .map(|(path, methods)| {
            (path.clone(), methods.as_object().unwrap().keys().map(|name| name.to_uppercase()).collect())
        })
        .collect()
}

/// The paths of the router, which it tells only when it is printed; their methods, which a wrong one brings out.
async fn routed(app: &App) -> Routes {
    let printed = format!("{:?}", app.router());
    // `/` and the path with a private name are what the fallback consists of.
    let is_own = |text: &&str| text.starts_with('/') && *text != "/" && !text.contains("__private");
    let literals = printed.split('"').skip(1).step_by(2).filter(is_own);
    let mut routes = Routes::new();
    for path in literals.map(str::to_owned).collect::<BTreeSet<_>>() {
        let uri = path.replace("{payment_id}", "0198c0de-7d1c-7a3b-9a64-4b1f5f0c2d11");
        let request = Request::builder().method(Method::PATCH).uri(uri).body(axum::body::Body::empty()).unwrap();
        let answer = app.router().clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "PATCH {path}");
        let allowed = answer.headers()[header::ALLOW].to_str().unwrap().split(',').map(str::to_owned);
        // Whoever takes GET takes HEAD, without it being a route of its own.
        routes.insert(path, allowed.filter(|method| method != "HEAD").collect());
    }
    routes
}

#[tokio::test]
async fn a_document_tells_of_every_route_and_of_no_other() {
    for service in ["producer", "consumer", "payments"] {
        assert_eq!(documented(&document(service)), routed(&app(service).await).await, "{service}");
    }
}

#[tokio::test]
async fn each_service_serves_its_own_document_to_whoever_asks() {
    for service in ["producer", "consumer", "payments"] {
        let request = Request::get(format!("/{service}/openapi.json")).body(axum::body::Body::empty()).unwrap();
        let answer = app(service).await.router().clone().oneshot(request).await.unwrap();
        assert_eq!(
            (answer.status(), &answer.headers()[header::CONTENT_TYPE]),
            (StatusCode::OK, &"application/json".parse().unwrap())
        );
        let served: Value = serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
        assert_eq!((&served["openapi"], &served["info"]["title"]), (&"3.1.0".into(), &service.into()));
        assert_eq!(served, document(service));
    }
}
