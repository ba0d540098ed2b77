//! What crosses rooms: tests of the services together, against an AWS that misbehaves on cue.
//!
//! [`scripted`] is that AWS; the tests themselves are in `tests/tests/`.

// Test support: what cannot go on is a failed test, and says so by a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

pub mod http;
pub mod scripted;
