//! The command line: start the plane, try it, keep it up until a signal.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tenancy::config::Traces;
use tenancy::trace;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::broadcast::error::RecvError;

use crate::plane::roster::{Roster, Tenant};
use crate::plane::{Options, Plane};
use crate::{report, trial};

/// How long the last spans may take to reach a collector.
const FLUSH: Duration = Duration::from_secs(3);

/// The whole tenant plane on this machine: an embedded AWS, a pool, tenants of each tier, and a front door that routes by the
/// header TenantID as the load balancer does. It posts an event for each tenant, shows the records, and stays up.
///
/// The services' own settings are taken from the environment, for all of them alike (DIRECTORY_TTL, VISIBILITY_TIMEOUT, …).
#[derive(Debug, Parser)]
#[command(name = "sandbox")]
pub struct Arguments {
    /// Ends after the trial: with 0 when every event became a record, with 1 otherwise.
    #[arg(long)]
    once: bool,

    /// Adds a tenant, such as acme=advanced, to tenant-1 (basic), tenant-2 (advanced) and tenant-3 (premium); may be repeated.
    #[arg(long = "tenant", value_name = "ID=TIER")]
    tenants: Vec<Tenant>,

    /// Keeps the tables in this directory, over restarts. Messages in flight are not kept.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Port of the front door on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 8080)]
    port: u16,

    /// Port of the embedded AWS on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 4566)]
    aws_port: u16,

    /// Region of the queues, tables and parameters.
    #[arg(long, default_value = "eu-central-1", value_parser = region)]
    region: String,

    /// Requests need a bearer token, which POST /token?tenant=ID at the front door gives out.
    #[arg(long)]
    auth: bool,

    /// How long an event may take to become a record, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    patience: u64,

    /// Where the spans of all services go.
    #[command(flatten)]
    traces: Traces,
}

fn region(text: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let has_form = (1..=32).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('-');
    if has_form { Ok(text.to_owned()) } else { Err("a region is written like eu-central-1".to_owned()) }
}

/// Runs the sandbox; the status to exit with.
pub async fn run(arguments: Arguments) -> ExitCode {
    let Ok(mut stop) = Stop::new() else {
        return fail("signals cannot be handled");
    };
    let roster = match Roster::new(&arguments.tenants) {
        Ok(roster) => roster,
        Err(error) => return fail(&format!("--tenant: {error}")),
    };
    let options = Options {
        roster,
        region: arguments.region.clone(),
        port: arguments.port,
        aws_port: arguments.aws_port,
        data: arguments.data.clone(),
        auth: arguments.auth,
    };
    let version = env!("CARGO_PKG_VERSION");
    let traced = arguments.traces.check();
    if let Err(error) = traced.and_then(|()| trace::install("sandbox", version, "sandbox", &arguments.traces)) {
        return fail(&error.to_string());
    }
    let plane = tokio::select! {
        started = Plane::start(options) => match started {
            Ok(plane) => plane,
            Err(error) => return fail(&error.to_string()),
        },
        () = stop.told() => return ExitCode::SUCCESS,
    };
    say(&format!("{}\n{}\n", report::addresses(&plane), report::tenants(plane.layout())));
    let tried = tokio::select! {
        landed = try_out(&plane, Duration::from_secs(arguments.patience)) => Some(landed),
        () = stop.told() => None,
    };
    let mut status = ExitCode::SUCCESS;
    match tried {
        Some(landed) if arguments.once => status = if landed { ExitCode::SUCCESS } else { ExitCode::FAILURE },
        Some(_) => {
            say(&format!(
                "\n{}\nRecords as they land (Ctrl-C ends everything):\n\n",
                report::commands(&plane, &arguments.region)
            ));
            tokio::select! {
                () = show_records(&plane) => {}
                () = stop.told() => {}
            }
        }
        None => {}
    }
    tokio::select! {
        () = async {
            plane.stop().await;
            trace::flush(FLUSH).await;
        } => status,
        // A second signal does not wait for anything.
        () = stop.told() => ExitCode::FAILURE,
    }
}

/// An event for each tenant; whether all landed.
async fn try_out(plane: &Plane, patience: Duration) -> bool {
    say("An event for each tenant:\n\n");
    let outcomes = trial::run(plane, patience, |outcome| say(&report::outcome(outcome))).await;
    let lost: Vec<&str> =
        outcomes.iter().filter(|outcome| outcome.result.is_err()).map(|outcome| outcome.tenant.id.as_str()).collect();
    if lost.is_empty() {
        say(&format!("\nAll {} events landed.\n", outcomes.len()));
    } else {
        say(&format!("\n{} of {} events did not land: {}\n", lost.len(), outcomes.len(), lost.join(", ")));
    }
    lost.is_empty()
}

/// Shows each record from now on.
async fn show_records(plane: &Plane) {
    let mut landings = plane.aws().watch_records();
    loop {
        match landings.recv().await {
            Ok(landing) => say(&report::landing(&landing, jiff::Timestamp::now())),
            Err(RecvError::Lagged(missed)) => say(&format!("  … {missed} more\n")),
            Err(RecvError::Closed) => return,
        }
    }
}

/// SIGINT and SIGTERM, which mean the same.
struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn new() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The next of them.
    async fn told(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Prints; a reader that has gone away is no reason to end.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

fn fail(text: &str) -> ExitCode {
    drop(writeln!(io::stderr(), "sandbox: {text}"));
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(arguments: &[&str]) -> String {
        Arguments::try_parse_from([&["sandbox"], arguments].concat()).unwrap_err().to_string()
    }

    #[test]
    fn options_have_the_documented_defaults() {
        let arguments = Arguments::try_parse_from(["sandbox"]).unwrap();
        assert_eq!((arguments.port, arguments.aws_port, arguments.patience), (8080, 4566, 30));
        assert_eq!((arguments.once, arguments.region.as_str(), arguments.data), (false, "eu-central-1", None));
    }

    #[test]
    fn a_bad_option_is_named_with_what_would_be_right() {
        assert!(
            error(&["--tenant", "acme"])
                .contains("'--tenant <ID=TIER>': a tenant is written ID=TIER, such as acme=advanced")
        );
        assert!(error(&["--tenant", "acme=gold"]).contains("a tier is basic, advanced or premium"));
        assert!(error(&["--region", "EU Central"]).contains("a region is written like eu-central-1"));
        assert!(error(&["--port", "70000"]).contains("--port"));
    }
}
