//! The whole plane on one machine.
//!
//! [`aws`] is an embedded AWS on 127.0.0.1 that tests use as well.

pub mod aws;
mod forward;
mod plane;

#[cfg(test)]
mod testing;
