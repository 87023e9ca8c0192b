//! The memory store at full size and under real threads. Run alone and optimised, by the gate's step `proofs`.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "heavy/capacity.rs"]
mod capacity;
#[path = "heavy/conservation.rs"]
mod conservation;
#[path = "heavy/eviction.rs"]
mod eviction;
#[path = "heavy/explicit.rs"]
mod explicit;
#[path = "heavy/flood.rs"]
mod flood;
#[path = "heavy/resident.rs"]
mod resident;
#[path = "heavy/stress.rs"]
mod stress;
#[path = "heavy/tiers.rs"]
mod tiers;
#[cfg(feature = "tokio")]
#[path = "heavy/waiting.rs"]
mod waiting;
#[path = "heavy/world.rs"]
mod world;
