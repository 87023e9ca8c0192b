//! Arguments that a careless caller might pass: refused with words, or a limit that is kept.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tollgate_sim::constructions::run(bytes));
