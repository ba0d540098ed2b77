//! Looking something up until it is there: what a service does before it is ready.

use std::time::Duration;

use super::LookupError;

/// Between two looks, from the first to the longest. The directory itself spares SSM: a look costs a call only when one is due.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Calls `look` until it finds something, with pauses that grow and vary, so that pods started together do not ask together.
///
/// A parameter that is missing is waited for as well: pods may start before Terraform is done.
pub async fn until_found<T, F>(look: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, LookupError>>,
{
    let mut pause = PAUSES.0;
    let mut said = None;
    loop {
        match look().await {
            Ok(found) => return found,
            Err(error) => {
                // Once a reason: what SSM answers is logged by each call that fails.
                if said.replace(error) != Some(error) {
                    tracing::warn!(%error, "not ready: waiting for this deployment's own parameters");
                }
            }
        }
        tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[tokio::test(start_paused = true)]
    async fn a_look_is_repeated_until_it_finds_something() {
        let looks = Cell::new(0);
        let found = until_found(|| async {
            looks.set(looks.get() + 1);
            if looks.get() < 20 { Err(LookupError::NotFound) } else { Ok("it") }
        });
        let start = tokio::time::Instant::now();
        assert_eq!(found.await, "it");
        assert_eq!(looks.get(), 20);
        // Pauses of 50 ms doubling to 1 s, less up to half by chance: 19 of them.
        let took = start.elapsed();
        assert!(took > Duration::from_secs(7) && took < Duration::from_secs(17), "{took:?}");
    }
}
