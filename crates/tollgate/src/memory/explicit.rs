//! Buckets whose limits come with the call: explicit rate and burst, no rule and no meter.
//!
//! A bucket is its balance and when it was last charged, in slots of 32 bytes; when it will be full again, by the limit of
//! its last charge, says when it may be forgotten. A table of its own, and whoever never uses it pays nothing for it.

pub(crate) mod adjust;
pub(crate) mod crowd;
pub(crate) mod joint;
mod revival;
pub(crate) mod slot;
pub(crate) mod store;
mod survey;
pub(crate) mod table;
pub(crate) mod told;
