//! Draining: nothing is deleted before its record is confirmed, nothing is lost, nothing is stored twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod faults_drain_parts;
