//! The front door: one port that routes by header and path as the Application Load Balancer in front of a cluster does.
//!
//! A rule belongs to a tenant and a service. It matches when the path is `/SERVICE` or below it and a `TenantID` header has the
//! tenant's id. As at the load balancer, values are compared without regard to case, and of several headers one match is
//! enough; rules are tried in order. Every header is passed on untouched, so that the service sees what the client sent and
//! refuses what the balancer let through (`Tenant-1`, two different tenants). No rule: 404 in plain text.
//!
//! A request without `TenantID` for `/`, or below `/console`, is for people and goes to the console. No rule would match it.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use http::header::{ALLOW, SERVER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::forward::Forward;
use crate::issuer::{Issuer, LIFETIME};

/// The header that says whose a request is.
const TENANT_HEADER: &str = "tenantid";

/// Where requests of one tenant for one service go.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The tenant's id.
    pub tenant: String,
    /// The first segment of the path: `producer`, `consumer` or `payments`.
    pub service: String,
    /// The listener that answers.
    pub to: SocketAddr,
}

impl Rule {
    fn matches(&self, headers: &HeaderMap, path: &str) -> bool {
        let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(self.service.as_str()));
        let path_matches = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let mut tenants = headers.get_all(TENANT_HEADER).iter();
        path_matches && tenants.any(|value| value.as_bytes().eq_ignore_ascii_case(self.tenant.as_bytes()))
    }
}

struct Door {
    rules: Vec<Rule>,
    console: Router,
    issuer: Option<Issuer>,
    port: u16,
    forward: Forward,
}

/// Serves `rules`, and people by `console`, on `listener` until `stopping`; then requests in flight are finished and no others
/// taken.
#[must_use]
pub(crate) fn open(
    listener: TcpListener,
    rules: Vec<Rule>,
    console: Router,
    issuer: Option<Issuer>,
    stopping: CancellationToken,
) -> JoinHandle<()> {
    let port = listener.local_addr().map_or(0, |addr| addr.port());
    let door = Arc::new(Door { rules, console, issuer, port, forward: Forward::new() });
    let app = Router::new().fallback(pass).with_state(door).into_make_service_with_connect_info::<SocketAddr>();
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    tokio::spawn(async move {
        let serving = axum::serve(listener, app).with_graceful_shutdown(stopping.cancelled_owned());
        if let Err(error) = serving.await {
            tracing::error!(%error, "the front door ended");
        }
    })
}

async fn pass(
    State(door): State<Arc<Door>>,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    mut request: Request,
) -> Response {
    if is_for_people(&request) {
        return match door.console.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
    }
    if let Some(issuer) = door.issuer.as_ref().filter(|_| request.uri().path() == "/token") {
        return give_token(&door, issuer, &request);
    }
    let found = door.rules.iter().find(|rule| rule.matches(request.headers(), request.uri().path()));
    let Some(rule) = found else {
        let server = [(SERVER, "front-door")];
        return (StatusCode::NOT_FOUND, server, "404: the front door has no rule for this TenantID and path\n")
            .into_response();
    };
    for (name, value) in [
        ("x-forwarded-for", client.ip().to_string()),
        ("x-forwarded-proto", "http".to_owned()),
        ("x-forwarded-port", door.port.to_string()),
    ] {
        let name = HeaderName::from_static(name);
        let before = request.headers().get(&name).and_then(|value| value.to_str().ok());
        let value = match before {
            // The balancer adds to the list of addresses and sets the others.
            Some(before) if name == "x-forwarded-for" => format!("{before}, {value}"),
            _ => value,
        };
        if let Ok(value) = HeaderValue::try_from(value) {
            request.headers_mut().insert(name, value);
        }
    }
    door.forward.send(rule.to, request).await
}

/// `POST /token?tenant=ID`: a token for a tenant that has a rule here, as OAuth 2.0 has its answer.
fn give_token(door: &Door, issuer: &Issuer, request: &Request) -> Response {
    if request.method() != Method::POST {
        return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "POST")], "405: POST /token?tenant=ID\n").into_response();
    }
    let tenant = request.uri().query().and_then(|query| query.strip_prefix("tenant=")).unwrap_or_default();
    if !door.rules.iter().any(|rule| rule.tenant == tenant) {
        return (StatusCode::NOT_FOUND, "404: POST /token?tenant=ID, ID one of the plane's tenants\n").into_response();
    }
    match issuer.token(tenant) {
        Some(token) => {
            Json(json!({"access_token": token, "token_type": "Bearer", "expires_in": LIFETIME})).into_response()
        }
        None => (StatusCode::INTERNAL_SERVER_ERROR, "500: no token could be signed\n").into_response(),
    }
}

