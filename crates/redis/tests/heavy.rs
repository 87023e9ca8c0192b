//! The proof that the script's arithmetic is that of `tollgate-core`, bit for bit, on real servers: 10^5 histories on each.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "exactness/algorithms.rs"]
mod algorithms;
#[path = "exactness/explicit.rs"]
mod explicit;
#[path = "exactness/leases.rs"]
mod leases;
#[path = "exactness/room.rs"]
mod room;
#[path = "exactness/rules.rs"]
mod rules;
mod support;
#[path = "exactness/timeline.rs"]
mod timeline;
