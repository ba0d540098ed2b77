//! The plane as a whole, with the real services.

use std::time::{Duration, Instant};

use super::*;
use crate::ask;
use crate::trial;

fn options() -> Options {
    let roster = Roster::new(&["acme=premium".parse().unwrap()]).unwrap();
    Options { roster, region: "eu-central-1".to_owned(), port: 0, aws_port: 0, data: None, auth: false }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_of_each_tenant_becomes_a_record_in_its_own_table_and_the_end_takes_seconds() {
    let plane = Plane::start(options()).await.unwrap();
    assert_eq!(plane.services().len(), 11);
    let mut outcomes = trial::run(&plane, Duration::from_secs(30), |_| {}).await;
    outcomes.sort_by_key(|outcome| outcome.tenant.id.clone());
    let tables: Vec<_> =
        outcomes.iter().map(|outcome| outcome.result.as_ref().map(|landed| landed.table.as_str())).collect();
    assert_eq!(tables, [Ok("consumer-acme"), Ok("consumer-pool-1"), Ok("consumer-tenant-2"), Ok("consumer-tenant-3")]);
    let stopped = Instant::now();
    plane.stop().await;
    assert!(stopped.elapsed() < Duration::from_secs(15), "{:?}", stopped.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_tenant_meets_the_front_door_s_own_404() {
    let plane = Plane::start(options()).await.unwrap();
    let url = format!("http://{}/producer", plane.front_door());
    let (status, body) = ask::post(&url, "nobody", &[], "{}".to_owned()).await.unwrap();
    assert_eq!(status, 404);
    assert_eq!(body, "404: the front door has no rule for this TenantID and path\n");
    plane.stop().await;
}

#[tokio::test]
async fn a_port_in_use_is_named_with_its_option() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = Plane::start(Options { port, ..options() }).await.unwrap_err().to_string();
    let expected = format!("127.0.0.1:{port} is in use by another process; give another one (0 takes a free one)");
    assert_eq!(error, format!("--port {port}: {expected}"));
    let error = Plane::start(Options { aws_port: port, ..options() }).await.unwrap_err().to_string();
    assert_eq!(error, format!("--aws-port {port}: {expected}"));
}

#[tokio::test]
async fn a_data_directory_that_cannot_be_used_is_named_with_its_option() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Plane::start(Options { data: Some(file.clone()), ..options() }).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("--data {}: ", file.display())), "{error}");

    let lock = lock_data(dir.path()).unwrap();
    let error = Plane::start(Options { data: Some(dir.path().to_owned()), ..options() }).await.unwrap_err().to_string();
    assert_eq!(error, format!("--data {}: another sandbox uses this directory", dir.path().display()));
    drop(lock);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_in_a_data_directory_are_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { data: Some(dir.path().to_owned()), ..options() };
    let plane = Plane::start(options.clone()).await.unwrap();
    assert!(trial::run(&plane, Duration::from_secs(30), |_| {}).await.iter().all(|outcome| outcome.result.is_ok()));
    plane.stop().await;
    let plane = Plane::start(options).await.unwrap();
    let scan = plane.clients().dynamodb.scan().table_name("consumer-tenant-3").send().await.unwrap();
    assert_eq!(scan.count, 1);
    plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_identity_on_a_tenant_needs_its_token_which_the_front_door_gives_out() {
    let plane = Plane::start(Options { auth: true, ..options() }).await.unwrap();
    let door = format!("http://{}", plane.front_door());
    let post = async |path: &str, tenant: &str, more: &[(&str, &str)]| {
        let (status, body) = ask::post(&format!("{door}{path}"), tenant, more, "{}".to_owned()).await.unwrap();
        (status.as_u16(), String::from_utf8_lossy(&body).into_owned())
    };
    assert_eq!(post("/producer", "tenant-1", &[]).await.0, 401);
    let (status, answer) = post("/token?tenant=tenant-1", "tenant-1", &[]).await;
    assert_eq!(status, 200, "{answer}");
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["token_type"], &answer["expires_in"]), (&"Bearer".into(), &3_600.into()));
    let bearer = format!("Bearer {}", answer["access_token"].as_str().unwrap());
    let token = [("Authorization", bearer.as_str())];
    assert_eq!(post("/producer", "tenant-1", &token).await.0, 200);
    assert_eq!(post("/producer", "tenant-2", &token).await.0, 403);
    for unknown in ["/token", "/token?tenant=", "/token?tenant=nobody", "/token?tenant=../tenant-1"] {
        assert_eq!(post(unknown, "tenant-1", &[]).await.0, 404, "{unknown}");
    }
    // What the sandbox itself tries out carries the tenant's token.
    assert!(trial::run(&plane, Duration::from_secs(30), |_| {}).await.iter().all(|outcome| outcome.result.is_ok()));
    plane.stop().await;
}
