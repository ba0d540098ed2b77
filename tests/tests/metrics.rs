//! What `/metrics` shows is what `docs/metrics.md` says, both ways. `UPDATE_README=1` writes the document.
#![allow(clippy::unwrap_used, clippy::panic)]

mod metrics_parts;
