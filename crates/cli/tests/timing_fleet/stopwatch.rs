//! How long something took to come to be.

use std::time::{Duration, Instant};

use crate::databases::until;
use crate::instance::Instance;

/// Longest from a change to its being in force everywhere, and from the database's return.
pub(crate) const IN_FORCE_MAX: Duration = Duration::from_secs(1);

pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Asserts that something is so at every instance within a second of a moment, and says how long it took.
pub(crate) async fn in_force(
    since: Instant,
    what: &str,
    instances: &[Instance],
    is_so: impl Fn(&Instance) -> bool,
) {
    until(what, || async { instances.iter().all(&is_so) }).await;
    let took = since.elapsed();
    println!("{what}: {took:?}");
    assert!(took <= IN_FORCE_MAX, "{what}: {took:?}");
}