fn is_for_people(request: &Request) -> bool {
    let path = request.uri().path();
    let is_console =
        path == "/" || path.strip_prefix("/console").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_console && !request.headers().contains_key(TENANT_HEADER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::{Body, Bytes};
    use futures_util::StreamExt;
    use http_body_util::BodyExt;
    use hyper_util::client::legacy::Client;
    use hyper_util::rt::TokioExecutor;

    /// A service that says what arrived: its name, the path with the query, the tenants, the body.
    async fn service(name: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let app = Router::new().fallback(move |request: Request| async move {
            let (head, body) = request.into_parts();
            let of =
                |name: &str| -> Vec<&str> { head.headers.get_all(name).iter().map(|v| v.to_str().unwrap()).collect() };
            let text = format!(
                "{name} {} {} {:?} for {:?} {:?} ",
                head.method,
                head.uri,
                of("tenantID"),
                of("x-forwarded-for"),
                of("x-forwarded-proto")
            );
            Body::from_stream(futures_util::stream::iter([Ok(Bytes::from(text))]).chain(body.into_data_stream()))
        });
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        addr
    }

    async fn door() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (pool, silo) = (service("pool").await, service("silo").await);
        let rule =
            |tenant: &str, service: &str, to| Rule { tenant: tenant.to_owned(), service: service.to_owned(), to };
        let rules = vec![
            rule("tenant-1", "producer", pool),
            rule("tenant-3", "producer", silo),
            rule("tenant-3", "consumer", silo),
            rule("gone", "producer", "127.0.0.1:1".parse().unwrap()),
        ];
        let console = Router::new().fallback(|request: Request| async move { format!("console {}", request.uri()) });
        drop(open(listener, rules, console, None, CancellationToken::new()));
        addr
    }

    async fn ask(door: SocketAddr, path: &str, tenants: &[&str]) -> (u16, String) {
        let mut request = http::Request::post(format!("http://{door}{path}"));
        for tenant in tenants {
            request = request.header("TenantID", *tenant);
        }
        let client = Client::builder(TokioExecutor::new()).build_http();
        let answer = client.request(request.body(Body::from("body")).unwrap()).await.unwrap();
        let status = answer.status().as_u16();
        (status, String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap())
    }

    #[tokio::test]
    async fn the_header_and_the_path_decide_where_a_request_goes() {
        let door = door().await;
        let expected = r#"pool POST /producer ["tenant-1"] for ["127.0.0.1"] ["http"] body"#;
        assert_eq!(ask(door, "/producer", &["tenant-1"]).await, (200, expected.to_owned()));
        let expected = r#"silo POST /producer/batch?x=1 ["tenant-3"] for ["127.0.0.1"] ["http"] body"#;
        assert_eq!(ask(door, "/producer/batch?x=1", &["tenant-3"]).await, (200, expected.to_owned()));
        assert!(ask(door, "/consumer", &["tenant-3"]).await.1.starts_with("silo POST /consumer "));
    }

    #[tokio::test]
    async fn what_no_rule_matches_is_the_door_s_own_404_in_plain_text() {
        let door = door().await;
        let not_found = (404, "404: the front door has no rule for this TenantID and path\n".to_owned());
        for (path, tenants) in [
            ("/producer", &["tenant-9"][..]),
            ("/producer", &[]),
            ("/producer", &[""]),
            ("/producer", &["tenant-1,tenant-3"]),
            ("/producer", &["tenant-11"]),
            ("/producers", &["tenant-1"]),
            ("/consumer", &["tenant-1"]),
            ("/x/producer", &["tenant-1"]),
            ("/", &["tenant-1"]),
        ] {
            assert_eq!(ask(door, path, tenants).await, not_found, "{path} {tenants:?}");
        }
    }

    #[tokio::test]
    async fn what_the_balancer_lets_through_reaches_the_service_as_it_came() {
        let door = door().await;
        let two = ask(door, "/producer", &["tenant-3", "tenant-1"]).await.1;
        assert!(
            two.starts_with(r#"pool POST /producer ["tenant-3", "tenant-1"]"#),
            "the first rule that matches: {two}"
        );
        let upper = ask(door, "/producer", &["Tenant-1"]).await.1;
        assert!(upper.starts_with(r#"pool POST /producer ["Tenant-1"]"#), "{upper}");
    }

    #[tokio::test]
    async fn whoever_names_no_tenant_gets_the_console_at_the_root_and_below_its_path_and_nowhere_else() {
        let door = door().await;
        for path in ["/", "/console", "/console/app.js", "/?a=b"] {
            assert_eq!(ask(door, path, &[]).await, (200, format!("console {path}")));
            assert_eq!(ask(door, path, &["tenant-1"]).await.0, 404, "{path} with a tenant");
        }
        for path in ["/consoles", "/index.html", "/producer", "//", "/producer/console"] {
            assert_eq!(ask(door, path, &[]).await.0, 404, "{path}");
        }
    }

    #[tokio::test]
    async fn a_deployment_that_does_not_answer_is_a_502() {
        assert_eq!(ask(door().await, "/producer", &["gone"]).await, (502, "502 Bad Gateway\n".to_owned()));
    }

    #[tokio::test]
    async fn bodies_are_passed_on_while_they_arrive() {
        let door = door().await;
        let (write, read) = tokio::sync::mpsc::channel::<&'static str>(1);
        let body = futures_util::stream::unfold(read, |mut read| async {
            let part = read.recv().await?;
            Some((Ok::<_, std::convert::Infallible>(Bytes::from_static(part.as_bytes())), read))
        });
        let request = http::Request::post(format!("http://{door}/producer")).header("TenantID", "tenant-1");
        let client = Client::builder(TokioExecutor::new()).build_http();
        write.send("first").await.unwrap();
        let answer = client.request(request.body(Body::from_stream(body)).unwrap()).await.unwrap();
        let mut answer = answer.into_body().into_data_stream();
        let mut seen = String::new();
        while !seen.ends_with("first") {
            seen += std::str::from_utf8(&answer.next().await.unwrap().unwrap()).unwrap();
        }
        write.send("second").await.unwrap();
        drop(write);
        while let Some(part) = answer.next().await {
            seen += std::str::from_utf8(&part.unwrap()).unwrap();
        }
        assert!(seen.ends_with("firstsecond"), "{seen}");
    }
}
