//! From POST to record: producer and consumer of one tenant, at a fixed rate.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::post::{SILO, mib, micros};
use super::subject::Subject;
use super::{Bench, Found};
use crate::load::{self, Latencies, Plan, Target};

/// How long records are waited for after the last answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Connections: enough that none is waited for.
const CONNECTIONS: usize = 256;

pub(super) fn name(rate: f64, latency_ms: u64) -> String {
    format!("{rate:.0}/s, {latency_ms} ms")
}

/// Posts at `rate` and holds the time each record was written against the time its request was due.
pub(super) fn measure(bench: &Bench, rate: f64, latency_ms: u64) -> io::Result<Found> {
    bench.aws.begin(latency_ms)?;
    let consumer = Subject::Consumer.start(&bench.places, SILO, &bench.aws)?;
    let producer = Subject::Producer.start(&bench.places, SILO, &bench.aws)?;
    let target = Target::post("/producer", SILO, &load::event(100));
    let plan = |seconds: f64, keep_ids| {
        let time = Duration::from_secs_f64(seconds);
        Plan { rate: Some(rate), keep_ids, ..Plan::closed(producer.address, target.clone(), CONNECTIONS, time) }
    };
    load::run(&plan(1.0, false))?;
    bench.aws.reset()?;
    let used_before = (producer.usage()?, consumer.usage()?);
    let records_before = settled(bench, 0)?;
    let outcome = load::run(&plan(bench.seconds * 2.0, true))?;
    settled(bench, records_before + outcome.ok())?;
    let used = (producer.usage()?, consumer.usage()?);
    let counts = bench.aws.counts()?;
    let written = bench.aws.records()?;
    let mut latencies = Latencies::new();
    let mut missing = 0.0;
    for (id, due) in &outcome.ids {
        match written.get(id) {
            Some(at) => latencies.record_micros(at.saturating_sub(*due)),
            None => missing += 1.0,
        }
    }
    let quantiles = latencies.quantiles();
    let events = outcome.ok().max(1) as f64;
    let mut found = Found::new();
    let mut set = |name: &str, value: f64| found.insert(name.to_owned(), value);
    set("per_second", outcome.per_second());
    set("failed", outcome.failed() as f64);
    set("missing_records", missing);
    set("p50_ms", quantiles.p50);
    set("p99_ms", quantiles.p99);
    set("p999_ms", quantiles.p999);
    set("post_p99_ms", outcome.latencies.at(0.99));
    set("aws_calls", counts.calls.values().map(|count| count.calls).sum::<u64>() as f64 / events);
    set("producer_cpu_us", micros(used_before.0, used.0) / events);
    set("consumer_cpu_us", micros(used_before.1, used.1) / events);
    set("producer_peak_mib", mib(used.0.peak_kib));
    set("consumer_peak_mib", mib(used.1.peak_kib));
    Ok(found)
}

/// Waits until there are so many records, or, with 0, until no more come in; how many there are.
fn settled(bench: &Bench, wanted: u64) -> io::Result<u64> {
    let deadline = Instant::now() + PATIENCE;
    let mut last = u64::MAX;
    loop {
        let records = bench.aws.counts()?.records;
        let still = wanted == 0 && records == last;
        if still || (wanted > 0 && records >= wanted) || Instant::now() > deadline {
            return Ok(records);
        }
        last = records;
        sleep(Duration::from_millis(200));
    }
}
