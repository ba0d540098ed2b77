//! The console's routes, on a whole plane.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::plane::roster::Roster;
use crate::plane::{Options, Plane};

async fn plane() -> Plane {
    let roster = Roster::new(&[]).unwrap();
    let options = Options { roster, region: "eu-central-1".to_owned(), port: 0, aws_port: 0, data: None, auth: false };
    Plane::start(options).await.unwrap()
}

struct Answer {
    status: StatusCode,
    headers: http::HeaderMap,
    text: String,
}

impl Answer {
    /// The stages of an answer that came in lines.
    fn stages(&self) -> Vec<Value> {
        self.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn names(&self) -> Vec<String> {
        self.stages().iter().map(|stage| stage["stage"].as_str().unwrap().to_owned()).collect()
    }
}

async fn ask(plane: &Plane, method: Method, path: &str, headers: &[(&str, &str)], body: &'static str) -> Answer {
    let request = Request::builder().method(method).uri(format!("http://{}{path}", plane.front_door()));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let client = Client::builder(TokioExecutor::new()).build_http();
    let answer = client.request(request.body(Full::<Bytes>::from(body)).unwrap()).await.unwrap();
    let (head, body) = answer.into_parts();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    Answer { status: head.status, headers: head.headers, text }
}

const JSON: (&str, &str) = ("content-type", "application/json");

async fn get(plane: &Plane, path: &str, headers: &[(&str, &str)]) -> Answer {
    ask(plane, Method::GET, path, headers, "").await
}

async fn post(plane: &Plane, path: &str, body: &'static str) -> Answer {
    ask(plane, Method::POST, path, &[JSON], body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_at_the_front_door_gets_the_page_and_nothing_that_came_from_elsewhere() {
    let plane = plane().await;
    let page = get(&plane, "/", &[]).await;
    assert_eq!(
        (page.status, &page.headers["content-type"]),
        (StatusCode::OK, &"text/html; charset=utf-8".parse().unwrap())
    );
    assert!(page.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'self'; "));
    assert!(page.text.contains(r#""id":"tenant-2","tier":"advanced","queue":"consumer-tenant-2""#), "{}", page.text);
    for file in page.text.split('"').filter(|text| text.starts_with("/console/")) {
        assert_eq!(get(&plane, file, &[]).await.status, StatusCode::OK, "{file}");
    }
    assert_eq!(get(&plane, "/console/app.rs", &[]).await.status, StatusCode::NOT_FOUND);
    // To a tenant's client the front door is the load balancer, also here.
    let balancer = get(&plane, "/", &[("tenantid", "tenant-1")]).await;
    assert_eq!(balancer.text, "404: the front door has no rule for this TenantID and path\n");
    assert_eq!(get(&plane, "/consoles", &[]).await.text, balancer.text);
    plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_from_elsewhere_gets_a_browser_to_do_nothing_here() {
    let plane = plane().await;
    for (host, status) in [
        ("evil.example", StatusCode::FORBIDDEN),
        ("localhost.evil.example:8080", StatusCode::FORBIDDEN),
        ("192.168.1.7", StatusCode::FORBIDDEN),
        ("LocalHost:9999", StatusCode::OK),
        ("127.0.0.1", StatusCode::OK),
        ("[::1]:8080", StatusCode::OK),
    ] {
        assert_eq!(get(&plane, "/console/plane.json", &[("host", host)]).await.status, status, "{host}");
    }
    let body = r#"{"tenant":"tenant-1","body":"1"}"#;
    for (name, value, status) in [
        ("origin", "http://evil.example", StatusCode::FORBIDDEN),
        ("origin", "null", StatusCode::FORBIDDEN),
        ("origin", "https://localhost:1", StatusCode::FORBIDDEN),
        ("sec-fetch-site", "cross-site", StatusCode::FORBIDDEN),
        ("origin", "http://localhost:1", StatusCode::OK),
    ] {
        let headers = [JSON, ("host", "localhost:1"), (name, value)];
        assert_eq!(
            ask(&plane, Method::POST, "/console/events", &headers, body).await.status,
            status,
            "{name}: {value}"
        );
    }
    // What a form can send without asking first is no JSON.
    let form = [("content-type", "text/plain")];
    assert_eq!(
        ask(&plane, Method::POST, "/console/events", &form, body).await.status,
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_followed_to_its_record_and_a_refusal_is_shown_as_it_is() {
    let plane = plane().await;
    let stored = post(&plane, "/console/events", r#"{"tenant":"tenant-2","body":"{\"n\":1}","key":"k-1"}"#).await;
    assert_eq!(stored.names(), ["answered", "stored", "record"]);
    let stages = stored.stages();
    assert_eq!((&stages[0]["status"], &stages[1]["table"]), (&200.into(), &"consumer-tenant-2".into()));
    let record = &stages[2]["record"];
    assert_eq!((&record["body"], &record["tenant_id"]), (&r#"{"n":1}"#.into(), &"tenant-2".into()));
    assert_eq!(record["message_id"], stages[0]["message_id"]);
    let times: Vec<f64> = stages.iter().map(|stage| stage["ms"].as_f64().unwrap()).collect();
    assert!(times[0] > 0.0 && times.is_sorted(), "{times:?}");

    let again = post(&plane, "/console/events", r#"{"tenant":"tenant-2","body":"{\"n\":1}","key":"k-1"}"#).await;
    assert_eq!(again.stages()[0]["message_id"], stages[0]["message_id"]);
    let refused = post(&plane, "/console/events", r#"{"tenant":"tenant-2","body":"{"}"#).await;
    assert_eq!((refused.names(), &refused.stages()[0]["status"]), (vec!["answered".to_owned()], &400.into()));
    assert!(refused.stages()[0]["text"].as_str().unwrap().contains("urn:tenant-plane:problem:body"));
    let nobody = post(&plane, "/console/events", r#"{"tenant":"nobody","body":"1"}"#).await;
    assert_eq!((nobody.status, nobody.text.as_str()), (StatusCode::NOT_FOUND, "there is no such tenant on this plane"));
    plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_names_no_tenant_becomes_a_dead_letter_within_seconds_and_shows_its_body_only_when_asked() {
    let plane = plane().await;
    let way = post(&plane, "/console/unstorable", r#"{"tenant":"tenant-3"}"#).await;
    let stages = way.stages();
    let (last, id) = (stages.last().unwrap(), stages[0]["id"].as_str().unwrap());
    assert_eq!(
        (&last["stage"], &last["queue"], &last["receives"]),
        (&"dead".into(), &"consumer-tenant-3-dlq".into(), &10.into())
    );

    let listed: Value = serde_json::from_str(&get(&plane, "/console/letters", &[]).await.text).unwrap();
    let of_queue =
        listed["queues"].as_array().unwrap().iter().find(|of| of["queue"] == "consumer-tenant-3-dlq").unwrap();
    assert_eq!((&of_queue["count"], &of_queue["letters"][0]["id"]), (&1.into(), &id.into()));
    assert!(!listed.to_string().contains("without a tenant_id"), "{listed}");
    let path = format!("/console/letters/consumer-tenant-3-dlq/{id}");
    let letter: Value = serde_json::from_str(&get(&plane, &path, &[]).await.text).unwrap();
    assert!(letter["body"].as_str().unwrap().contains("without a tenant_id"));
    assert_eq!(get(&plane, "/console/letters/consumer-tenant-3-dlq/other", &[]).await.status, StatusCode::NOT_FOUND);
    assert_eq!(
        get(&plane, &format!("/console/letters/consumer-tenant-3/{id}"), &[]).await.status,
        StatusCode::NOT_FOUND
    );

    // Sent back it is known by the id that it had, and still cannot be stored.
    let back = ask(&plane, Method::POST, &format!("{path}/send-back"), &[], "").await;
    assert_eq!((back.names().first().unwrap().as_str(), back.names().last().unwrap().as_str()), ("sent", "dead"));
    let letter: Value = serde_json::from_str(&get(&plane, &path, &[]).await.text).unwrap();
    assert_eq!(letter["attributes"]["message_id"], id);
    plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stream_tells_what_changes_and_ends_when_the_sandbox_does() {
    let plane = plane().await;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let url = format!("http://{}/console/live", plane.front_door());
    let answer = client.request(Request::get(url).body(Full::<Bytes>::default()).unwrap()).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut stream = answer.into_body();
    post(&plane, "/console/events", r#"{"tenant":"tenant-1","body":"1"}"#).await;
    let mut told = String::new();
    while !told.contains(r#""stored":1,"rate""#) || !told.contains(r#""tenant":"tenant-1""#) {
        let frame = tokio::time::timeout(Duration::from_secs(30), stream.frame()).await.unwrap().unwrap().unwrap();
        told += std::str::from_utf8(&frame.into_data().unwrap()).unwrap();
    }
    assert!(told.starts_with("event: state\ndata: {\"stored\":"), "{told}");

    let stopping = Instant::now();
    plane.stop().await;
    let rest = stream.collect().await.unwrap().to_bytes();
    assert!(rest.ends_with(b"event: end\ndata: {}\n\n"), "{}", String::from_utf8_lossy(&rest));
    assert!(stopping.elapsed() < Duration::from_secs(15), "{:?}", stopping.elapsed());
}
