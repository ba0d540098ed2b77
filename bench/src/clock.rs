//! Time that two processes of one machine can compare.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970.
pub(crate) fn epoch_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// Milliseconds since 1970.
pub(crate) fn epoch_millis() -> u64 {
    epoch_micros() / 1_000
}
