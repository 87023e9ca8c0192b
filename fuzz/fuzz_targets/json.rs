//! Whatever is posted to the routes of the HTTP door: JSON of a status that the route has, and nothing is charged but by an admission.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The body is a test of the crate that it is about: crates/sim, where the others are, knows nothing of doors.
#[path = "../../crates/server/tests/http/any_json.rs"]
mod any_json;
#[path = "../../crates/server/tests/http/problem_document.rs"]
mod problem_document;

fuzz_target!(|bytes: &[u8]| {
    any_json::run(bytes);
});
