//! Payments: one key, one payment, whatever happens to the claim, to the event and to their answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod faults_payments_parts;
