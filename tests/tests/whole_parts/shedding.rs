//! More than fits: who is beyond is told so at once, who was let in is answered in time, and memory stays where it was.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tests::http::{Answer, Http};
use tests::matrix::{assert_honest, assert_in_time};
use tests::scripted::{Aws, Fault, Op};
use tests::service::{Kind, Service};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{QUEUE, acme, launch};

const MIB: usize = 1_048_576;

/// How long a request of the first test holds its place, at least.
const HELD: Duration = Duration::from_secs(2);

/// So many requests at once, each over a connection of its own.
async fn at_once(service: &Service, count: usize, body: &str) -> Vec<Answer> {
    let mut running = JoinSet::new();
    for _ in 0..count {
        let (url, body) = (format!("{}/producer", service.url), body.to_owned());
        running.spawn(async move { Http::new().post(&url, &[("tenantID", "acme")], body).await });
    }
    running.join_all().await
}

fn taken(answers: &[Answer]) -> usize {
    answers.iter().filter(|answer| answer.status == 200).count()
}

/// Those that were turned away: a 503 in our words, with a time to come back, at once.
#[track_caller]
fn assert_turned_away_at_once(answers: &[Answer]) -> usize {
    let away: Vec<&Answer> = answers.iter().filter(|answer| answer.status != 200).collect();
    for answer in &away {
        assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, "1"), "{}", answer.text());
        assert_honest(answer);
        // Not after the request's time, which is 10 s here.
        assert!(answer.took < Duration::from_secs(8), "told after {:?}", answer.took);
    }
    away.len()
}

