//! Real servers on free ports, alone, watched by sentinels, or as a cluster; and a proxy that spoils what passes. All are gone with the test,
//! and show their logs if it failed.

mod certificates;
mod cluster;
mod fault_proxy;
mod sentinel_fleet;
mod server;

pub(crate) use certificates::Certificates;
pub(crate) use cluster::ClusterFleet;
pub(crate) use fault_proxy::FaultProxy;
pub(crate) use sentinel_fleet::SentinelFleet;
pub(crate) use server::{RedisServer, free_port};

use std::future::Future;
use std::time::Duration;

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
