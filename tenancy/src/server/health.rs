//! What the probes read: state, set by those who know. No I/O.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) struct Health {
    started: AtomicBool,
    stopping: AtomicBool,
    live: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Health {
    pub(super) fn new(live: Arc<dyn Fn() -> bool + Send + Sync>) -> Self {
        Self { started: AtomicBool::new(false), stopping: AtomicBool::new(false), live }
    }

    pub(super) fn set_started(&self) {
        self.started.store(true, Ordering::Release);
    }

    pub(super) fn set_stopping(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.started.load(Ordering::Acquire) && !self.is_stopping()
    }

    pub(super) fn is_live(&self) -> bool {
        (self.live)()
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health").field("ready", &self.is_ready()).field("live", &self.is_live()).finish()
    }
}
