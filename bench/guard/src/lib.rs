//! Instruction counts of what the services themselves do to a message, held against those that are committed. What the SDK, the
//! kernel and the network cost is not in them; `bench` measures that.
//!
//! - [`paths`]: the hot paths, with what goes into them
//! - [`callgrind`]: counting the instructions of one
//! - [`counts`]: the committed counts, and the verdict on new ones

pub mod callgrind;
pub mod counts;
pub mod paths;
