//! The services together and under load: rolling updates, shedding, sessions, a soak, any JSON through all of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod whole_parts;
