//! The whole plane on one machine.
//!
//! - [`aws`]: an embedded AWS on 127.0.0.1, which tests use as well
//! - [`plane`]: tenants of tiers, their queues, tables and parameters, and the services that a cluster would run for them
//! - [`front_door`]: one port that routes by the header `TenantID`, as the load balancer does
//! - `console`: the page at the front door that shows the plane at work
//! - [`trial`]: an event for each tenant has to become a record
//! - [`cli`], [`report`]: the command line and what it prints

mod ask;
pub mod aws;
pub mod cli;
mod console;
mod forward;
pub mod front_door;
mod issuer;
pub mod plane;
pub mod report;
pub mod trial;

#[cfg(test)]
mod testing;
