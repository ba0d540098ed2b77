//! Logs and metrics of a process. Installed once, by `main`; libraries only emit.
//!
//! - [`metric`]: how a metric is named and explained; [`table`]: those that the services share
//! - [`tenants`]: counters by tenant, in bounds
//! - `process`: what the process itself uses

use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::{Common, LogFormat};

pub mod metric;
pub mod process;
pub mod table;
pub mod tenants;

/// The recorder's handle, once [`install`] has run. Metrics are process-wide by the nature of the facade; this is the one
/// place that remembers it, so that services started without a recorder (in tests) simply have nothing to show.
static METRICS: OnceLock<PrometheusHandle> = OnceLock::new();

/// Bounds of histograms in seconds: from a request answered out of memory to a send that used up its deadline.
const SECONDS: [f64; 14] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0];

/// Bounds of histograms of batch sizes: a send or delete has at most 10 entries, a write 25.
const ENTRIES: [f64; 8] = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 25.0];

/// Modules of the AWS SDK that log answers as they came, the keys of a session among them, and that are not heard unless `RUST_LOG`
/// names their crate. What they say, we say ourselves, without what is secret.
const INDISCREET: [&str; 2] = ["aws_config", "aws_smithy_runtime_api"];

/// Checks the directives of `RUST_LOG`.
///
/// # Errors
/// What the filter says is wrong with them.
pub fn check_filter(directives: &str) -> Result<(), String> {
    filter(directives).map(drop).map_err(|error| format!("invalid value {directives:?}: {error}"))
}

/// What is logged under these directives.
pub(crate) fn filter(directives: &str) -> Result<EnvFilter, tracing_subscriber::filter::ParseError> {
    let unnamed = INDISCREET.iter().filter(|module| !directives.contains(**module));
    let quiet: Vec<String> = unnamed.map(|module| format!("{module}=off")).collect();
    let directives = if directives.trim().is_empty() { "error" } else { directives };
    // By itself first, so that a complaint is about what was written.
    EnvFilter::try_new(directives)?;
    EnvFilter::try_new(format!("{directives},{}", quiet.join(",")))
}

/// Starts logging to standard output and recording metrics. Called once, by `main`.
///
/// # Errors
/// A text for the operator, when the process has a logger or recorder already.
pub fn install(common: &Common) -> Result<(), String> {
    let filter = filter(&common.rust_log).map_err(|error| error.to_string())?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter);
    let installed = match common.log_format {
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init(),
        LogFormat::Text => lines.with_ansi(false).try_init(),
    };
    installed.map_err(|error| error.to_string())?;
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_entries".to_owned()), &ENTRIES))
        .and_then(|builder| builder.install_recorder())
        .map_err(|error| error.to_string())?;
    METRICS.set(handle).map_err(|_| "metrics are recorded already".to_owned())
}

/// Lets a command that runs once say on standard error what its calls complain about. `RUST_LOG` chooses, warnings if it is unset.
pub fn warn_on_stderr() {
    let chosen = std::env::var(EnvFilter::DEFAULT_ENV).ok().and_then(|directives| filter(&directives).ok());
    let filter = chosen.or_else(|| filter("warn").ok()).unwrap_or_default();
    // A second subscriber in one process: the first one serves.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(std::io::stderr).try_init();
}

/// The metrics in Prometheus' text format; empty where no recorder is installed.
#[must_use]
pub fn render() -> String {
    METRICS.get().map(|recorder| recorder.render() + &process::render()).unwrap_or_default()
}

/// Lets the recorder fold what it has gathered, so that histograms nobody scrapes do not grow. Called every few seconds.
pub fn upkeep() {
    if let Some(handle) = METRICS.get() {
        handle.run_upkeep();
    }
}

/// Says which build this is.
pub fn build_info(service: &'static str, version: &str) {
    metrics::gauge!("tenant_plane_build_info", "service" => service, "version" => version.to_owned()).set(1.0);
}
