//! Calls that are tried again, and what the commands look up first.

use std::future::Future;
use std::time::Duration;

use tenancy::arn::{QueueArn, TableArn};
use tenancy::aws::{Clients, Fault};
use tenancy::directory::{ReadError, read_queue, read_table};
use tenancy::tenant::Environment;
use tokio_util::sync::CancellationToken;

use crate::drain::backoff::Backoff;
use crate::drain::seam::Failure;
use crate::operator::pause;
use crate::operator::stop::Stop;

/// So often a call is tried: with its pauses about a quarter of a minute.
const TRIES: u32 = 8;

/// Pauses between tries.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));

/// Whether the same call may go well a little later.
fn may_pass(fault: Fault) -> bool {
    matches!(fault, Fault::Throttled | Fault::Transient)
}

/// Makes a call until it is answered, with pauses, as long as that may help and no signal has come.
pub(crate) async fn persist<T, F>(stopping: &CancellationToken, call: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut backoff = BACKOFF;
    let mut tries = 1;
    loop {
        match call().await {
            Err(failure) if may_pass(failure.fault) && tries < TRIES => {
                tries += 1;
                if pause(backoff.half_jitter(), stopping).await {
                    return Err(failure);
                }
            }
            answer => return answer,
        }
    }
}

/// The queue of an environment, if it has one.
pub(crate) async fn queue(
    clients: &Clients,
    of: &Environment,
    stopping: &CancellationToken,
) -> Result<Option<QueueArn>, Stop> {
    parameter(stopping, || read_queue(&clients.ssm, &clients.region, of)).await
}

/// The table of an environment, if it has one.
pub(crate) async fn table(
    clients: &Clients,
    of: &Environment,
    stopping: &CancellationToken,
) -> Result<Option<TableArn>, Stop> {
    parameter(stopping, || read_table(&clients.ssm, &clients.region, of)).await
}

async fn parameter<T, F>(stopping: &CancellationToken, read: impl Fn() -> F) -> Result<T, Stop>
where
    F: Future<Output = Result<T, ReadError>>,
{
    let mut backoff = BACKOFF;
    let mut tries = 1;
    loop {
        match read().await {
            Err(ReadError::Call { fault, parameter, text }) if may_pass(fault) && tries < TRIES => {
                tries += 1;
                if pause(backoff.half_jitter(), stopping).await {
                    return Err(Stop::parameter(ReadError::Call { fault, parameter, text }));
                }
            }
            answer => return answer.map_err(Stop::parameter),
        }
    }
}
