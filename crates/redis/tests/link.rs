//! The link to the store, on real servers: whatever happens to the store, no call outlives its deadline, and the link is whole again within a
//! second of the store's return.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
mod fleet;

#[path = "link/asking.rs"]
mod asking;
#[path = "link/cluster.rs"]
mod cluster;
#[path = "link/coalescing.rs"]
mod coalescing;
#[path = "link/faults.rs"]
mod faults;
#[path = "link/locked.rs"]
mod locked;
#[path = "link/one_server.rs"]
mod one_server;
#[path = "link/sentinel.rs"]
mod sentinel;
#[path = "link/surveying.rs"]
mod surveying;
