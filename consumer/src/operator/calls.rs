//! Calls that are tried again, and what the commands look up first.

use std::future::Future;
use std::time::Duration;

use tenancy::arn::{QueueArn, TableArn};
use tenancy::aws::{Clients, Fault};
use tenancy::directory::{ReadError, read_queue, read_table};
use tenancy::tenant::Environment;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::drain::backoff::Backoff;
use crate::drain::seam::Failure;
use crate::operator::pause;
use crate::operator::stop::Stop;

/// So often a call is tried: with its pauses about a quarter of a minute.
const TRIES: u32 = 8;

/// How long one try may take. All of these calls answer within a second or two; what takes longer leads nowhere.
const TRY: Duration = Duration::from_secs(10);

/// After this time a call that is not answered is not tried again.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much longer a call that is under way is waited for after a signal: what it does may have been done already.
const AFTER_SIGNAL: Duration = Duration::from_secs(3);

/// Pauses between tries.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));

/// Whether the same call may go well a little later.
fn may_pass(fault: Fault) -> bool {
    matches!(fault, Fault::Throttled | Fault::Transient)
}

/// Makes a call until it is answered, with pauses, as long as that may help and no signal has come. Each try has its time, also
/// where the client sets none.
pub(crate) async fn persist<T, F>(stopping: &CancellationToken, call: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut backoff = BACKOFF;
    let mut tries = 1;
    let began = Instant::now();
    loop {
        match in_time(stopping, call()).await {
            Err(failure) if may_pass(failure.fault) && tries < TRIES && began.elapsed() < PATIENCE => {
                tries += 1;
                if pause(backoff.half_jitter(), stopping).await {
                    return Err(failure);
                }
            }
            answer => return answer,
        }
    }
}

/// The call's answer, or that there was none in time.
async fn in_time<T>(
    stopping: &CancellationToken,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let interrupted = async {
        stopping.cancelled().await;
        tokio::time::sleep(AFTER_SIGNAL).await;
    };
    tokio::select! {
        answer = call => answer,
        () = tokio::time::sleep(TRY) => Err(Failure::timeout(TRY)),
        () = interrupted => Err(Failure::timeout(AFTER_SIGNAL)),
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

#[cfg(test)]
mod tests {
    use super::*;

    async fn never_answered(stopping: &CancellationToken) -> (Failure, Duration) {
        let began = Instant::now();
        let failure = persist(stopping, std::future::pending::<Result<(), Failure>>).await.unwrap_err();
        (failure, began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_never_answered_is_given_up_and_after_a_signal_at_once() {
        let stopping = CancellationToken::new();
        let (failure, took) = never_answered(&stopping).await;
        assert!(failure.timed_out && (30..=45).contains(&took.as_secs()), "{took:?}");
        let signal = stopping.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            signal.cancel();
        });
        assert_eq!(never_answered(&stopping).await.1.as_secs(), 5, "three more for what is under way");
        assert_eq!(never_answered(&stopping).await.1.as_secs(), 3, "as for what has to be done still");
    }
}
