//! What the producer takes from its environment.

use clap::Parser;
use tenancy::config::{Common, ConfigError, Switch};
use tenancy::message::{DEFAULT_MAX_MESSAGE_BYTES, LARGEST_MAX_MESSAGE_BYTES};
use tenancy::process::AFTER_HELP;

/// Less would not hold the attributes of a message and an event worth the name; SQS allows no smaller limit for a queue.
const SMALLEST_MAX_MESSAGE_BYTES: usize = 1_024;

/// Takes events over HTTP and publishes them to the tenant's queue.
#[derive(Debug, Clone, Parser)]
#[command(name = "producer", about, long_about = None, after_help = AFTER_HELP)]
pub struct Settings {
    /// What all services have.
    #[command(flatten)]
    pub common: Common,

    /// The largest event, in bytes as SQS counts them: its body and its attributes; 1024 to 390000, what a record can hold.
    #[arg(long, env, hide_env_values = true, default_value_t = DEFAULT_MAX_MESSAGE_BYTES)]
    pub max_message_bytes: usize,

    /// Whether messages on a pool's queue carry their tenant as MessageGroupId, by which SQS keeps one tenant's backlog from delaying the others' messages (fair queues); off where the queue service refuses it.
    #[arg(long, env, hide_env_values = true, default_value = "on")]
    pub fair_queues: Switch,
}

impl tenancy::config::Settings for Settings {
    fn common(&self) -> &Common {
        &self.common
    }

    fn check(&self) -> Result<(), ConfigError> {
        let (bytes, body) = (self.max_message_bytes, self.common.max_body_bytes);
        if !(SMALLEST_MAX_MESSAGE_BYTES..=LARGEST_MAX_MESSAGE_BYTES).contains(&bytes) {
            let reason = format!("must be {SMALLEST_MAX_MESSAGE_BYTES} to {LARGEST_MAX_MESSAGE_BYTES}, not {bytes}");
            return Err(ConfigError::new("MAX_MESSAGE_BYTES", reason));
        }
        if bytes > body {
            return Err(ConfigError::new(
                "MAX_MESSAGE_BYTES",
                format!("must be at most MAX_BODY_BYTES ({body}), not {bytes}"),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenancy::config::{Parsed, parse};

    fn max_message_bytes(args: &[&str]) -> Result<usize, String> {
        let all = [&["producer", "--environment", "pool-1"], args].concat();
        match parse::<Settings>(all.into_iter().map(Into::into)) {
            Ok(Parsed::Run(settings)) => Ok(settings.max_message_bytes),
            Ok(Parsed::Print(text)) => panic!("{text}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn an_event_may_have_as_many_bytes_as_a_record_can_hold_and_no_more() {
        assert_eq!(max_message_bytes(&[]), Ok(262_144));
        assert_eq!(max_message_bytes(&["--max-message-bytes", "390000"]), Ok(390_000));
        assert_eq!(max_message_bytes(&["--max-message-bytes", "1024"]), Ok(1_024));
        for (bytes, error) in [
            ("400000", "MAX_MESSAGE_BYTES: must be 1024 to 390000, not 400000"),
            ("390001", "MAX_MESSAGE_BYTES: must be 1024 to 390000, not 390001"),
            ("1023", "MAX_MESSAGE_BYTES: must be 1024 to 390000, not 1023"),
            ("0", "MAX_MESSAGE_BYTES: must be 1024 to 390000, not 0"),
        ] {
            assert_eq!(max_message_bytes(&["--max-message-bytes", bytes]), Err(error.to_owned()));
        }
    }

    #[test]
    fn an_event_that_no_request_could_carry_is_refused_at_start() {
        assert_eq!(
            max_message_bytes(&["--max-body-bytes", "100000"]),
            Err("MAX_MESSAGE_BYTES: must be at most MAX_BODY_BYTES (100000), not 262144".to_owned())
        );
        assert_eq!(max_message_bytes(&["--max-body-bytes", "262144"]), Ok(262_144));
    }
}