/// The ids of the events in the queue. A call that was not answered in time is made again: then one event is there twice.
fn queued(aws: &Aws) -> BTreeSet<String> {
    aws.messages(QUEUE).into_iter().filter_map(|mut message| message.attributes.remove("message_id")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_beyond_capacity_are_told_at_once_and_those_within_it_meet_their_deadline() {
    let aws = acme();
    let service = launch(Kind::Producer, &aws).set("MAX_REQUESTS", "20").set("REQUEST_TIMEOUT", "10s").start().await;
    let mut memory = 0;
    for round in 0..6 {
        let slow = aws.on(Op::SendMessageBatch).fail(Fault::Late(HELD));
        let (before, start) = (queued(&aws), Instant::now());
        let answers = at_once(&service, 200, "{\"n\":1}").await;
        // On a busy machine the last ones ask when the first have their answers; so often each place may have been taken.
        let turns = usize::try_from(start.elapsed().as_secs() / HELD.as_secs()).expect("a few");
        slow.lift();
        let (taken, away) = (taken(&answers), assert_turned_away_at_once(&answers));
        let told = answers.iter().filter_map(|answer| answer.json()["message_id"].as_str().map(str::to_owned));
        assert!((20..=20 * turns).contains(&taken), "{taken} were let in, in {turns} turns of 20");
        assert!(away >= 100 && taken + away == 200, "{taken} were let in and {away} turned away");
        answers.iter().for_each(|answer| assert_in_time(answer, Duration::from_secs(10)));
        let told: BTreeSet<String> = told.collect();
        let added: BTreeSet<String> = queued(&aws).difference(&before).cloned().collect();
        assert_eq!((told.len(), &added), (taken, &told), "what was turned away is not in the queue");
        assert_eq!(service.event("acme", "{}").await.status, 200, "and the next one is served");
        // How many connections are open at once is a matter of chance: the first three rounds show how much they take.
        if round < 3 {
            memory = memory.max(service.process.usage().resident);
        }
    }
    let grown = service.process.usage().resident.saturating_sub(memory);
    assert!(grown < 4 * MIB, "{grown} bytes more after six rounds than after three");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_capacity_are_told_at_once_and_cost_nothing() {
    let aws = acme();
    let service = launch(Kind::Producer, &aws).set("MAX_CONNECTIONS", "40").start().await;
    let address = service.url.trim_start_matches("http://").to_owned();
    // Forty that were served, and stay open: for a minute, where one that has said nothing yet is let go after 10 s.
    let url = format!("{}/producer", service.url);
    let mut idle = Vec::new();
    for _ in 0..40 {
        let http = Http::new();
        assert_eq!(http.post(&url, &[("tenantID", "acme")], "{}").await.status, 200);
        idle.push(http);
    }
    let kept = idle.pop().expect("one of them");
    let before = service.process.usage();
    for _ in 0..4 {
        let mut beyond = JoinSet::new();
        for _ in 0..100 {
            let address = address.clone();
            beyond.spawn(async move {
                let start = Instant::now();
                let mut stream = TcpStream::connect(&address).await.expect("a connection");
                let mut told = String::new();
                stream.read_to_string(&mut told).await.expect("an answer and the end");
                (told, start.elapsed())
            });
        }
        for (told, took) in beyond.join_all().await {
            let lower = told.to_ascii_lowercase();
            assert!(lower.starts_with("http/1.1 503 ") && lower.contains("retry-after: 1\r\n"), "{told}");
            assert!(lower.contains("application/problem+json"), "{told}");
            // Not after the 10 s that a head may take.
            assert!(took < Duration::from_secs(8), "{took:?}");
        }
    }
    let after = service.process.usage();
    assert!(after.resident.saturating_sub(before.resident) < 4 * MIB, "{before:?} became {after:?}");
    assert_eq!(kept.post(&url, &[("tenantID", "acme")], "{}").await.status, 200, "who is in stays in");
    drop(idle);
    let start = Instant::now();
    // The service notices the ends one by one; then there is room again.
    while Http::new()
        .try_send(hyper::Method::POST, &url, &[("tenantID", "acme")], "{}")
        .await
        .map(|a| a.status.as_u16())
        != Ok(200)
    {
        assert!(start.elapsed() < Duration::from_secs(30), "no room after the others have gone");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_sqs_that_does_not_answer_fills_a_bounded_lane_and_memory_stays_flat() {
    let aws = acme();
    let service = launch(Kind::Producer, &aws)
        .set("REQUEST_TIMEOUT", "8s")
        .set("MAX_BODY_BYTES", "1048576")
        .set("MAX_BUFFERED_BYTES", "10485760")
        .start()
        .await;
    let body = format!("\"{}\"", "x".repeat(60_000));
    let rule = aws.on(Op::SendMessageBatch).fail(Fault::Stall);
    let mut after_first = 0;
    for round in 0..3 {
        // 24 MB of bodies where 10 MiB fit.
        let answers = at_once(&service, 400, &body).await;
        assert_eq!(taken(&answers), 0);
        let at_once = answers.iter().filter(|answer| answer.took < Duration::from_secs(6)).count();
        for answer in &answers {
            assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, "1"), "{}", answer.text());
            // A body has as long to arrive as the answer after it; whatever is stuck is let go after 17 s.
            assert!(answer.took < Duration::from_secs(16), "{:?}", answer.took);
        }
        assert!(at_once >= 100, "{at_once} of 400 were told at once, the others waited");
        if round == 0 {
            after_first = service.process.usage().resident;
        }
    }
    let usage = service.process.usage();
    assert!(usage.resident.saturating_sub(after_first) < 16 * MIB, "{after_first} became {usage:?}");
    assert!(usage.resident < 100 * MIB, "{usage:?}");
    rule.lift();
    aws.wait_until("the stalled calls to be given up", |aws| aws.open_connections() <= 1).await;
    assert_eq!(recovered(&service).await, 200);
}

/// The status when a client has come back as it was told to, a few times.
async fn recovered(service: &Service) -> u16 {
    let mut status = 0;
    for _ in 0..10 {
        status = service.event("acme", "{}").await.status.as_u16();
        if status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    status
}

/// What is said to one more, which announces as much and sends nothing yet: it holds nothing, and is told as soon as what it
/// announces does not fit.
async fn refused_once_there_is_no_room(address: &str, head: &str) -> String {
    let start = Instant::now();
    loop {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(head.as_bytes()).await.expect("it is taken");
        let mut told = [0; 64];
        if let Ok(read) = tokio::time::timeout(Duration::from_millis(200), stream.read(&mut told)).await {
            return String::from_utf8_lossy(&told[..read.expect("an answer")]).into_owned();
        }
        assert!(start.elapsed() < Duration::from_secs(14), "there is room for an eleventh");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_dawdle_are_held_to_the_memory_for_them() {
    let aws: Aws = acme();
    let service = launch(Kind::Producer, &aws)
        .set("MAX_BODY_BYTES", "1048576")
        .set("MAX_BUFFERED_BYTES", "1048576")
        .set("REQUEST_TIMEOUT", "15s")
        .start()
        .await;
    let address = service.url.trim_start_matches("http://").to_owned();
    let head = "POST /producer HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\ncontent-length: 100000\r\n\r\n";
    // Ten announce 100 kB and send all but the last byte; there is no room for an eleventh.
    let mut held = JoinSet::new();
    for _ in 0..10 {
        let mut stream = TcpStream::connect(&address).await.expect("a connection");
        held.spawn(async move {
            let most = format!("{head}\"{}", "x".repeat(99_998));
            stream.write_all(most.as_bytes()).await.expect("it is taken");
            let mut told = String::new();
            stream.read_to_string(&mut told).await.expect("an answer and the end");
            told
        });
    }
    assert!(refused_once_there_is_no_room(&address, head).await.starts_with("HTTP/1.1 503 "));
    let beyond = format!("\"{}\"", "x".repeat(100_000));
    assert_honest(&service.event("acme", &beyond).await);
    assert_eq!(service.event("acme", "{}").await.status, 200, "small ones fit all the while");
    for told in held.join_all().await {
        assert!(told.starts_with("HTTP/1.1 408 "), "{told}");
    }
    assert_eq!(service.event("acme", &beyond).await.status, 200, "their memory is free again");
}
