//! Whatever a Redis client sends: the same replies however it is cut into reads, and nothing grows beyond its maximum.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The body is a test of the crate that it is about: crates/sim, where the others are, knows nothing of doors.
#[path = "../../crates/server/tests/resp/any_bytes.rs"]
mod any_bytes;
#[path = "../../crates/server/tests/resp/engine.rs"]
mod engine;

fuzz_target!(|bytes: &[u8]| {
    any_bytes::run(bytes);
});
