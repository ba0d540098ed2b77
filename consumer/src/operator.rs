//! What a person does by hand, with a role of their own: `consumer redrive` (dead letters) and `consumer purge` (the records of
//! a tenant that leaves).
//!
//! - `cli`: the command line
//! - `stop`: why a command ends early, in words that say what to do
//! - `calls`: calls that are tried again, and what is looked up first
//! - `pace`: the rate that a person allows
//!
//! Exit status: 0 everything asked for was done, 1 something was not, 2 the command line or a setting is wrong.

pub(crate) mod calls;
pub(crate) mod cli;
pub(crate) mod pace;
pub(crate) mod stop;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use tenancy::aws::Connect;
use tenancy::{process, telemetry};
use tokio_util::sync::CancellationToken;

use crate::operator::cli::{Command, Line};
use crate::operator::stop::Stop;

/// Whether the command line asks for one of the commands here, and not for the service.
pub(crate) fn is_asked(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|first| first == "redrive" || first == "purge")
}

/// Runs the command.
pub(crate) fn main(args: Vec<OsString>) -> ExitCode {
    let line = match Line::try_parse_from(args) {
        Ok(line) => line,
        Err(error) => {
            // Help goes to standard output and is success; clap knows which is which.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return ended(Err(Stop::Failed(error.to_string()))),
    };
    let outcome = runtime.block_on(run(line.command));
    runtime.shutdown_background();
    ended(outcome)
}

async fn run(command: Command) -> Result<bool, Stop> {
    telemetry::warn_on_stderr();
    let stopping = process::signals().map_err(|error| Stop::Failed(error.to_string()))?;
    let (connect, _) = Connect::from_env().map_err(|error| Stop::Usage(error.to_string()))?;
    let clients = connect.clients();
    match command {
        Command::Redrive(redrive) => crate::redrive::run(redrive, &clients, &stopping).await,
        Command::Purge(purge) => crate::purge::run(purge, &clients, &stopping).await,
    }
}

/// The exit status; why, if the command ended early.
fn ended(outcome: Result<bool, Stop>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(stop) => {
            note(format_args!("consumer: {stop}"));
            ExitCode::from(stop.code())
        }
    }
}

/// A line of result.
pub(crate) fn say(line: impl std::fmt::Display) {
    // A reader that has gone, as `head` does, is no reason to fail halfway.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A line about how it goes, beside the result.
pub(crate) fn note(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Waits for `time`; whether it was interrupted by a signal.
pub(crate) async fn pause(time: std::time::Duration, stopping: &CancellationToken) -> bool {
    tokio::select! {
        () = tokio::time::sleep(time) => stopping.is_cancelled(),
        () = stopping.cancelled() => true,
    }
}

/// `text` on one line of a terminal: what could drive the terminal, or turn the order of what is read, as escapes.
pub(crate) fn printable(text: &str) -> String {
    let drives = |c: char| {
        c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if drives(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_word_makes_a_command() {
        let asked = |words: &[&str]| is_asked(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(asked(&["consumer", "redrive", "list"]) && asked(&["consumer", "purge"]));
        assert!(!asked(&["consumer"]) && !asked(&["consumer", "--help"]) && !asked(&["consumer", "--host", "purge"]));
    }

    #[test]
    fn what_a_stranger_wrote_cannot_drive_a_terminal() {
        assert_eq!(printable("{\"a\":\"é\"}"), "{\"a\":\"é\"}");
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{9b}"), "a\\u{1b}[2Jb\\nc\\u{9b}");
        assert_eq!(printable("evil\u{202e}cod"), "evil\\u{202e}cod");
    }
}
