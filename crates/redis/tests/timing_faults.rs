//! The proof that no fault of the store reaches a client: 2,000 checks a second go on at their times while the store is killed, stopped,
//! emptied, filled, failed over, resharded, delayed or cut off. Whoever asks is answered within the deadline, the store decides again
//! within a second of its return, and what was admitted too much stays within what docs/decisions/0022 allows.
//!
//! Each fault lasts as briefly as it can, or `TOLLGATE_SOAK_SECONDS` longer.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;
#[path = "timing_faults/asked.rs"]
mod asked;
#[path = "timing_faults/between.rs"]
mod between;
#[path = "timing_faults/fleets.rs"]
mod fleets;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "local_mode/instance.rs"]
mod instance;
#[path = "timing_faults/late.rs"]
mod late;
#[path = "timing_faults/many.rs"]
mod many;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "heavy_hammer/monotonic.rs"]
mod monotonic;
#[path = "timing_faults/one_server.rs"]
mod one_server;
#[path = "timing_faults/report.rs"]
mod report;
#[path = "timing_faults/stalls.rs"]
mod stalls;
#[path = "timing_faults/traffic.rs"]
mod traffic;
#[path = "timing_faults/trial.rs"]
mod trial;
