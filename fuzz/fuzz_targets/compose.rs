//! What claims to be a file, entries, rows and orders: refused with every mistake, or a policy that rules as it explains.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use tollgate_sim::compositions;
use tollgate_sim::policies::Read;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    // Both are worth keeping; the coverage tells them apart.
    match compositions::run(bytes) {
        Read::Refused | Read::Works => Corpus::Keep,
    }
});
