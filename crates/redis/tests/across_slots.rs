//! Checks over buckets in several slots of a real cluster (S3): all or nothing, never more than the limit, whatever happens meanwhile.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;

#[path = "across_slots/asking.rs"]
mod asking;
#[path = "across_slots/exactness.rs"]
mod exactness;
#[path = "across_slots/faults.rs"]
mod faults;
#[path = "across_slots/hash_tags.rs"]
mod hash_tags;
#[path = "across_slots/late.rs"]
mod late;
#[path = "across_slots/policies.rs"]
mod policies;
#[path = "across_slots/records.rs"]
mod records;
