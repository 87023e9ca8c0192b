//! The proof that a fleet keeps one limit: 4 processes with 8 threads each hammer one real server, and no interval of what they
//! recorded is above `burst + rate·d`; nor is anything wasted. Each process is this program again, told what to do.
//!
//! Ten seconds each, or as long as `TOLLGATE_SOAK_SECONDS` says.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;
#[path = "heavy_hammer/changes.rs"]
mod changes;
#[path = "heavy_hammer/crew.rs"]
mod crew;
#[path = "heavy_hammer/exact.rs"]
mod exact;
#[path = "heavy_hammer/leased.rs"]
mod leased;
#[path = "heavy_hammer/load.rs"]
mod load;
#[path = "heavy_hammer/monotonic.rs"]
mod monotonic;
#[path = "heavy_hammer/skew.rs"]
mod skew;
#[path = "heavy_hammer/worker.rs"]
mod worker;
