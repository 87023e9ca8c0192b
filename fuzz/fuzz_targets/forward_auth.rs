//! Whatever proxies ask: every refusal says why in the proxy's own way, and nothing is charged but by an admission.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The body is a test of the crate that it is about: crates/sim, where the others are, knows nothing of doors.
#[path = "../../crates/server/tests/http/any_forward_auth.rs"]
mod any_forward_auth;
#[path = "../../crates/server/tests/http/problem_document.rs"]
mod problem_document;

fuzz_target!(|bytes: &[u8]| {
    any_forward_auth::run(bytes);
});
