//! What the consumer takes from its environment.

use std::time::Duration;

use clap::Parser;
use tenancy::config::{Common, ConfigError, Span, Switch};

use crate::drain::limits::Limits;
use crate::liveness::TOO_LONG;

/// The longest visibility timeout that SQS knows.
const LONGEST_VISIBILITY: Duration = Duration::from_secs(12 * 3_600);

/// What `--help` says below the settings.
fn after_help() -> String {
    format!(
        "{}\n\
         redrive list, redrive send: the queue's dead letters; purge: the records of a tenant that left. Each has a --help.",
        tenancy::process::AFTER_HELP
    )
}

/// Drains the queue of a tenant or a pool into its table.
#[derive(Debug, Clone, Parser)]
#[command(name = "consumer", about, long_about = None, after_help = after_help())]
pub struct Settings {
    /// What all services have.
    #[command(flatten)]
    pub common: Common,

    /// Receives that may be open at a time. An idle queue has one; more begin as receives come back full.
    #[arg(long, env, hide_env_values = true, default_value_t = 64)]
    pub pollers: usize,

    /// Messages that are received and not yet deleted, at most.
    #[arg(long, env, hide_env_values = true, default_value_t = 2048)]
    pub max_in_flight: usize,

    /// Memory for messages that are received and not yet written, in bytes. A message takes about four times its size while it
    /// passes through, so the process may take four times this above its idle size. When messages suddenly grow, receives that
    /// are open at that moment may exceed it, once.
    #[arg(long, env, hide_env_values = true, default_value_t = 8_388_608)]
    pub max_in_flight_bytes: usize,

    /// How long a received message is hidden from other consumers, in whole seconds from 1s to 12h; what takes longer is extended.
    #[arg(long, env, hide_env_values = true, default_value = "30s")]
    pub visibility_timeout: Span,

    /// How often the depth of the queue and of its dead-letter queue is asked for, for the metrics; 0 is never. It is two calls of GetQueueAttributes.
    #[arg(long, env, hide_env_values = true, default_value = "60s")]
    pub queue_depth_interval: Span,

    /// After how many days a record expires, if the table has its time to live on expires_at [default: never].
    #[arg(long, env, hide_env_values = true, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub record_ttl_days: Option<u32>,

    /// Whether what is stored can be read (GET /consumer/messages, GET /payments/PAYMENT_ID): a tenantID header alone proves nothing, so only where who calls is known. With AUTH_ISSUER it is on.
    #[arg(long, env, hide_env_values = true, default_value = "off")]
    pub record_reads: Switch,

    /// After how long without the end of a poll /livez fails. It follows from the other times, so nobody sets it but tests.
    #[arg(skip = TOO_LONG)]
    pub longest_silence: Duration,
}

impl Settings {
    /// Whether the route that reads records is there: asked for, or whoever calls has proved who they are.
    pub(crate) fn can_be_read(&self) -> bool {
        self.record_reads == Switch::On || self.common.auth.is_on()
    }

    pub(crate) fn limits(&self) -> Limits {
        let (visibility, shutdown) = (self.visibility_timeout.get(), self.common.shutdown_timeout.get());
        let limits = Limits::new(self.pollers, self.max_in_flight, self.max_in_flight_bytes, visibility, shutdown);
        Limits { metrics_tenants: self.common.metrics_tenants, ..limits }
    }
}

impl tenancy::config::Settings for Settings {
    fn common(&self) -> &Common {
        &self.common
    }

    fn check(&self) -> Result<(), ConfigError> {
        for (variable, value) in [
            ("POLLERS", self.pollers),
            ("MAX_IN_FLIGHT", self.max_in_flight),
            ("MAX_IN_FLIGHT_BYTES", self.max_in_flight_bytes),
        ] {
            if value == 0 {
                return Err(ConfigError::new(variable, "must be at least 1"));
            }
        }
        if self.pollers > 1_000 {
            return Err(ConfigError::new("POLLERS", format!("must be at most 1000, not {}", self.pollers)));
        }
        // SQS lets a standard queue have 120,000 messages in flight, for all its consumers together.
        if self.max_in_flight > 100_000 {
            return Err(ConfigError::new(
                "MAX_IN_FLIGHT",
                format!("must be at most 100000, not {}", self.max_in_flight),
            ));
        }
        let interval = self.queue_depth_interval.get();
        if !interval.is_zero() && interval < Duration::from_secs(1) {
            let reason = format!("must be 0 or at least 1s, not {}", self.queue_depth_interval);
            return Err(ConfigError::new("QUEUE_DEPTH_INTERVAL", reason));
        }
        let visibility = self.visibility_timeout.get();
        if visibility.subsec_nanos() != 0 || visibility.is_zero() || visibility > LONGEST_VISIBILITY {
            let reason = format!("must be whole seconds from 1s to 720m, not {}", self.visibility_timeout);
            return Err(ConfigError::new("VISIBILITY_TIMEOUT", reason));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenancy::config::{Parsed, parse};

    fn settings(args: &[&str]) -> Result<Settings, String> {
        let all = [&["consumer", "--environment", "acme"], args].concat();
        match parse::<Settings>(all.into_iter().map(Into::into)) {
            Ok(Parsed::Run(settings)) => Ok(settings),
            Ok(Parsed::Print(text)) => panic!("{text}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_documentation() {
        let settings = settings(&[]).unwrap();
        assert_eq!((settings.pollers, settings.max_in_flight, settings.max_in_flight_bytes), (64, 2_048, 8_388_608));
        assert_eq!((settings.visibility_timeout, settings.record_ttl_days), (Span::secs(30), None));
        assert_eq!(settings.record_reads, Switch::Off);
    }

    #[test]
    fn a_visibility_timeout_is_whole_seconds_that_sqs_knows() {
        for good in ["1", "1s", "30s", "720m"] {
            assert!(settings(&["--visibility-timeout", good]).is_ok(), "{good}");
        }
        for (bad, error) in [
            ("0s", "VISIBILITY_TIMEOUT: must be whole seconds from 1s to 720m, not 0s"),
            ("1500ms", "VISIBILITY_TIMEOUT: must be whole seconds from 1s to 720m, not 1500ms"),
            ("721m", "VISIBILITY_TIMEOUT: must be whole seconds from 1s to 720m, not 721m"),
        ] {
            assert_eq!(settings(&["--visibility-timeout", bad]).unwrap_err(), error);
        }
    }

    #[test]
    fn bounds_that_would_stop_everything_are_refused() {
        for (flag, variable) in [
            ("--pollers", "POLLERS"),
            ("--max-in-flight", "MAX_IN_FLIGHT"),
            ("--max-in-flight-bytes", "MAX_IN_FLIGHT_BYTES"),
        ] {
            assert_eq!(settings(&[flag, "0"]).unwrap_err(), format!("{variable}: must be at least 1"));
        }
        assert_eq!(settings(&["--pollers", "1001"]).unwrap_err(), "POLLERS: must be at most 1000, not 1001");
        assert_eq!(
            settings(&["--max-in-flight", "100001"]).unwrap_err(),
            "MAX_IN_FLIGHT: must be at most 100000, not 100001"
        );
    }

    #[test]
    fn records_expire_after_whole_days() {
        assert_eq!(settings(&["--record-ttl-days", "90"]).unwrap().record_ttl_days, Some(90));
        for bad in ["0", "36501", "1.5", "-1"] {
            let error = settings(&[&format!("--record-ttl-days={bad}")]).unwrap_err();
            assert!(error.starts_with("RECORD_TTL_DAYS: "), "{error}");
        }
    }
}
