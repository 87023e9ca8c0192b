//! The memory store passes the conformance suite, whatever it would do with clients that find no room.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use tollgate::{Limiter, TableFull};
use tollgate_sim::conformance::run_all;
use tollgate_sim::memory_subject::MemorySubject;

fn conforms(table_full: TableFull) {
    let report =
        run_all(|| MemorySubject::new(Limiter::builder().keys_max(10_000).table_full(table_full)).unwrap());
    assert!(report.conforms(), "{report}");
}

#[test]
fn a_memory_store_that_inherits_conforms() {
    conforms(TableFull::Inherit);
}

#[test]
fn a_memory_store_that_denies_newcomers_conforms() {
    conforms(TableFull::DenyNew);
}

#[test]
fn a_memory_store_with_a_shared_overflow_conforms() {
    conforms(TableFull::SharedOverflow);
}
