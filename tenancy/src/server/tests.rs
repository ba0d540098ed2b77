//! A small service on the scaffold, spoken to over real sockets.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use axum::extract::{FromRef, Request, State};
use axum::routing::{get, post};
use clap::Parser;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::directory::Directory;
use crate::problem::Problem;
use crate::registry::Serves;
use crate::testing::{Answer, Scripted};

#[path = "http2_tests.rs"]
mod http2;
#[path = "rest_tests.rs"]
mod rest;
#[path = "slow_tests.rs"]
mod slow;

/// Longer than what is awaited here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long `/test/slow` takes: enough to do something meanwhile.
const SLOW: Duration = Duration::from_secs(3);

/// The query strings that `/test/slow` was asked with.
static BEGUN: LazyLock<watch::Sender<Vec<String>>> = LazyLock::new(watch::Sender::default);

#[derive(Parser)]
#[command(args_override_self = true)]
struct Args {
    #[command(flatten)]
    common: Common,
}

fn common(args: &[&str]) -> Common {
    let fixed = [
        "test",
        "--environment",
        "acme",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--admin-port",
        "0",
        "--drain-delay",
        "0",
    ];
    Args::try_parse_from(fixed.iter().chain(args)).unwrap().common
}

#[derive(Clone)]
struct Service {
    intake: Intake,
    registry: Registry,
}

impl FromRef<Service> for Registry {
    fn from_ref(service: &Service) -> Self {
        service.registry.clone()
    }
}

async fn echo(State(service): State<Service>, Served(route): Served, request: Request) -> Result<String, Problem> {
    let payload = service.intake.read(request, 1_000, "an event", None).await?;
    Ok(format!("{} {} {}", route.tenant, payload.bytes.len(), payload.content_type.as_str()))
}

fn scaffold(args: &[&str]) -> Scaffold {
    let ssm = Scripted::new(|_, body| {
        let name = body["Names"][0].as_str().unwrap();
        let value = "arn:aws:sqs:eu-central-1:123456789012:consumer-acme";
        Answer::new(200, json!({"Parameters": [{"Name": name, "Value": value}]}))
    });
    let common = common(args);
    let region = aws_types::region::Region::new("eu-central-1");
    let ssm = aws_sdk_ssm::Client::new(&ssm.config());
    let directory = Directory::new(ssm, &region, &common.environment, Duration::from_secs(300));
    let registry = Registry::new(directory, &common, Serves::OwnQueue);
    let service = Service { intake: Intake::new(&common), registry: registry.clone() };
    let routes = Router::new()
        .route("/test/echo", post(echo))
        .route(
            "/test/slow",
            get(|uri: axum::http::Uri| async move {
                BEGUN.send_modify(|begun| begun.extend(uri.query().map(str::to_owned)));
                tokio::time::sleep(SLOW).await;
                "done"
            }),
        )
        .route(
            "/test/panic",
            get(|| async {
                if true {
                    panic!("a bug")
                }
            }),
        )
        .with_state(service);
    Scaffold::new("test", "1.2.3", &common, registry).routes(routes)
}

struct Running {
    public: SocketAddr,
    admin: SocketAddr,
    stop: CancellationToken,
    end: JoinHandle<Result<(), RunError>>,
}

async fn start(scaffold: Scaffold) -> Running {
    start_with(scaffold, |_| {}).await
}

async fn start_with(scaffold: Scaffold, change: impl FnOnce(&mut App)) -> Running {
    let mut app = scaffold.bind().await.unwrap();
    change(&mut app);
    let (public, admin, stop) = (app.public_addr(), app.admin_addr(), CancellationToken::new());
    let end = tokio::spawn(app.run(stop.clone()));
    Running { public, admin, stop, end }
}

/// Sends text as it is and reads to the end of the connection.
async fn exchange(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    read_all(&mut stream).await
}

async fn read_all(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the connection ends");
    String::from_utf8_lossy(&answer).into_owned()
}

async fn get_with(address: SocketAddr, path: &str, headers: &str) -> (u16, Value) {
    let answer =
        exchange(address, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n")).await;
    split(&answer)
}

async fn post_with(address: SocketAddr, headers: &str, body: &str) -> (u16, Value) {
    let head = format!(
        "POST /test/echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    split(&exchange(address, &format!("{head}{body}")).await)
}

fn split(answer: &str) -> (u16, Value) {
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned())))
}

async fn until_ready(app: &Running) {
    let ready = async { while get_with(app.admin, "/readyz", "").await.0 != 200 {} };
    tokio::time::timeout(PATIENCE, ready).await.unwrap();
}

#[tokio::test]
async fn who_answers_is_said_with_four_keys() {
    let app = start(scaffold(&[])).await;
    let (status, body) = get_with(app.public, "/test", "").await;
    assert_eq!(
        (status, body),
        (200, json!({"tenant_id": null, "environment": "acme", "version": "1.2.3", "microservice": "test"}))
    );
    let (status, body) = get_with(app.public, "/test", "TENANTID: acme\r\n").await;
    assert_eq!((status, &body["tenant_id"]), (200, &json!("acme")));
    let (status, body) = get_with(app.public, "/test", "tenantID: globex\r\n").await;
    assert_eq!((status, &body["type"]), (403, &json!("urn:tenant-plane:problem:tenant-not-served")));
}

