//! The scripted AWS, seen through the SDK that the services use.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod scripted_aws_parts;
