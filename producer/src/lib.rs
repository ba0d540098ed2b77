//! Takes events.
#![allow(dead_code)]

mod batch;
