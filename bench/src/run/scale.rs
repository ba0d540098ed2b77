//! Many tenants: their number, ids that nobody has, and one tenant whose queue is slow.

use std::io;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::post::{mib, micros};
use super::subject::{Running, Subject};
use super::{Bench, Found};
use crate::load::{self, Outcome, Plan, Target};

/// The environment that pooled producers are measured in.
pub(super) const POOL: &str = "pool-1";

/// The prefix of tenants with a queue of their own.
const OWN: &str = "own";

/// The tenant whose queue is slow or throttled: none of the others.
const SLOW: &str = "own-9999999";

/// Tenants beside the slow one, and what they post a second together.
const OTHERS: (u64, f64) = (100, 1_000.0);

/// What the slow one posts a second.
const ITS_RATE: f64 = 20.0;

/// Lookups that may wait at a time; more are answered 503.
const LOOKUPS: usize = 16;

pub(super) fn plan(to: &Running, target: Target, connections: usize, time: Duration) -> Plan {
    Plan::closed(to.address, target, connections, time)
}

/// Posts once for each of so many tenants with queues of their own, until each is known.
fn introduce(producer: &Running, tenants: u64) -> io::Result<()> {
    introduce_all(producer, OWN, tenants)
}

/// Posts once for each of so many tenants called `prefix` and a number, until each is known.
pub(super) fn introduce_all(producer: &Running, prefix: &str, tenants: u64) -> io::Result<()> {
    let target = Target::for_each_tenant("/producer", prefix, tenants, &load::event(100));
    // Each pass posts for every tenant once; whom a pass did not get to know, the next one does.
    for _ in 0..3 {
        let most = Some(tenants);
        let pass = Plan { most, ..plan(producer, target.clone(), LOOKUPS, Duration::from_secs(3_600)) };
        if load::run(&pass)?.failed() == 0 {
            return Ok(());
        }
    }
    Err(io::Error::other("the producer does not get to know its tenants"))
}

/// A pool's producer that knows so many tenants, each with its own queue: several loads of one process.
pub(super) fn tenants(bench: &Bench, count: u64, mut keep: impl FnMut(u32, Found) -> io::Result<()>) -> io::Result<()> {
    bench.aws.begin(0)?;
    let producer = Subject::Producer.start(&bench.places, POOL, &bench.aws)?;
    introduce(&producer, count)?;
    let target = Target::for_each_tenant("/producer", OWN, count, &load::event(100));
    for run in 1..=bench.rounds {
        bench.aws.reset()?;
        let before = producer.usage()?;
        let outcome = load::run(&plan(&producer, target.clone(), 64, Duration::from_secs_f64(bench.seconds)))?;
        let after = producer.usage()?;
        let counts = bench.aws.counts()?;
        let requests = outcome.ok().max(1) as f64;
        let quantiles = outcome.latencies.quantiles();
        let mut found = Found::new();
        let mut set = |name: &str, value: f64| found.insert(name.to_owned(), value);
        set("per_second", outcome.per_second());
        set("failed", outcome.failed() as f64);
        set("cpu_us", micros(before, after) / requests);
        set("sqs_calls", counts.of("SendMessageBatch") as f64 / requests);
        set("ssm_calls", counts.of("GetParameters") as f64);
        set("p50_ms", quantiles.p50);
        set("p99_ms", quantiles.p99);
        set("peak_mib", mib(after.peak_kib));
        keep(run, found)?;
    }
    Ok(())
}

