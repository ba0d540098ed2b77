//! What crosses rooms: tests of the services together, against an AWS that misbehaves on cue.
//!
//! - [`scripted`]: that AWS
//! - [`service`], [`process`], [`http`]: a service as a process of its own, and a client for it
//! - [`issuer`]: an issuer of tokens
//! - [`inside`]: a service in the test's process
//! - [`command`]: a command of a service's binary
//! - [`document`]: parts of documents that are made from the code
//! - [`collector`]: an OpenTelemetry collector, which takes spans
//! - [`balancer`]: what stands before several of them; [`measure`]: what one takes of the machine
//! - [`matrix`]: generated cases, and what holds for every answer
//! - [`openapi`]: what the services' OpenAPI documents have in common
//!
//! The tests themselves are in `tests/tests/`.

// Test support: what cannot go on is a failed test, and says so by a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

pub mod balancer;
pub mod collector;
pub mod command;
pub mod document;
pub mod http;
pub mod inside;
pub mod issuer;
pub mod matrix;
pub mod measure;
pub mod openapi;
pub mod process;
pub mod scripted;
pub mod service;
