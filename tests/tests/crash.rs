//! Crashes: what a client was told is stored is stored, once, whatever is killed when.
//!
//! `CRASH_EVENTS`, `CRASH_KILLS` and `CRASH_SEED` change the size and the dice; the seed is printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tests::http::Http;
use tests::scripted::{Aws, Chaos, Cut, Fault, Op, QueueSpec, Which};
use tests::service::{Kind, Launch, Service};
use tokio::sync::watch;

const QUEUE: &str = "consumer-acme";
const DEAD: &str = "consumer-acme-dlq";
const CLIENTS: usize = 8;

/// Of the events with a key, one in so many is sent again after it was taken.
const REPEATED: usize = 20;

/// What clients were told, and what they tried.
#[derive(Default)]
struct Told {
    /// Bodies by the `message_id` of a 200.
    taken: Mutex<BTreeMap<String, String>>,
    /// Tries of events without a key that were not answered with 200, by body: each may be a record of its own.
    unknown: Mutex<BTreeMap<String, usize>>,
    count: AtomicUsize,
    /// Nothing is killed any more.
    last_kill: AtomicBool,
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().expect("a number"))
}

fn body_of(client: usize, n: usize) -> String {
    format!("{{\"client\":{client},\"n\":{n},\"text\":\"\u{e9}\u{1F600} \\u0000\",\"number\":1e400}}")
}

/// Every second client sends its events under keys: then one event is one record, however often it was tried.
fn key_of(client: usize, n: usize) -> Option<String> {
    client.is_multiple_of(2).then(|| format!("{client}-{n}"))
}