/// So many ids that nobody has, as fast as they are answered, beside a known tenant at a fixed rate.
pub(super) fn unknown(bench: &Bench, ids: u64) -> io::Result<Found> {
    bench.aws.begin(0)?;
    let producer = Subject::Producer.start(&bench.places, POOL, &bench.aws)?;
    introduce(&producer, 1)?;
    bench.aws.reset()?;
    let before = producer.usage()?;
    let strange = Target::for_each_tenant("/producer", "nobody", ids, &load::event(100));
    let flood = Plan { most: Some(ids), ..plan(&producer, strange, 64, Duration::from_secs(120)) };
    let known = Target::for_each_tenant("/producer", OWN, 1, &load::event(100));
    let known = Plan { rate: Some(200.0), ..plan(&producer, known, 64, Duration::from_secs_f64(bench.seconds * 2.0)) };
    let (flood, known) = both(flood, known)?;
    let after = producer.usage()?;
    let answers = flood.statuses.values().sum::<u64>().max(1) as f64;
    let status = |code| flood.statuses.get(&code).copied().unwrap_or_default() as f64;
    let mut found = Found::new();
    let mut set = |name: &str, value: f64| found.insert(name.to_owned(), value);
    set("answers_per_second", answers / flood.took.as_secs_f64());
    set("answered_404", status(404));
    set("answered_503", status(503));
    set("lost", flood.lost as f64);
    set("cpu_us", micros(before, after) / answers);
    set("ssm_calls", bench.aws.counts()?.of("GetParameters") as f64);
    set("seconds", flood.took.as_secs_f64());
    set("known_failed", known.failed() as f64);
    set("known_p99_ms", known.latencies.at(0.99));
    set("peak_mib", mib(after.peak_kib));
    Ok(found)
}

/// How one tenant's queue behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// As the others'.
    None,
    /// Each call takes five seconds.
    Slow,
    /// Every call is throttled.
    Throttled,
}

impl Trouble {
    pub(super) const ALL: [Self; 3] = [Self::None, Self::Slow, Self::Throttled];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "all alike",
            Self::Slow => "one tenant's queue answers in 5 s",
            Self::Throttled => "one tenant's queue throttles every call",
        }
    }
}

/// A hundred tenants post at a fixed rate while another one, whose queue is in trouble, posts as well.
pub(super) fn slow(bench: &Bench, trouble: Trouble) -> io::Result<Found> {
    bench.aws.begin(5)?;
    let producer = Subject::Producer.start(&bench.places, POOL, &bench.aws)?;
    introduce(&producer, OTHERS.0)?;
    let event = load::event(100);
    // Long enough for a p99 that single hiccups of the machine do not make.
    let time = Duration::from_secs_f64(bench.seconds * 8.0);
    let others = Target::for_each_tenant("/producer", OWN, OTHERS.0, &event);
    let others = Plan { rate: Some(OTHERS.1), ..plan(&producer, others, 128, time) };
    // What it sends piles up until the requests' deadline; what is still open at the end is of no interest.
    let one = Target::post("/producer", SLOW, &event);
    let one = Plan { rate: Some(ITS_RATE), patience: Duration::ZERO, ..plan(&producer, one, 256, time) };
    load::run(&Plan { most: Some(1), patience: load::PATIENCE, ..one.clone() })?;
    load::run(&Plan { time: Duration::from_secs(1), ..others.clone() })?;
    let queue = format!("consumer-{SLOW}");
    match trouble {
        Trouble::None => {}
        Trouble::Slow => bench.aws.rule(&queue, &json!({"latency_ms": 5_000}))?,
        Trouble::Throttled => bench.aws.rule(&queue, &json!({"calls_per_second": 0}))?,
    }
    let (others, one) = both(others, one)?;
    let quantiles = others.latencies.quantiles();
    let mut found = Found::new();
    let mut set = |name: &str, value: f64| found.insert(name.to_owned(), value);
    set("others_p50_ms", quantiles.p50);
    set("others_p99_ms", quantiles.p99);
    set("others_failed", others.failed() as f64);
    set("its_p50_ms", one.latencies.at(0.5));
    set("its_failed", one.failed() as f64);
    set("peak_mib", mib(producer.usage()?.peak_kib));
    Ok(found)
}

/// Two loads at a time.
pub(super) fn both(one: Plan, other: Plan) -> io::Result<(Outcome, Outcome)> {
    thread::scope(|scope| {
        let first = scope.spawn(|| load::run(&one));
        let second = load::run(&other);
        let first = first.join().unwrap_or_else(|_| Err(io::Error::other("a load has panicked")));
        Ok((first?, second?))
    })
}
