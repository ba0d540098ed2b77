//! The embedded AWS of the sandbox, as `make run` builds it, under our producer.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::post::{mib, micros};
use super::{Bench, Found, Part, Subject, say};
use crate::load::{self, Plan, Target};
use crate::process::usage;

/// What the sandbox's summary calls the embedded AWS.
const AWS: &str = "http://127.0.0.1:";

struct Sandbox(Child);

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Posts to a producer of ours that sends to the sandbox's AWS.
pub(super) fn run(bench: &Bench) -> io::Result<()> {
    let binary = bench.places.sandbox();
    if !binary.exists() {
        say(&format!("NOT RUN: the sandbox: {} is missing; make bench-build makes it", binary.display()));
        return Ok(());
    }
    let port = super::subject::free_port()?;
    let mut process = Command::new(binary)
        .args(["--port", "0", "--aws-port", &port.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .env("RUST_LOG", "warn")
        .spawn()?;
    let output = process.stdout.take();
    let sandbox = Sandbox(process);
    // It has made its queues and parameters when it has shown that events land.
    if let Some(output) = output {
        let mut lines = BufReader::new(output).lines();
        let landed = lines.by_ref().map_while(Result::ok).any(|line| line.contains("events landed"));
        if !landed {
            return Err(io::Error::other("the sandbox has ended before its events landed"));
        }
        std::thread::spawn(move || lines.for_each(drop));
    }
    let producer = Subject::Producer.start_at(&bench.places, "tenant-3", &format!("{AWS}{port}"))?;
    let target = Target::post("/producer", "tenant-3", &load::event(100));
    for run in 1..=bench.rounds {
        let time = Duration::from_secs_f64(bench.seconds);
        let plan = Plan::closed(producer.address, target.clone(), 64, time);
        let before = usage(sandbox.0.id())?;
        let outcome = load::run(&plan)?;
        let after = usage(sandbox.0.id())?;
        let quantiles = outcome.latencies.quantiles();
        let mut found = Found::new();
        let mut set = |name: &str, value: f64| found.insert(name.to_owned(), value);
        set("per_second", outcome.per_second());
        set("failed", outcome.failed() as f64);
        set("sandbox_cpu_us", micros(before, after) / outcome.ok().max(1) as f64);
        set("p50_ms", quantiles.p50);
        set("p99_ms", quantiles.p99);
        set("sandbox_peak_mib", mib(after.peak_kib));
        bench.keep(Part::Sandbox, "producer on the embedded AWS", "64 connections, 100 B", run, found)?;
    }
    Ok(())
}
