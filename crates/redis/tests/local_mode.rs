//! What instances do by themselves: while the store does not answer, when it answers late, and where they need not ask it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;

#[path = "local_mode/changed_policy.rs"]
mod changed_policy;
#[path = "local_mode/denials.rs"]
mod denials;
#[path = "local_mode/errors.rs"]
mod errors;
#[path = "local_mode/instance.rs"]
mod instance;
#[path = "local_mode/instances.rs"]
mod instances;
#[path = "local_mode/late.rs"]
mod late;
#[path = "local_mode/late_reservations.rs"]
mod late_reservations;
#[path = "local_mode/room.rs"]
mod room;
#[path = "local_mode/shared_tier.rs"]
mod shared_tier;
#[path = "local_mode/shares.rs"]
mod shares;
#[path = "local_mode/way_back.rs"]
mod way_back;
