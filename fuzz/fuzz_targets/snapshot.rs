//! Files that claim to be snapshots: refused, or the start of a limiter that limits.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use tollgate_sim::snapshots::{self, Restored};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    // Both are worth keeping; the coverage tells them apart.
    match snapshots::run(bytes) {
        Restored::Refused | Restored::Works => Corpus::Keep,
    }
});