/// Sends an event until it is taken; where the producer is it reads anew for each try. Its `message_id`.
async fn taken(http: &Http, producer: &watch::Receiver<String>, told: &Told, body: &str, key: Option<&str>) -> String {
    let mut headers = vec![("tenantID", "acme"), ("content-type", "application/json")];
    headers.extend(key.map(|key| ("Idempotency-Key", key)));
    loop {
        let url = format!("{}/producer", producer.borrow().clone());
        // No answer means that nothing is known; the client tries again.
        match http.try_send(hyper::Method::POST, &url, &headers, body.to_owned()).await {
            Ok(answer) if answer.status == 200 => {
                return answer.json()["message_id"].as_str().expect("a message_id").to_owned();
            }
            Ok(answer) => assert_eq!(answer.status, 503, "{}", answer.text()),
            Err(_) => {}
        }
        if key.is_none() {
            *told.unknown.lock().unwrap_or_else(PoisonError::into_inner).entry(body.to_owned()).or_default() += 1;
        }
        // As Retry-After says, but in the time of a test.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Sends its events one after another and goes on until the last service was killed. Returns how many it sent.
async fn client(client: usize, events: usize, producer: watch::Receiver<String>, told: Arc<Told>) -> usize {
    let http = Http::new();
    let mut n = 0;
    while n < events || !told.last_kill.load(Ordering::SeqCst) {
        let (body, key) = (body_of(client, n), key_of(client, n));
        let id = taken(&http, &producer, &told, &body, key.as_deref()).await;
        if key.is_some() && n.is_multiple_of(REPEATED) {
            // As if its answer had been lost, which kills alone do too seldom.
            assert_eq!(
                taken(&http, &producer, &told, &body, key.as_deref()).await,
                id,
                "another id under the same key"
            );
        }
        told.taken.lock().unwrap_or_else(PoisonError::into_inner).insert(id, body);
        told.count.fetch_add(1, Ordering::SeqCst);
        n += 1;
    }
    n
}

fn misbehaviour(seed: u64) -> Chaos {
    Chaos::seeded(seed)
        .with(Op::SendMessageBatch, Fault::Throttled, 0.02)
        .with(Op::SendMessageBatch, Fault::CutAfter(Cut::Reset), 0.02)
        .with(Op::SendMessageBatch, Fault::CutBefore(Cut::Close), 0.02)
        .with(
            Op::SendMessageBatch,
            Fault::FailEntries { which: Which::First(1), code: "InternalError", sender_fault: false },
            0.02,
        )
        .with(Op::ReceiveMessage, Fault::Throttled, 0.01)
        .with(Op::ReceiveMessage, Fault::Duplicates, 0.05)
        .with(Op::ReceiveMessage, Fault::CutBefore(Cut::Reset), 0.01)
        .with(Op::BatchWriteItem, Fault::Throttled, 0.03)
        .with(Op::BatchWriteItem, Fault::Unprocessed(Which::First(3)), 0.05)
        .with(Op::BatchWriteItem, Fault::CutAfter(Cut::Reset), 0.02)
        .with(Op::DeleteMessageBatch, Fault::Unavailable, 0.02)
        .with(Op::DeleteMessageBatch, Fault::CutBefore(Cut::Close), 0.02)
        .with(
            Op::DeleteMessageBatch,
            Fault::FailEntries { which: Which::First(2), code: "InternalError", sender_fault: false },
            0.02,
        )
        .with(Op::GetParameters, Fault::Throttled, 0.2)
}

fn launches(aws: &Aws) -> [Launch; 3] {
    let consumer =
        Launch::new(Kind::Consumer, aws, "acme").set("VISIBILITY_TIMEOUT", "5s").set("SHUTDOWN_TIMEOUT", "10s");
    [Launch::new(Kind::Producer, aws, "acme").set("SHUTDOWN_TIMEOUT", "10s"), consumer.clone(), consumer]
}

/// Kills one of the services and starts it anew.
async fn kill(service: &mut Service, launch: &Launch, hard: bool) {
    if hard {
        service.process.signal("KILL").await;
        service.process.ended().await;
    } else {
        let (code, took) = service.stop().await;
        assert_eq!(code, Some(0), "{}", service.process.story());
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
    *service = launch.start().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_was_told_is_stored_once_whatever_is_killed_when() {
    let (events, kills) = (number("CRASH_EVENTS", 4_000) as usize, number("CRASH_KILLS", 14));
    let seed = number("CRASH_SEED", fastrand::u64(..1_000_000));
    println!("CRASH_SEED={seed} CRASH_EVENTS={events} CRASH_KILLS={kills}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let aws = Aws::builder().without_log().start();
    aws.provision("acme");
    // Each SIGKILL of a consumer uses up a receive of what it had in hand: that is not what is tried here.
    aws.create_queue(QueueSpec::named(QUEUE).redrive(DEAD, 50));
    let launches = launches(&aws);
    let mut services = Vec::new();
    for launch in &launches {
        services.push(launch.start().await);
    }
    aws.chaos(Some(misbehaviour(seed)));
    let (producer_is_at, producer) = watch::channel(services[0].url.clone());
    let told = Arc::new(Told::default());
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        let (producer, told) = (producer.clone(), Arc::clone(&told));
        clients.spawn(async move { (number, client(number, events / CLIENTS, producer, told).await) });
    }
    for _ in 0..kills {
        // Moments are counted in events, so that they fall into the load however fast the machine is.
        let until = told.count.load(Ordering::SeqCst) + dice.usize(1..=events / (kills as usize + 1));
        let told_so_far = Arc::clone(&told);
        aws.wait_until("the next events to be taken", move |_| told_so_far.count.load(Ordering::SeqCst) >= until).await;
        let (which, hard) = (dice.usize(0..3), dice.bool());
        kill(&mut services[which], &launches[which], hard).await;
        producer_is_at.send_replace(services[0].url.clone());
    }
    told.last_kill.store(true, Ordering::SeqCst);
    let clients = clients.join_all().await;
    aws.chaos(None);
    let taken = told.taken.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let sent = clients.iter().map(|(_, count)| count).sum::<usize>();
    println!("{sent} events, {kills} kills");
    assert!(sent >= events / CLIENTS * CLIENTS);
    assert_eq!(taken.len(), sent, "an id was told twice");
    aws.wait_until("the queue to be empty", |aws| aws.queue(QUEUE).is_empty()).await;

    let rows: BTreeMap<String, String> =
        aws.rows(QUEUE).into_iter().map(|row| (row.sort.clone(), row.get("body").to_owned())).collect();
    let lost: Vec<_> = taken.iter().filter(|(id, body)| rows.get(*id) != Some(body)).take(5).collect();
    assert!(lost.is_empty(), "told as taken, but not in the table as sent: {lost:?}");
    // What else is there is of tries without a 200, no more of an event than it had of those, and none of an event with a key.
    let mut unknown = told.unknown.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut may_be_there = |body: &String| {
        let tries = unknown.get_mut(body).filter(|tries| **tries > 0);
        tries.map(|tries| *tries -= 1).is_some()
    };
    let strange: Vec<_> =
        rows.iter().filter(|(id, body)| taken.get(*id) != Some(body) && !may_be_there(body)).collect();
    assert!(strange.is_empty(), "{} rows too many: {:?}", strange.len(), &strange[..strange.len().min(5)]);
    println!("{} rows, {} of them of tries without an answer", rows.len(), rows.len() - taken.len());
    assert_eq!((aws.row_count(QUEUE), aws.queue(DEAD).len()), (rows.len(), 0));
}
