//! Files that claim to be policies: refused with every mistake, or the start of a limiter that answers.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use tollgate_sim::policies::{self, Read};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    // Both are worth keeping; the coverage tells them apart.
    match policies::run(bytes) {
        Read::Refused | Read::Works => Corpus::Keep,
    }
});
