//! Who may speak for a tenant: bearer tokens, good and hostile, on every route of every service.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod identity_parts;
