//! The producer over HTTP, black box, in front of an AWS that does what a test says.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod batch;
mod documentation;
mod events;
mod limits;
mod protocols;
mod sending;
mod support;
mod tenants;
