//! Payments over HTTP, black box, in front of an AWS that does what a test says.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod documentation;
mod failures;
mod input;
mod once;
mod reading;
mod support;
mod tenants;
