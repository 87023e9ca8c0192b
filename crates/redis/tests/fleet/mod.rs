//! Real servers on free ports, alone, watched by sentinels, or as a cluster; and a proxy that spoils what passes. All are gone with the test,
//! and show their logs if it failed.

/// Ends a test that needs real servers where `TOLLGATE_SKIP` names them.
macro_rules! needs_redis {
    () => {
        needs_redis!("redis")
    };
    ($component:literal) => {
        if $crate::fleet::is_skipped($component) {
            return;
        }
    };
}

mod certificates;
mod cluster;
mod fault_proxy;
#[path = "../support/mortal.rs"]
pub(crate) mod mortal;
mod sentinel_fleet;
mod server;

pub(crate) use certificates::Certificates;
pub(crate) use cluster::ClusterFleet;
pub(crate) use fault_proxy::FaultProxy;
pub(crate) use sentinel_fleet::SentinelFleet;
pub(crate) use server::{RedisServer, free_port};

use std::future::Future;
use std::io::Write;
use std::time::Duration;

/// How long servers may take to be ready for a test. No promise of ours: a busy machine may take its time.
pub(crate) const SET_UP_MAX: Duration = Duration::from_mins(2);

/// Waits until something is so, looking every few milliseconds; fails the test if that takes longer than `within`.
#[track_caller]
pub(crate) fn until<F: Future<Output = bool>>(
    what: &str,
    within: Duration,
    mut is_so: impl FnMut() -> F,
) -> impl Future<Output = ()> {
    let looking = async move {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    async move {
        let in_time = tokio::time::timeout(within, looking).await;
        assert!(in_time.is_ok(), "not within {within:?}: {what}");
    }
}

/// Whether tests with a component are left out; then each says so, and does nothing.
pub(crate) fn is_skipped(component: &str) -> bool {
    let skipped = std::env::var("TOLLGATE_SKIP").unwrap_or_default();
    let is_skipped = skipped.split(',').any(|name| name.trim() == component);
    if is_skipped {
        // Not by `eprintln!`, which is shown of failing tests alone.
        let line = format!("a test with {component} does nothing: named in TOLLGATE_SKIP\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    is_skipped
}
