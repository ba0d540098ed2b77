//! What the services of the tenant plane share, a file a concept:
//!
//! - [`tenant`]: who a request is for (ids, environments, tiers)
//! - [`arn`]: the queues and tables that SSM parameters name
//! - [`directory`]: which queue and table serve a tenant (SSM discovery and its cache)
//! - [`message`]: the envelope that an event travels in, to and from SQS
//! - [`publisher`]: sending, gathered into batches, a lane a queue
//! - [`aws`]: clients, credentials, what a failed call means
//! - [`auth`]: who may speak for a tenant (bearer tokens)
//! - [`share`]: how much of a process one tenant may have (limits)
//! - [`server`]: the HTTP scaffold: headers, limits, probes, drain
//! - [`problem`]: errors as HTTP
//! - [`config`], [`telemetry`], [`process`]: settings, logs and metrics, the life of a process
//! - [`trace`]: spans, from a request to its record
//!
//! It knows none of the services.

pub mod arn;
pub mod auth;
pub mod aws;
pub mod config;
pub mod directory;
pub mod message;
mod port;
pub mod problem;
pub mod process;
pub mod publisher;
pub mod registry;
pub mod server;
pub mod share;
pub mod telemetry;
pub mod tenant;
#[cfg(test)]
mod testing;
pub mod trace;
