//! State in memory: bounded by a number of keys, never resized, no thread of its own.

pub(crate) mod adjust;
mod awaited;
pub(crate) mod booking;
pub(crate) mod counters;
pub(crate) mod explicit;
mod gates;
mod hints;
pub(crate) mod joint;
mod joint_likely;
mod joint_parts;
mod limit_id;
pub(crate) mod log_room;
pub(crate) mod logs;
pub(crate) mod meters;
mod overflow;
pub(crate) mod receipt;
pub(crate) mod refusal;
pub(crate) mod resets;
pub(crate) mod room;
mod settle;
pub(crate) mod slot;
pub(crate) mod store;
mod survey;
pub(crate) mod table;
pub(crate) mod wish;

pub(crate) use limit_id::LimitId;

pub use tollgate_core::TableFull;
