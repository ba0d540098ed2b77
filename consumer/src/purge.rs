//! `consumer purge`: deletes the records and payment claims of one tenant that has left.
//!
//! Every call names the tenant: reads are queries of its partition, and the key of each delete is made from the tenant that was
//! asked for and the sort key that was read. So nothing that an answer holds can lead to another tenant's record. What is
//! deleted is deleted: stopped halfway, the next run goes on with what is left.

mod partition;

use std::time::{Duration, Instant};

use tenancy::arn::TableArn;
use tenancy::aws::Clients;
use tenancy::tenant::Environment;
use tokio_util::sync::CancellationToken;

use crate::operator::calls::{queue, table};
use crate::operator::cli::Purge;
use crate::operator::pace::Pacer;
use crate::operator::stop::Stop;
use crate::operator::{note, say};
use partition::{Counts, Partition};

/// Between two lines that say how far it is.
const PROGRESS: Duration = Duration::from_secs(5);

/// Runs the command. Whether the partition is empty now (or was counted, with `--dry-run`).
pub(crate) async fn run(purge: Purge, clients: &Clients, stopping: &CancellationToken) -> Result<bool, Stop> {
    let Purge { environment, tenant, .. } = &purge;
    if let Environment::Tenant(own) = environment
        && own != tenant
    {
        return Err(Stop::Usage(format!(
            "{environment} is one tenant's own environment, and {tenant} is another tenant"
        )));
    }
    if let Some(again) = &purge.yes_delete
        && again != tenant.as_str()
    {
        return Err(Stop::Usage(format!("--yes-delete says {again:?} and --tenant says {:?}", tenant.as_str())));
    }
    let Some(table) = table(clients, environment, stopping).await? else {
        return Err(Stop::Failed(format!(
            "there is no parameter /{environment}/consumer_ddb in {}: is ENVIRONMENT right, and the region?",
            clients.region
        )));
    };
    if !purge.dry_run {
        check_registration(&purge, clients, stopping).await?;
        confirm(&purge, &table, stopping).await?;
    }
    let partition = Partition { clients, table: &table, tenant, stopping };
    if purge.dry_run { count(&partition).await } else { delete(&partition, &purge).await }
}

/// Records of a tenant that is still served are not to be deleted by mistake.
async fn check_registration(purge: &Purge, clients: &Clients, stopping: &CancellationToken) -> Result<(), Stop> {
    if purge.force {
        return Ok(());
    }
    let (tenant, environment) = (&purge.tenant, &purge.environment);
    let Some(registered) = queue(clients, &Environment::Tenant(tenant.clone()), stopping).await? else {
        return Ok(());
    };
    let own = queue(clients, environment, stopping).await?;
    let advice = if own.as_ref() == Some(&registered) {
        "its consumer would store new records meanwhile. Offboard it first; --force deletes all the same".to_owned()
    } else {
        format!(
            "elsewhere than {environment}. If its records have moved there, --force deletes those that stayed behind"
        )
    };
    Err(Stop::Failed(format!("{tenant} is still registered (/{tenant}/consumer_sqs is {registered}): {advice}")))
}

/// Lets a person type the tenant's id, unless the command line says it twice.
async fn confirm(purge: &Purge, table: &TableArn, stopping: &CancellationToken) -> Result<(), Stop> {
    if purge.yes_delete.is_some() {
        return Ok(());
    }
    let tenant = purge.tenant.as_str();
    note(format_args!(
        "This deletes every record and payment claim of {tenant} in {table}, for good (--dry-run counts them).\n\
         Type the tenant's id to go on:"
    ));
    let typed = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    let typed = tokio::select! {
        typed = typed => typed.ok().and_then(Result::ok).unwrap_or_default(),
        () = stopping.cancelled() => String::new(),
    };
    if typed.trim() == tenant {
        return Ok(());
    }
    Err(Stop::Usage(format!("nothing was deleted: that was not {tenant} (without a terminal: --yes-delete {tenant})")))
}

async fn count(partition: &Partition<'_>) -> Result<bool, Stop> {
    let (mut counts, mut from) = (Counts::default(), None);
    loop {
        let page = partition.page(from.take()).await?;
        page.keys.iter().for_each(|key| counts.add(key));
        from = page.next;
        let over = from.is_none();
        if over || partition.stopping.is_cancelled() {
            let much = if over { "" } else { "at least " };
            say(format_args!("would delete {much}{counts} of {} from {}", partition.tenant, partition.table));
            return Ok(over);
        }
    }
}

async fn delete(partition: &Partition<'_>, purge: &Purge) -> Result<bool, Stop> {
    let (started, mut counts) = (Instant::now(), Counts::default());
    let outcome = delete_all(partition, purge, &mut counts).await;
    let units = counts.units.ceil();
    say(format_args!(
        "deleted {counts} of {} from {} in {} s ({units} write units)",
        partition.tenant,
        partition.table,
        started.elapsed().as_secs()
    ));
    if !outcome? {
        note("interrupted: run it again for the rest");
        return Ok(false);
    }
    // Read anew, since the consumer may have stored what was still in the queue.
    if partition.page(None).await?.keys.is_empty() {
        return Ok(true);
    }
    note(format_args!("records of {} arrived meanwhile: let the queue drain, then run it again", partition.tenant));
    Ok(false)
}

/// Whether it came to the end.
async fn delete_all(partition: &Partition<'_>, purge: &Purge, counts: &mut Counts) -> Result<bool, Stop> {
    let (mut pacer, mut from, mut next_progress) = (Pacer::new(purge.rate), None, Instant::now() + PROGRESS);
    loop {
        let page = partition.page(from.take()).await?;
        for keys in page.keys.chunks(partition::BATCH) {
            if pacer.wait(partition.stopping).await {
                return Ok(false);
            }
            partition.delete(keys, &mut pacer, counts).await?;
            if Instant::now() >= next_progress {
                next_progress = Instant::now() + PROGRESS;
                note(format_args!("deleted {counts} so far"));
            }
        }
        from = page.next;
        if from.is_none() || partition.stopping.is_cancelled() {
            return Ok(from.is_none() && !partition.stopping.is_cancelled());
        }
    }
}
