//! Credentials and parameters: who the services are to AWS, where AWS is, and what is looked up how often.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod faults_identity_parts;