#[tokio::test]
async fn the_version_is_the_image_s_when_it_says_so() {
    let app = start(scaffold(&["--service-version", "prd-20260101T000000Z"])).await;
    assert_eq!(get_with(app.public, "/test", "").await.1["version"], "prd-20260101T000000Z");
}

#[tokio::test]
async fn bad_headers_are_refused_on_every_path_but_the_probe() {
    let app = start(scaffold(&[])).await;
    until_ready(&app).await;
    for path in ["/test", "/test/", "/test/slow", "/nowhere", "/"] {
        for headers in ["tenantID: Acme\r\n", "tenantID: acme\r\ntenantID: acme\r\n", "tenantID:\r\n", "tier: gold\r\n"]
        {
            let (status, body) = get_with(app.public, path, headers).await;
            assert_eq!((status, &body["status"]), (400, &json!(400)), "{path} {headers}");
            assert_eq!(body["msg"], body["title"]);
        }
    }
    let (status, body) = get_with(app.public, "/test/readiness-probe", "tenantID: Acme\r\n").await;
    assert_eq!((status, body), (200, json!({"Status": "OK"})));
}

#[tokio::test]
async fn unknown_paths_and_methods_are_problems_too() {
    let app = start(scaffold(&[])).await;
    for path in ["/nowhere", "/test/", "/metrics", "/livez"] {
        assert_eq!(get_with(app.public, path, "").await.0, 404, "{path}");
    }
    let answer = exchange(app.public, "DELETE /test/echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("allow: post\r\n"), "{answer}");
    assert_eq!(split(&answer).1["type"], "urn:tenant-plane:problem:method");
}

#[tokio::test]
async fn a_panic_is_a_500_with_constant_words_and_the_next_request_is_fine() {
    let app = start(scaffold(&[])).await;
    let (status, body) = get_with(app.public, "/test/panic", "").await;
    assert_eq!((status, &body["detail"]), (500, &json!("the failure has been logged")));
    assert_eq!(get_with(app.public, "/test", "").await.0, 200);
}

#[tokio::test]
async fn a_body_is_json_within_its_limit() {
    let app = start(scaffold(&[])).await;
    let acme = "tenantID: acme\r\n";
    let ok = |text: &str| (200, json!(text));
    assert_eq!(post_with(app.public, acme, "").await, ok("acme 0 application/json"));
    assert_eq!(
        post_with(app.public, &format!("{acme}content-type: text/plain\r\n"), "").await,
        ok("acme 0 application/json")
    );
    assert_eq!(post_with(app.public, acme, &"1".repeat(1_000)).await, ok("acme 1000 application/json"));
    let (status, body) = post_with(app.public, acme, &"1".repeat(1_001)).await;
    assert_eq!((status, &body["detail"]), (413, &json!("an event may have at most 1000 bytes")));
    assert_eq!(post_with(app.public, &format!("{acme}content-type: text/plain\r\n"), "1").await.0, 415);
    assert_eq!(post_with(app.public, "", "1").await.0, 400);
    let chunked = "POST /test/echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntenantID: acme\r\ntransfer-encoding: chunked\r\n\r\n";
    let (status, _) =
        split(&exchange(app.public, &format!("{chunked}3e8\r\n{}\r\n1\r\n1\r\n0\r\n\r\n", "1".repeat(1_000))).await);
    assert_eq!(status, 413);
}

#[tokio::test]
async fn a_body_that_dawdles_is_a_408() {
    let app = start(scaffold(&["--request-timeout", "200ms"])).await;
    let began = Instant::now();
    let (status, _) = split(
        &exchange(app.public, "POST /test/echo HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\ncontent-length: 1000\r\n\r\n1")
            .await,
    );
    assert_eq!(status, 408);
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn bodies_together_stay_within_the_memory_for_them() {
    let app = start(scaffold(&["--max-body-bytes", "1024", "--max-buffered-bytes", "2048"])).await;
    let head = "POST /test/echo HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\ncontent-length: 1000\r\n\r\n";
    let head = format!("{head}{}", "x".repeat(999));
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(app.public).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        held.push(stream);
    }
    let third = async {
        loop {
            let (status, body) = post_with(app.public, "tenantID: acme\r\n", "1").await;
            if status == 503 {
                return body;
            }
        }
    };
    let body = tokio::time::timeout(PATIENCE, third).await.unwrap();
    assert_eq!(body["detail"], "try again in 1 s");
    drop(held);
    let again = async { while post_with(app.public, "tenantID: acme\r\n", "1").await.0 != 200 {} };
    tokio::time::timeout(PATIENCE, again).await.unwrap();
}

#[tokio::test]
async fn connections_beyond_the_limit_are_told_to_come_back() {
    let app = start(scaffold(&["--max-connections", "1"])).await;
    let mut first = TcpStream::connect(app.public).await.unwrap();
    first.write_all(b"GET /test/slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let answer = exchange(app.public, "GET /test HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
    assert_eq!(split(&answer).1["type"], "urn:tenant-plane:problem:unavailable");
}

#[tokio::test]
async fn requests_beyond_the_limit_are_told_to_come_back() {
    let app = start(scaffold(&["--max-requests", "1"])).await;
    until_ready(&app).await;
    let slow = tokio::spawn(async move { get_with(app.public, "/test/slow", "").await.0 });
    let shed = async { while get_with(app.public, "/test", "").await.0 != 503 {} };
    tokio::time::timeout(SLOW, shed).await.unwrap();
    assert_eq!(get_with(app.public, "/test/readiness-probe", "").await.0, 200);
    assert_eq!(slow.await.unwrap(), 200);
}

#[tokio::test]
async fn at_the_signal_idle_connections_end_and_the_request_under_way_is_answered() {
    let app = start(scaffold(&[])).await;
    let mut silent = TcpStream::connect(app.public).await.unwrap();
    let mut idle = TcpStream::connect(app.public).await.unwrap();
    idle.write_all(b"GET /test HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = [0; 1024];
    assert!(idle.read(&mut answer).await.unwrap() > 0);
    let mut busy = TcpStream::connect(app.public).await.unwrap();
    let mut begun = BEGUN.subscribe();
    busy.write_all(b"GET /test/slow?at-the-signal HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    begun.wait_for(|begun| begun.iter().any(|query| query == "at-the-signal")).await.unwrap();
    let began = Instant::now();
    app.stop.cancel();
    assert_eq!(read_all(&mut idle).await, "");
    assert_eq!(read_all(&mut silent).await, "");
    assert!(began.elapsed() < SLOW, "idle connections ended after {:?}", began.elapsed());
    let answer = read_all(&mut busy).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("connection: close"), "{answer}");
    app.end.await.unwrap().unwrap();
}

#[tokio::test]
async fn during_the_drain_delay_it_is_not_ready_and_alive_and_serves() {
    let app = start(scaffold(&["--drain-delay", "3s", "--shutdown-timeout", "8s"])).await;
    until_ready(&app).await;
    app.stop.cancel();
    let not_ready = async { while get_with(app.admin, "/readyz", "").await.0 != 503 {} };
    tokio::time::timeout(Duration::from_millis(2_500), not_ready).await.unwrap();
    assert_eq!(get_with(app.public, "/test/readiness-probe", "").await, (503, json!({"Status": "NotReady"})));
    assert_eq!(get_with(app.admin, "/livez", "").await.0, 200);
    // Clients that keep connections open are told to take another one, before the last ones are closed under them.
    let answer = exchange(app.public, "GET /test HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("connection: close\r\n"), "{answer}");
    app.end.await.unwrap().unwrap();
    assert!(TcpStream::connect(app.public).await.is_err());
}

#[tokio::test]
async fn it_ends_in_time_whatever_a_client_does() {
    let app = start(scaffold(&["--shutdown-timeout", "300ms", "--request-timeout", "60s"])).await;
    let mut dawdling = TcpStream::connect(app.public).await.unwrap();
    let head = "POST /test/echo HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\ncontent-length: 1000\r\n\r\n1";
    dawdling.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let began = Instant::now();
    app.stop.cancel();
    app.end.await.unwrap().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(read_all(&mut dawdling).await, "");
}

#[tokio::test]
async fn work_beside_the_server_that_is_not_done_in_time_is_a_failure() {
    let work = scaffold(&["--shutdown-timeout", "300ms"]).task("endless", |_| std::future::pending());
    let app = start(work).await;
    app.stop.cancel();
    assert!(matches!(app.end.await.unwrap(), Err(RunError::Unfinished)));
}

#[tokio::test]
async fn it_is_not_ready_before_its_parameters_are_read_and_stops_all_the_same() {
    let app = start(scaffold(&[]).ready_when(std::future::pending())).await;
    assert_eq!(get_with(app.admin, "/readyz", "").await.0, 503);
    assert_eq!(get_with(app.admin, "/livez", "").await.0, 200);
    app.stop.cancel();
    app.end.await.unwrap().unwrap();
}

#[tokio::test]
async fn work_beside_the_server_is_waited_for_and_must_not_end_early() {
    let app = start(scaffold(&[]).task("early", |_| async {})).await;
    assert!(matches!(app.end.await.unwrap(), Err(RunError::Task("early"))));
    let app = start(scaffold(&[]).task("late", |stop| async move {
        stop.signalled().await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }))
    .await;
    let began = Instant::now();
    app.stop.cancel();
    app.end.await.unwrap().unwrap();
    assert!(began.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_port_in_use_is_named_by_its_variable() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error = scaffold(&["--port", &port]).bind().await.err().unwrap().to_string();
    assert!(error.starts_with(&format!("PORT: cannot listen on 127.0.0.1:{port}: ")), "{error}");
}
