//! Modes of a full bucket table: what happens to a new client.

/// Treatment of a new client when both its windows of the table hold live buckets only, and none is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TableFull {
    /// The newcomer evicts a bucket and starts no fuller than the fullest bucket of its own limit in a window where buckets were
    /// evicted. Of another limit a bucket is evicted only if another one of that limit stays in the window and none there is
    /// fuller, so no client gains a token by being evicted. If no bucket may go, the newcomer is denied. Buckets of sliding
    /// counters and concurrency limits are never evicted; they may take three quarters of each window.
    #[default]
    Inherit,
    /// The newcomer is denied until a slot is free.
    DenyNew,
    /// The newcomer shares one bucket with all such clients of its limit. When it gets a slot it starts no fuller than the shared
    /// bucket; only a check over several buckets that is charged at that very moment may be missed.
    SharedOverflow,
}

impl TableFull {
    /// Every mode.
    pub const ALL: [TableFull; 3] = [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow];

    /// The word of policies and settings.
    pub const fn name(self) -> &'static str {
        match self {
            TableFull::Inherit => "inherit",
            TableFull::DenyNew => "deny_new",
            TableFull::SharedOverflow => "shared_overflow",
        }
    }
}
