//! Whatever a client sends: a policy decides it, and its explanation agrees.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_sim::requests;

fuzz_target!(|bytes: &[u8]| requests::run(bytes));
