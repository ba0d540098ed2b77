//! What an operator does by hand: dead letters looked at and sent back, the records of a tenant that left deleted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod operations_parts;
