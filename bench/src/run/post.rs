//! Posting events: throughput, latency, and what a request costs.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use super::subject::{Running, Subject};
use super::{Bench, Found};
use crate::load::{self, Plan, Target};
use crate::process::Usage;

/// The environment that producers are measured in.
pub(super) const SILO: &str = "silo";

/// How long a producer is warmed up.
const WARM_UP: Duration = Duration::from_millis(500);

/// A load.
#[derive(Debug, Clone)]
pub(super) struct Post {
    pub(super) connections: usize,
    pub(super) body_bytes: usize,
    /// Events in one request; 0 is the route for one event.
    pub(super) batch: usize,
    pub(super) latency_ms: u64,
    /// Requests a second, in open loop.
    pub(super) rate: Option<f64>,
}

/// What a service has, and its requests say, beyond the usual.
#[derive(Debug, Clone, Default)]
pub(super) struct With {
    /// Variables of its environment.
    pub(super) settings: Vec<(&'static str, String)>,
    pub(super) headers: Vec<(&'static str, String)>,
}

impl Post {
    /// One event of 100 B a request, as many as are answered.
    pub(super) fn small(connections: usize, latency_ms: u64) -> Self {
        Self { connections, body_bytes: 100, batch: 0, latency_ms, rate: None }
    }

    /// The case as tables name it.
    pub(super) fn name(&self) -> String {
        let body = bytes(self.body_bytes);
        let route = if self.batch > 0 { format!("batches of {}", self.batch) } else { "single".to_owned() };
        let rate = self.rate.map_or(String::new(), |rate| format!(", {rate:.0}/s"));
        format!("{} connections, {body}, {route}, {} ms{rate}", self.connections, self.latency_ms)
    }

    fn events(&self) -> f64 {
        self.batch.max(1) as f64
    }

    fn plan(&self, to: SocketAddr, time: Duration, with: &With) -> Plan {
        let event = load::event(self.body_bytes);
        let target = match self.batch {
            0 => Target::post("/producer", SILO, &event),
            events => Target::batch(SILO, &event, events),
        };
        let target = with.headers.iter().fold(target, |target, (name, value)| target.with(name, value));
        Plan { rate: self.rate, ..Plan::closed(to, target, self.connections, time) }
    }

    /// Starts `subject`, warms it up, and measures it.
    pub(super) fn measure(&self, bench: &Bench, subject: Subject) -> io::Result<Found> {
        self.measure_with(bench, subject, &With::default())
    }

    /// As [`Post::measure`], with further settings and headers.
    pub(super) fn measure_with(&self, bench: &Bench, subject: Subject, with: &With) -> io::Result<Found> {
        bench.aws.begin(self.latency_ms)?;
        let running = subject.start_with(&bench.places, SILO, &bench.aws.url(), &with.settings)?;
        let idle = running.usage()?;
        let time = Duration::from_secs_f64(bench.seconds);
        load::run(&self.plan(running.address, WARM_UP, with))?;
        let mut found = self.measure_running(bench, &running, time, with)?;
        found.insert("idle_mib".to_owned(), mib(idle.resident_kib));
        Ok(found)
    }

    /// Measures a process that is up and warm.
    fn measure_running(&self, bench: &Bench, running: &Running, time: Duration, with: &With) -> io::Result<Found> {
        bench.aws.reset()?;
        let (before, aws_before) = (running.usage()?, bench.aws.usage()?);
        let outcome = load::run(&self.plan(running.address, time, with))?;
        let (after, aws_after) = (running.usage()?, bench.aws.usage()?);
        let counts = bench.aws.counts()?;
        let requests = outcome.ok().max(1) as f64;
        let events = requests * self.events();
        let quantiles = outcome.latencies.quantiles();
        let mut found = Found::new();
        let mut set = |name: &str, value: f64| found.insert(name.to_owned(), value);
        set("per_second", outcome.per_second());
        set("events_per_second", outcome.per_second() * self.events());
        set("failed", outcome.failed() as f64);
        set("cpu_us", micros(before, after) / requests);
        set("cpu_us_per_event", micros(before, after) / events);
        set("aws_cpu_us", micros(aws_before, aws_after) / requests);
        set("sqs_calls", (counts.of("SendMessageBatch") + counts.of("SendMessage")) as f64 / events);
        set("ssm_calls", (counts.of("GetParameters") + counts.of("GetParameter")) as f64 / events);
        set("p50_ms", quantiles.p50);
        set("p99_ms", quantiles.p99);
        set("p999_ms", quantiles.p999);
        set("peak_mib", mib(after.peak_kib));
        Ok(found)
    }
}

/// CPU time between two looks, in microseconds.
pub(super) fn micros(before: Usage, after: Usage) -> f64 {
    (after.cpu.saturating_sub(before.cpu)).as_secs_f64() * 1e6
}

pub(super) fn mib(kib: u64) -> f64 {
    kib as f64 / 1_024.0
}

/// A size as tables name it.
pub(super) fn bytes(count: usize) -> String {
    if count >= 1_024 && count.is_multiple_of(1_024) { format!("{} KiB", count / 1_024) } else { format!("{count} B") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_names_all_that_it_varies() {
        assert_eq!(Post::small(64, 20).name(), "64 connections, 100 B, single, 20 ms");
        let post = Post { body_bytes: 65_536, batch: 10, rate: Some(500.0), ..Post::small(1, 0) };
        assert_eq!(post.name(), "1 connections, 64 KiB, batches of 10, 0 ms, 500/s");
    }

    #[test]
    fn cpu_time_is_what_was_used_between_two_looks() {
        let at = |millis| Usage { cpu: Duration::from_millis(millis), ..Usage::default() };
        assert_eq!(micros(at(100), at(350)), 250_000.0);
    }
}
