//! Sending: what a client hears and what the queue holds when SQS misbehaves, and what SQS would refuse.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod faults_send_parts;
