//! Draining against a scripted AWS, in paused time: each rule with the calls and times that follow from it.

mod alive;
mod blame;
mod deletes;
mod fake;
mod flow;
mod limits;
mod panics;
mod poison;
mod stop;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::drain::Drainer;
use crate::drain::limits::Limits;
use crate::liveness::{Liveness, TOO_LONG};
use crate::record::Stamps;
use fake::Fake;

/// A drainer that runs.
struct Running {
    stop: oneshot::Sender<Instant>,
    ended: JoinHandle<()>,
    liveness: Arc<Liveness>,
}

/// Limits with this visibility timeout, in seconds, and the defaults of the settings.
fn limits(visibility: u64) -> Limits {
    Limits::new(64, 2_048, 8_388_608, Duration::from_secs(visibility), Duration::from_secs(30))
}

/// Starts draining as `environment`.
fn start_in(fake: &Fake, environment: &str, limits: Limits) -> Running {
    let liveness = Arc::new(Liveness::new(TOO_LONG));
    let stamps = Stamps::new(environment, None);
    let drainer = Drainer::new(fake.clone(), environment.parse().unwrap(), limits, stamps, liveness.clone());
    let (stop, stopped) = oneshot::channel();
    let ended = tokio::spawn(drainer.run(async { stopped.await.unwrap() }));
    Running { stop, ended, liveness }
}

/// Starts draining as `acme`.
fn start_with(fake: &Fake, limits: Limits) -> Running {
    start_in(fake, "acme", limits)
}

fn start(fake: &Fake) -> Running {
    start_with(fake, limits(30))
}

impl Running {
    /// Gives the signal; how long it took until all had ended.
    async fn stop_within(self, time: Duration) -> Duration {
        let signal = Instant::now();
        self.stop.send(signal + time).unwrap();
        self.ended.await.unwrap();
        signal.elapsed()
    }
}

/// Lets so many milliseconds pass.
async fn pass(millis: u64) {
    sleep(Duration::from_millis(millis)).await;
}
