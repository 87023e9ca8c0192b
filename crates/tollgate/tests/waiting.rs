//! What those who wait for tokens rely on, under tokio's paused clock: every wait is exact, and none takes any time.
#![cfg(feature = "tokio")]
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "waiting/algorithms.rs"]
mod algorithms;
#[path = "waiting/bad_input.rs"]
mod bad_input;
#[path = "waiting/cancelling.rs"]
mod cancelling;
#[path = "waiting/changes.rs"]
mod changes;
#[path = "waiting/crowded.rs"]
mod crowded;
#[path = "waiting/leaky.rs"]
mod leaky;
#[path = "waiting/order.rs"]
mod order;
#[path = "waiting/patience.rs"]
mod patience;
#[path = "waiting/promise.rs"]
mod promise;
#[path = "waiting/stalls.rs"]
mod stalls;
#[path = "waiting/tiers.rs"]
mod tiers;
#[path = "waiting/wakers.rs"]
mod wakers;
#[path = "waiting/world.rs"]
mod world;
