//! The life of a process: `main` of every service.
//!
//! Signal handlers come first, so that a signal during a slow start ends it too; configuration is checked before any I/O; the
//! exit status says what happened: 0 stopped as asked, 1 failed, 2 wrong settings.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::aws::{Clients, Connect};
use crate::config::{Parsed, Settings, parse};
use crate::server::{App, StartError};
use crate::{telemetry, trace};

mod healthcheck;

/// What `--help` says below the settings.
pub const AFTER_HELP: &str = "\
Each setting is an environment variable; the flags are for trying things out. AWS is configured by the SDK's own variables:
AWS_REGION (required), AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_SQS, _DYNAMODB, _SSM, _STS, AWS_ROLE_ARN and
AWS_WEB_IDENTITY_TOKEN_FILE (IRSA), AWS_CONTAINER_CREDENTIALS_FULL_URI (Pod Identity), AWS_ACCESS_KEY_ID and the like.
Traces also know OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS, _TIMEOUT and OTEL_BSP_*.

Subcommand: healthcheck [URL] asks URL (default http://127.0.0.1:ADMIN_PORT/readyz) and exits 0 when it answers 200 within 3 s.";

/// Exit status of wrong settings.
const WRONG_SETTINGS: u8 = 2;

/// Runs a service from its settings to its end.
pub fn main<S, F>(name: &'static str, build_version: &'static str, build: impl FnOnce(S, Clients) -> F) -> ExitCode
where
    S: Settings,
    F: Future<Output = Result<App, StartError>>,
{
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|first| first == "healthcheck") {
        return healthcheck::run(args.get(2).and_then(|url| url.to_str()));
    }
    let settings = match parse::<S>(args) {
        Ok(Parsed::Run(settings)) => settings,
        Ok(Parsed::Print(text)) => {
            let _ = write!(std::io::stdout(), "{text}");
            return ExitCode::SUCCESS;
        }
        Err(error) => return say(name, &error, WRONG_SETTINGS),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return say(name, &error, 1),
    };
    let code = runtime.block_on(run(name, build_version, settings, build));
    // Name look-ups that hang in the system's resolver must not hold up the end.
    runtime.shutdown_background();
    code
}

async fn run<S, F>(
    name: &'static str,
    build_version: &str,
    settings: S,
    build: impl FnOnce(S, Clients) -> F,
) -> ExitCode
where
    S: Settings,
    F: Future<Output = Result<App, StartError>>,
{
    let shutdown = match signals() {
        Ok(shutdown) => shutdown,
        Err(error) => return say(name, &error, 1),
    };
    let common = settings.common();
    if let Err(error) = telemetry::install(common) {
        return say(name, &error, 1);
    }
    let (version, environment) = (common.version(build_version), common.environment.as_str());
    if let Err(error) = trace::install(name, &version, environment, &common.traces) {
        return say(name, &error, WRONG_SETTINGS);
    }
    let (signal, shutdown_timeout) = (shutdown.clone(), common.shutdown_timeout.get());
    let signalled = tokio::spawn(async move {
        signal.cancelled().await;
        Instant::now()
    });
    let (connect, source) = match Connect::from_env() {
        Ok(connected) => connected,
        Err(error) => return say(name, &error, WRONG_SETTINGS),
    };
    tracing::info!(
        service = name,
        version = common.version(build_version),
        environment = common.environment.as_str(),
        region = connect.region.as_ref(),
        credentials = %source,
        "starting"
    );
    let app = match build(settings, connect.clients()).await {
        Ok(app) => app,
        Err(error) => return say(name, &error, 1),
    };
    tracing::info!(service = name, address = %app.public_addr(), admin_address = %app.admin_addr(), "listening");
    let outcome = app.run(shutdown).await;
    let left = match signalled.is_finished().then_some(signalled) {
        Some(at) => at.await.map_or(shutdown_timeout, |at| shutdown_timeout.saturating_sub(at.elapsed())),
        None => shutdown_timeout,
    };
    trace::flush(left).await;
    match outcome {
        Ok(()) => {
            tracing::info!(service = name, "stopped");
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!(service = name, %error, "failed");
            ExitCode::FAILURE
        }
    }
}

/// One line for the operator.
fn say(name: &str, error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{name}: {error}");
    ExitCode::from(code)
}

/// A token that is cancelled by the first SIGTERM or SIGINT; a second one ends the process at once.
///
/// # Errors
/// The handlers could not be installed.
pub fn signals() -> std::io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let shutdown = CancellationToken::new();
    let token = shutdown.clone();
    tokio::spawn(async move {
        either(&mut terminate, &mut interrupt).await;
        token.cancel();
        either(&mut terminate, &mut interrupt).await;
        std::process::exit(1);
    });
    Ok(shutdown)
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
