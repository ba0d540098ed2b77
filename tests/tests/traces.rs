//! A trace from the client's request to the record, in a collector; and that nobody waits for a collector.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod traces_parts;
