//! x
pub(crate) mod identity;
