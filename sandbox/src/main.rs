//! `make run`: the tenant plane on one machine. See `--help`.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = sandbox::cli::Arguments::parse();
    // What goes wrong is said on standard error; RUST_LOG shows more. dynoxide warns of every refusal it answers, and a condition
    // that is not met is one.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,dynoxide=error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).compact().init();
    sandbox::cli::run(arguments).await
}
