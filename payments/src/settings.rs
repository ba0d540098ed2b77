//! What payments takes from its environment.

use clap::Parser;
use tenancy::config::{Common, ConfigError, Switch};
use tenancy::process::AFTER_HELP;

/// Takes payments, each once, and publishes them to the tenant's queue.
#[derive(Debug, Clone, Parser)]
#[command(name = "payments", about, long_about = None, after_help = AFTER_HELP)]
pub struct Settings {
    /// What all services have.
    #[command(flatten)]
    pub common: Common,

    /// Whether what is stored can be read (GET /consumer/messages, GET /payments/PAYMENT_ID): a tenantID header alone proves nothing, so only where who calls is known. With AUTH_ISSUER it is on.
    #[arg(long, env, hide_env_values = true, default_value = "off")]
    pub record_reads: Switch,

    /// After how many days a payment and its Idempotency-Key are forgotten, as the consumer's records [default: never].
    #[arg(long, env, hide_env_values = true, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub record_ttl_days: Option<u32>,

    /// Whether messages on a pool's queue carry their tenant as MessageGroupId, by which SQS keeps one tenant's backlog from delaying the others' messages (fair queues); off where the queue service refuses it.
    #[arg(long, env, hide_env_values = true, default_value = "on")]
    pub fair_queues: Switch,
}

impl Settings {
    /// Whether the route that reads a payment is there: asked for, or whoever calls has proved who they are.
    pub(crate) fn can_be_read(&self) -> bool {
        self.record_reads == Switch::On || self.common.auth.is_on()
    }
}

impl tenancy::config::Settings for Settings {
    fn common(&self) -> &Common {
        &self.common
    }

    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenancy::config::{Parsed, parse};

    fn settings(args: &[&str]) -> Result<(Switch, Option<u32>), String> {
        let all = [&["payments", "--environment", "acme"], args].concat();
        match parse::<Settings>(all.into_iter().map(Into::into)) {
            Ok(Parsed::Run(settings)) => Ok((settings.record_reads, settings.record_ttl_days)),
            Ok(Parsed::Print(text)) => panic!("{text}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn payments_cannot_be_read_and_are_kept_for_ever_unless_said_otherwise() {
        assert_eq!(settings(&[]), Ok((Switch::Off, None)));
        assert_eq!(settings(&["--record-reads", "on", "--record-ttl-days", "90"]), Ok((Switch::On, Some(90))));
    }

    #[test]
    fn a_wrong_value_names_its_variable() {
        let error = settings(&["--record-reads", "yes"]).unwrap_err();
        assert_eq!(error, "RECORD_READS: invalid value \"yes\": it is one of on, off");
        let error = settings(&["--record-ttl-days", "0"]).unwrap_err();
        assert!(error.starts_with("RECORD_TTL_DAYS: invalid value \"0\":"), "{error}");
    }
}
