//! The benchmark's command.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    bench::cli::run(bench::cli::Arguments::parse())
}
