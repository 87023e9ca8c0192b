//! Exact, fast, bounded token-bucket rate limiting in process.
#![deny(unsafe_op_in_unsafe_fn)]

mod builder;
mod clock;
mod identity;
mod key;
mod keyed_hash;
mod limiter;
mod memory;
mod revival;
mod rule;
mod seqlock;
mod shared;
mod snapshot;
mod snapshot_file;
mod stats;
mod sync;
mod verdict;

#[cfg(loom)]
pub mod proof;

pub use builder::{BuildError, KEYS_DEFAULT, LimiterBuilder};
pub use clock::{CLOCK_ERROR_MAX, Clock};
pub use key::{KEY_BYTES_MAX, Key, KeyKind};
pub use limiter::Limiter;
pub use memory::Crowding;
pub use memory::table::KEYS_MAX;
pub use rule::{Breadth, Charge, Rule};
pub use shared::{LIMITS_MAX, NAME_BYTES_MAX, RuleError};
pub use snapshot::SnapshotFault;
pub use snapshot_file::SnapshotError;
pub use stats::Stats;
pub use tollgate_core::{
    BucketSet, Burst, CHARGES_MAX, Cost, FloatError, FloatFault, Limit, LimitError, Moment, Rate, Span,
    Tokens,
};
pub use verdict::{Cause, CheckError, Verdict};
