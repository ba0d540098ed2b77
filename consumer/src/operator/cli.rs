//! The command line of the commands. The texts here are what `--help` prints.

use clap::{Args, Parser, Subcommand};
use tenancy::arn::QueueArn;
use tenancy::tenant::{Environment, TenantId};

use crate::operator::pace::Rate;

/// Where AWS is and who calls comes from the SDK's own variables.
const AFTER_HELP: &str = "\
AWS is configured by the SDK's own variables: AWS_REGION (required), AWS_PROFILE, AWS_ACCESS_KEY_ID and the like. RUST_LOG=debug
shows more. Exit status: 0 all was done, 1 something was not, 2 wrong command line. docs/operations.md has the role's policy.";

/// The whole line.
#[derive(Debug, Parser)]
#[command(name = "consumer", bin_name = "consumer", disable_help_subcommand = true, after_help = AFTER_HELP)]
pub(crate) struct Line {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Dead letters: what lies there and why, and sending it back.
    #[command(disable_help_subcommand = true, after_help = AFTER_HELP)]
    Redrive(Redrive),
    /// Deletes the records and payment claims of one tenant that has left, and nobody else's.
    #[command(after_help = AFTER_HELP)]
    Purge(Purge),
}

/// Dead letters.
#[derive(Debug, Args)]
pub(crate) struct Redrive {
    /// What to do with them.
    #[command(subcommand)]
    pub(crate) action: Action,
}

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Shows dead letters, one a line, and leaves them where they are. They are hidden from others while they are read, at most
    /// a minute; each look counts as a receive, which a dead-letter queue takes no notice of.
    #[command(after_help = AFTER_HELP)]
    List(List),
    /// Sends dead letters back to the queue that they came from. Each keeps the key of its record, so that one that was stored
    /// after all, or is sent twice, makes no second record. It is deleted from the dead-letter queue only after the queue has it.
    #[command(after_help = AFTER_HELP)]
    Send(Send),
}

/// Which dead letters.
#[derive(Debug, Clone, Args)]
pub(crate) struct Which {
    /// The environment whose queue they come from: a tenant's id (silo) or a pool such as pool-1.
    #[arg(long, env, hide_env_values = true)]
    pub(crate) environment: Environment,

    /// The ARN of the dead-letter queue, when it is not the one that the queue's redrive policy names.
    #[arg(long, value_name = "ARN")]
    pub(crate) dead_letter_queue: Option<QueueArn>,

    /// Only those that carry this tenant's id.
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<TenantId>,

    /// Only this one, by SQS's id or by the key of its record; may be given several times.
    #[arg(long = "message-id", value_name = "ID")]
    pub(crate) message_ids: Vec<String>,
}

/// `redrive list`
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) which: Which,

    /// Show so many at most; the last line says whether there are more.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max: u32,

    /// Show the bodies as well. They are the tenants' data.
    #[arg(long)]
    pub(crate) bodies: bool,

    /// One JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `redrive send`
#[derive(Debug, Args)]
pub(crate) struct Send {
    #[command(flatten)]
    pub(crate) which: Which,

    /// How many to send a second (10/s) or minute (30/m), on average.
    #[arg(long, default_value = "10/s")]
    pub(crate) rate: Rate,

    /// Send so many at most [default: as many as lie there at the start].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max: Option<u32>,

    /// Show what would be sent, and send nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Send also those that the consumer would refuse again (no tenant, another tenant's, larger than an item may be): after
    /// some receives they are dead letters again, unless a consumer by other rules takes them.
    #[arg(long)]
    pub(crate) even_if_unstorable: bool,
}

/// `purge`
#[derive(Debug, Args)]
pub(crate) struct Purge {
    /// The environment whose table they are in: the pool, or the tenant's own.
    #[arg(long, env, hide_env_values = true)]
    pub(crate) environment: Environment,

    /// The tenant whose records are deleted.
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: TenantId,

    /// How many write units of the table to use a second (100/s) or minute, on average: a deleted record takes one for each
    /// kilobyte that it had.
    #[arg(long, default_value = "100/s")]
    pub(crate) rate: Rate,

    /// Count, and delete nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask: the tenant's id once more instead of typing it.
    #[arg(long, value_name = "TENANT", conflicts_with = "dry_run")]
    pub(crate) yes_delete: Option<String>,

    /// Although the tenant is still registered (/TENANT/consumer_sqs exists), as it is after a change of tier.
    #[arg(long)]
    pub(crate) force: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    fn parsed(words: &[&str]) -> Result<Command, ErrorKind> {
        let line = [&["consumer"], words, &["--environment", "pool-1"]].concat();
        Line::try_parse_from(line).map(|line| line.command).map_err(|error| error.kind())
    }

    #[test]
    fn the_command_line_is_consistent() {
        Line::command().debug_assert();
    }

    #[test]
    fn what_is_not_said_is_careful() {
        let Ok(Command::Redrive(Redrive { action: Action::List(list) })) = parsed(&["redrive", "list"]) else {
            panic!("it is a list")
        };
        assert_eq!((list.max, list.bodies, list.json), (1_000, false, false));
        let Ok(Command::Redrive(Redrive { action: Action::Send(send) })) = parsed(&["redrive", "send"]) else {
            panic!("it is a send")
        };
        assert_eq!((send.rate.to_string().as_str(), send.max, send.even_if_unstorable), ("10/s", None, false));
        let Ok(Command::Purge(purge)) = parsed(&["purge", "--tenant", "acme"]) else { panic!("it is a purge") };
        assert_eq!((purge.yes_delete, purge.force, purge.dry_run), (None, false, false));
    }

    #[test]
    fn what_is_wrong_is_refused_before_any_call() {
        for (words, kind) in [
            (&["redrive"][..], ErrorKind::UnknownArgument),
            (&["redrive", "send", "--rate", "0"], ErrorKind::ValueValidation),
            (&["redrive", "send", "--max", "0"], ErrorKind::ValueValidation),
            (&["redrive", "list", "--tenant", "Acme"], ErrorKind::ValueValidation),
            (&["redrive", "list", "--dead-letter-queue", "consumer-acme-dlq"], ErrorKind::ValueValidation),
            (&["purge"], ErrorKind::MissingRequiredArgument),
            (&["purge", "--tenant", "*"], ErrorKind::ValueValidation),
            (&["purge", "--tenant", "acme", "--dry-run", "--yes-delete", "acme"], ErrorKind::ArgumentConflict),
        ] {
            assert_eq!(parsed(words).err(), Some(kind), "{words:?}");
        }
    }
}
