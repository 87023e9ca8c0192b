//! A limiter with a policy: what each documented rule shape does to requests, and what a swap leaves alone.
#![cfg(feature = "policy")]
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "policy/answering.rs"]
mod answering;
#[path = "policy/modes.rs"]
mod modes;
#[path = "policy/named_buckets.rs"]
mod named_buckets;
#[path = "policy/overrides.rs"]
mod overrides;
#[path = "policy/settling.rs"]
mod settling;
#[path = "policy/swapping.rs"]
mod swapping;
#[path = "policy/tiers.rs"]
mod tiers;
#[path = "policy/world.rs"]
mod world;
