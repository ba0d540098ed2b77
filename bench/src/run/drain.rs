//! Draining a queue that was filled before: throughput, and what a message costs.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::post::{SILO, bytes, mib, micros};
use super::subject::Subject;
use super::{Bench, Found};

/// How often the queue is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Messages that are drained before the measurement, and how long that may take.
const WARM_UP: (u64, Duration) = (5_000, Duration::from_secs(3));

/// A drain.
#[derive(Debug, Clone)]
pub(super) struct Drain {
    pub(super) messages: u64,
    pub(super) body_bytes: usize,
    pub(super) latency_ms: u64,
    /// When to stop although messages are left: the rate is known by then.
    pub(super) most: Duration,
}

impl Drain {
    /// The case as tables name it.
    pub(super) fn name(&self) -> String {
        format!("{}, {} ms", bytes(self.body_bytes), self.latency_ms)
    }

    /// Starts `subject` at an empty queue, fills the queue, and measures how it is drained.
    pub(super) fn measure(&self, bench: &Bench, subject: Subject) -> io::Result<Found> {
        let queue = format!("consumer-{SILO}");
        bench.aws.begin(self.latency_ms)?;
        let running = subject.start(&bench.places, SILO, &bench.aws)?;
        sleep(Duration::from_millis(300));
        let idle = running.usage()?;
        // Connections, code that is compiled as it runs, the pollers' number: what a service has after its first minute.
        bench.aws.preload(SILO, WARM_UP.0, self.body_bytes)?;
        self.wait_for(bench, WARM_UP.0, WARM_UP.1)?;
        let deleted_before = bench.aws.depth(&queue)?.deleted;
        let before = running.usage()?;
        bench.aws.reset()?;
        bench.aws.preload(SILO, self.messages, self.body_bytes)?;
        let aws_before = bench.aws.usage()?;
        let began = Instant::now();
        let all = WARM_UP.0 + self.messages;
        let deleted_after = self.wait_for(bench, all, self.most)?;
        let deleted = deleted_after - deleted_before;
        let took = began.elapsed();
        let (after, aws_after) = (running.usage()?, bench.aws.usage()?);
        let counts = bench.aws.counts()?;
        if deleted == 0 {
            return Err(io::Error::other(format!("{} has deleted no message", subject.name())));
        }
        if deleted_after == all && counts.records != all {
            let text = format!("{}: {deleted_after} messages deleted, {} records", subject.name(), counts.records);
            return Err(io::Error::other(text));
        }
        let messages = deleted as f64;
        let calls = |names: &[&str]| names.iter().map(|name| counts.of(name)).sum::<u64>() as f64 / messages;
        let mut found = Found::new();
        let mut set = |name: &str, value: f64| found.insert(name.to_owned(), value);
        set("per_second", messages / took.as_secs_f64());
        set("messages", messages);
        set("cpu_us", micros(before, after) / messages);
        set("aws_cpu_us", micros(aws_before, aws_after) / messages);
        set("receives", calls(&["ReceiveMessage"]));
        set("writes", calls(&["BatchWriteItem", "PutItem"]));
        set("deletes", calls(&["DeleteMessageBatch", "DeleteMessage"]));
        set("idle_mib", mib(idle.resident_kib));
        set("peak_mib", mib(after.peak_kib));
        Ok(found)
    }

    /// Waits until so many messages were deleted, or until `most` has passed; how many were.
    fn wait_for(&self, bench: &Bench, messages: u64, most: Duration) -> io::Result<u64> {
        let began = Instant::now();
        loop {
            let depth = bench.aws.depth(&format!("consumer-{SILO}"))?;
            if depth.deleted >= messages || began.elapsed() >= most {
                return Ok(depth.deleted);
            }
            sleep(LOOK_EVERY);
        }
    }
}
