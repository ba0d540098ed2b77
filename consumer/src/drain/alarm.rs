//! One timer that many may set: it rings at the earliest of the times that were asked for.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Set by whoever leaves something for later, waited for by one task.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    at: Mutex<Option<Instant>>,
    sooner: Notify,
}

impl Alarm {
    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings at `at`, if it would not ring earlier.
    pub(crate) fn set(&self, at: Instant) {
        let mut set = self.lock();
        if set.is_none_or(|earlier| at < earlier) {
            *set = Some(at);
            self.sooner.notify_one();
        }
    }

    /// Returns when it rings; it is not set any more then.
    pub(crate) async fn rings(&self) {
        loop {
            let at = *self.lock();
            match at {
                None => self.sooner.notified().await,
                Some(at) => tokio::select! {
                    () = self.sooner.notified() => {}
                    () = sleep_until(at) => {
                        let mut set = self.lock();
                        if set.is_some_and(|set| set <= Instant::now()) {
                            *set = None;
                            return;
                        }
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn it_rings_at_the_earliest_time_and_once() {
        let alarm = Alarm::default();
        let start = Instant::now();
        alarm.set(start + Duration::from_millis(30));
        alarm.set(start + Duration::from_millis(10));
        alarm.set(start + Duration::from_millis(20));
        alarm.rings().await;
        assert_eq!(start.elapsed(), Duration::from_millis(10));
        assert!(tokio::time::timeout(Duration::from_secs(1), alarm.rings()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn it_may_be_set_sooner_while_it_is_waited_for() {
        let alarm = std::sync::Arc::new(Alarm::default());
        let start = Instant::now();
        alarm.set(start + Duration::from_secs(10));
        let waiting = tokio::spawn({
            let alarm = alarm.clone();
            async move {
                alarm.rings().await;
                start.elapsed()
            }
        });
        tokio::time::sleep(Duration::from_millis(5)).await;
        alarm.set(start + Duration::from_millis(7));
        assert_eq!(waiting.await.unwrap(), Duration::from_millis(7));
    }
}
