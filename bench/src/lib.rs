//! What the services cost, measured: CPU, memory and AWS calls a message, throughput and latency, beside what users would
//! pick instead.
//!
//! - `aws`: an AWS endpoint that is no bottleneck, as a process of its own
//! - `load`: the load generator
//! - `process`: what a process has used, from `/proc`
//! - `run`: the parts of the benchmark, their cases, and what is measured
//! - `report`: the tables, from the results
//! - [`cli`]: the command line

mod aws;
pub mod cli;
mod clock;
mod epoll;
mod http;
mod load;
mod process;
mod report;
mod run;
