//! Sequences of operations on a limiter: it answers as the reference does, and keeps its promises when crowded.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tollgate_sim::operations::run(bytes));
