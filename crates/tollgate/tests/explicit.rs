//! Limits that come with the call: what callers of `Limiter::explicit` rely on.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "explicit/bad_input.rs"]
mod bad_input;
#[path = "explicit/batches.rs"]
mod batches;
#[path = "explicit/beside_a_model.rs"]
mod beside_a_model;
#[path = "explicit/crowding.rs"]
mod crowding;
#[path = "explicit/one_bucket.rs"]
mod one_bucket;
#[path = "explicit/settling.rs"]
mod settling;
#[path = "explicit/several_buckets.rs"]
mod several_buckets;
#[path = "explicit/threads.rs"]
mod threads;
#[path = "explicit/world.rs"]
mod world;
