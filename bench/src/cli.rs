//! The command line.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::load::{Plan, Target, event};
use crate::run::{Bench, Part, Places, Results};
use crate::{aws, http, load, process, report};

/// Measures what the services cost.
#[derive(Debug, Parser)]
#[command(name = "bench")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// An AWS endpoint in memory (SQS, DynamoDB, SSM, STS) on 127.0.0.1 that counts calls. GET /bench/ lists its control routes.
    Aws {
        /// The port; 0 takes a free one. The address is printed.
        #[arg(long, default_value_t = 4570)]
        port: u16,
        /// How long each call takes, in milliseconds.
        #[arg(long, default_value_t = 0)]
        latency_ms: u64,
    },
    /// A load of POSTs; prints rate, statuses and latencies as JSON.
    Load(Load),
    /// Measures parts of the benchmark, all without one; results go to target/bench/results.jsonl.
    Run {
        /// The parts.
        parts: Vec<Part>,
        /// One short run of the most telling cases of each: a look, not a result.
        #[arg(long)]
        quick: bool,
        /// Runs of each case; five are the least for a result.
        #[arg(long)]
        rounds: Option<u32>,
    },
    /// Writes the tables of docs/benchmarks.md from the results.
    Report {
        /// Prints them instead.
        #[arg(long)]
        print: bool,
        /// Prints those of `run --quick`.
        #[arg(long)]
        quick: bool,
    },
    /// One request, such as `ask 127.0.0.1:4570 GET /bench/counts`; prints the answer's body.
    Ask {
        /// Where to, such as 127.0.0.1:4570.
        to: SocketAddr,
        /// GET or POST.
        method: String,
        /// The path.
        path: String,
        /// The body.
        #[arg(default_value = "")]
        body: String,
    },
    /// What a process has used so far: CPU seconds, resident memory and its peak in KiB.
    Usage {
        /// The process.
        pid: u32,
    },
}

#[derive(Debug, clap::Args)]
struct Load {
    /// Where to, such as 127.0.0.1:8080.
    #[arg(long)]
    to: SocketAddr,
    /// The route.
    #[arg(long, default_value = "/producer")]
    path: String,
    /// The tenant, or with --tenants the prefix of their ids.
    #[arg(long, default_value = "silo")]
    tenant: String,
    /// So many tenants in turn: TENANT-0000000 and so on.
    #[arg(long)]
    tenants: Option<u64>,
    /// Bytes of one event.
    #[arg(long, default_value_t = 100)]
    body_bytes: usize,
    /// Events in one request, to /producer/batch; 0 is one event to the route.
    #[arg(long, default_value_t = 0)]
    batch: usize,
    /// Connections.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// For how long, in seconds.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Requests a second (open loop, latency from when each was due); without it as many as are answered (closed loop).
    #[arg(long)]
    rate: Option<f64>,
    /// At most so many requests.
    #[arg(long)]
    most: Option<u64>,
}

impl Load {
    fn plan(&self) -> Plan {
        let event = event(self.body_bytes);
        let target = match (self.batch, self.tenants) {
            (0, None) => Target::post(&self.path, &self.tenant, &event),
            (0, Some(tenants)) => Target::for_each_tenant(&self.path, &self.tenant, tenants, &event),
            (events, _) => Target::batch(&self.tenant, &event, events),
        };
        let closed = Plan::closed(self.to, target, self.connections, Duration::from_secs_f64(self.seconds));
        Plan { rate: self.rate, most: self.most, ..closed }
    }
}

/// Runs a command; the status to exit with.
pub fn run(arguments: Arguments) -> ExitCode {
    let done = match arguments.command {
        Command::Aws { port, latency_ms } => serve(port, Duration::from_millis(latency_ms)),
        Command::Load(load) => load::run(&load.plan()).and_then(|outcome| say(&outcome.json().to_string())),
        Command::Run { parts, quick, rounds } => measure(&parts, quick, rounds),
        Command::Report { print: false, quick: false } => report::write(&Places::new()),
        Command::Report { quick, .. } => {
            Results::at(Places::new().results(quick)).read().and_then(|rows| say(&report::text(&rows)))
        }
        Command::Ask { to, method, path, body } => ask(to, &method, &path, &body),
        Command::Usage { pid } => process::usage(pid).and_then(|used| {
            let (cpu, resident, peak) = (used.cpu.as_secs_f64(), used.resident_kib, used.peak_kib);
            say(&serde_json::json!({"cpu_seconds": cpu, "resident_kib": resident, "peak_kib": peak}).to_string())
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "bench: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn serve(port: u16, latency: Duration) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| io::Error::new(error.kind(), format!("port {port} cannot be had: {error}")))?;
    say(&format!("http://{}", listener.local_addr()?))?;
    aws::serve(listener, latency)
}

fn measure(parts: &[Part], quick: bool, rounds: Option<u32>) -> io::Result<()> {
    let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let bench = Bench::new(quick, rounds, format!("bench {command}"))?;
    let parts = if parts.is_empty() { &Part::ALL[..] } else { parts };
    parts.iter().try_for_each(|part| bench.run(*part))
}

fn ask(to: SocketAddr, method: &str, path: &str, body: &str) -> io::Result<()> {
    let (status, body) = http::call(to, method, path, body)?;
    say(&String::from_utf8_lossy(&body))?;
    if status == 200 { Ok(()) } else { Err(io::Error::other(format!("{method} {path} was answered with {status}"))) }
}

/// Prints a line.
fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}
