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
pub(crate) mod logs;
pub(crate) mod meters;
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

/// What happens to a new client when the table has no room: its places are taken, and none by a full bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Crowding {
    /// It displaces the client that is nearest to full, and starts no fuller than that one was. Nobody gains a token by
    /// being displaced; some newcomers are denied who would not have been. Where the displaced client was under another
    /// limit than all its neighbours, it comes back full: at most the smallest deficit around per displacement, counted as
    /// [`crate::Stats::forgotten`]. Buckets of a sliding counter and places at work cannot be inherited and are never displaced:
    /// a flood of their keys denies all newcomers, of other rules too, until they fade. Give such rules a limiter of their own
    /// where clients choose the keys.
    #[default]
    Inherit,
    /// It is denied until there is room.
    DenyNew,
    /// It shares one bucket with all such clients of its limit. When it finds a place of its own it starts no fuller than that
    /// one; only a check over several buckets that is being charged at that very moment may be missed.
    SharedOverflow,
}
