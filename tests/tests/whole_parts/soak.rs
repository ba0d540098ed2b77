//! A soak: steady load on all three services, and what they take of the machine stays flat. `SOAK` (such as `10m`) says how long.

use std::time::{Duration, Instant};

use serde_json::json;
use tests::http::Http;
use tests::measure::Usage;
use tests::scripted::{Aws, Fault, Op, Which};
use tests::service::{Kind, Launch, Service};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const KIB: usize = 1_024;

fn length() -> Duration {
    let text = std::env::var("SOAK").unwrap_or_else(|_| "40s".to_owned());
    let span: tenancy::config::Span =
        text.parse().unwrap_or_else(|_| panic!("SOAK is a duration such as 10m, not {text}"));
    span.get()
}

/// One client of many kinds: what it does, over and over, about so often.
async fn every(pause: Duration, stop: CancellationToken, act: impl AsyncFn(usize)) {
    for n in 0.. {
        if stop.is_cancelled() {
            return;
        }
        act(n).await;
        tokio::time::sleep(pause).await;
    }
}

/// Load as a day brings it: steady clients, clients that come for one request, batches, payments, strangers, wrong requests and
/// clients that leave before they are answered.
fn load(producer: &Service, payments: &Service, stop: &CancellationToken) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    for number in 0..4 {
        let (http, url, stop) = (Http::new(), format!("{}/producer", producer.url), stop.clone());
        clients.spawn(every(Duration::from_millis(10), stop, async move |n| {
            let size = if n % 50 == 0 { 20_000 } else { 200 };
            let body = format!("{{\"client\":{number},\"n\":{n},\"text\":\"{}\"}}", "x".repeat(size));
            assert_eq!(http.post(&url, &[("tenantID", "acme")], body).await.status, 200);
        }));
    }
    let (url, stopping) = (format!("{}/producer", producer.url), stop.clone());
    clients.spawn(every(Duration::from_millis(20), stopping, async move |n| {
        let http = Http::new();
        match n % 4 {
            0 => assert_eq!(http.post(&url, &[("tenantID", "acme")], "{}").await.status, 200),
            1 => assert!(
                [404, 503]
                    .contains(&http.post(&url, &[("tenantID", &format!("stranger-{n}"))], "{}").await.status.as_u16())
            ),
            2 => assert_eq!(http.post(&url, &[("tenantID", "acme")], "{").await.status, 400),
            _ => {
                // Gone before the answer.
                let leaving = http.post(&url, &[("tenantID", "acme")], "{\"left\":true}");
                let _ = tokio::time::timeout(Duration::from_micros(500), leaving).await;
            }
        }
    }));
    let (http, url, stopping) = (Http::new(), format!("{}/producer/batch", producer.url), stop.clone());
    clients.spawn(every(Duration::from_millis(200), stopping, async move |n| {
        let events: Vec<_> = (0..50).map(|event| json!({"batch": n, "event": event})).collect();
        assert_eq!(http.post(&url, &[("tenantID", "acme")], json!(events).to_string()).await.status, 200);
    }));
    let (http, url, stopping) = (Http::new(), format!("{}/payments", payments.url), stop.clone());
    clients.spawn(every(Duration::from_millis(20), stopping, async move |n| {
        let body = json!({"amount": "12.50", "currency": "EUR", "reference": format!("order {n}")}).to_string();
        let key = format!("key-{}", n / 2);
        let status = http.post(&url, &[("tenantID", "acme"), ("Idempotency-Key", &key)], body).await.status;
        assert!(status == 202 || n % 2 == 1 && status == 422, "{status}");
    }));
    clients
}

/// The middle of these numbers.
fn median(numbers: impl Iterator<Item = usize>) -> usize {
    let mut numbers: Vec<usize> = numbers.collect();
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

/// Held between the first third after the warm-up and the last.
#[track_caller]
fn assert_flat(name: &str, samples: &[Usage]) {
    let third = samples.len() / 3;
    let (first, last) = (&samples[..third], &samples[samples.len() - third..]);
    let of = |samples: &[Usage], what: fn(&Usage) -> usize| median(samples.iter().map(what));
    let (descriptors, threads) = (of(last, |usage| usage.descriptors), of(last, |usage| usage.threads));
    let before = of(first, |usage| usage.descriptors);
    assert!(descriptors <= before + before / 4 + 8, "{name}: {before} descriptors became {descriptors}");
    let before = of(first, |usage| usage.threads);
    assert!(threads <= before + 1, "{name}: {before} threads became {threads}");
    let (before, resident) = (of(first, |usage| usage.resident), of(last, |usage| usage.resident));
    println!("{name}: {} KiB, then {} KiB; {descriptors} descriptors, {threads} threads", before / KIB, resident / KIB);
    // What the consumer has in hand depends on how far it is behind, and so on who else uses the machine.
    assert!(resident <= before + before / 10 + 4_096 * KIB, "{name}: {before} bytes became {resident}");
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptors_threads_and_memory_stay_flat_under_steady_load() {
    let length = length();
    let aws = Aws::builder().without_log().start();
    aws.provision("pool-1");
    aws.register("acme", "pool-1");
    let launch = |kind| Launch::new(kind, &aws, "pool-1");
    let producer = launch(Kind::Producer).start().await;
    let consumer = launch(Kind::Consumer).set("SHUTDOWN_TIMEOUT", "5s").start().await;
    let payments = launch(Kind::Payments).start().await;
    // AWS as it is: now and then it throttles, or does part of the work.
    aws.chaos(Some(
        tests::scripted::Chaos::seeded(7)
            .with(Op::SendMessageBatch, Fault::Throttled, 0.01)
            .with(Op::BatchWriteItem, Fault::Unprocessed(Which::First(1)), 0.02)
            .with(Op::DeleteMessageBatch, Fault::Unavailable, 0.01),
    ));
    let stop = CancellationToken::new();
    let mut clients = load(&producer, &payments, &stop);
    let (start, warm) = (Instant::now(), (length / 4).min(Duration::from_secs(60)));
    let services = [&producer, &consumer, &payments];
    let mut samples: [Vec<Usage>; 3] = Default::default();
    while start.elapsed() < length {
        tokio::select! {
            ended = clients.join_next() => panic!("a client failed: {ended:?}"),
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
        if start.elapsed() >= warm {
            for (service, samples) in services.iter().zip(&mut samples) {
                samples.push(service.process.usage());
            }
        }
    }
    stop.cancel();
    clients.join_all().await;
    aws.chaos(None);
    for (service, samples) in services.iter().zip(&samples) {
        assert_flat(service.kind.name(), samples);
    }
    aws.wait_until("an empty queue", |aws| aws.queue("consumer-pool-1").is_empty()).await;
    assert!(aws.queue("consumer-pool-1-dlq").is_empty());
    let rows = aws.row_count("consumer-pool-1");
    println!("{rows} records in {length:?}");
    assert!(rows > 500, "too little load to prove anything: {rows} records");
}
