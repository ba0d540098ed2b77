//! Takes payments, each once.
#![allow(dead_code)]

mod claims;
mod events;
mod money;
mod payment;
