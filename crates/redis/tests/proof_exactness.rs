//! The proof that the script's arithmetic is that of `tollgate-core`, bit for bit, on real servers: 10^5 histories on each.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "proof_exactness/algorithms.rs"]
mod algorithms;
#[path = "proof_exactness/explicit.rs"]
mod explicit;
#[path = "proof_exactness/leases.rs"]
mod leases;
#[path = "proof_exactness/room.rs"]
mod room;
#[path = "proof_exactness/rules.rs"]
mod rules;
mod support;
#[path = "proof_exactness/timeline.rs"]
mod timeline;
