//! The suite that defines a store (S6), on every kind of store that a ledger leads to.
//!
//! What is played is all of it, the same as in memory, but for waits and lifetimes, which a server tells by the microsecond and the
//! millisecond. Nothing is left out: the report would name it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;
#[path = "proof_conformance/expiry.rs"]
mod expiry;
#[path = "proof_conformance/faults.rs"]
mod faults;
#[path = "proof_conformance/lessee.rs"]
mod lessee;
#[path = "proof_conformance/place.rs"]
mod place;
#[path = "proof_conformance/script_subject.rs"]
mod script_subject;
#[path = "proof_conformance/tickets.rs"]
mod tickets;

use std::cell::Cell;

use fleet::{ClusterFleet, RedisServer, SentinelFleet};
use place::Place;
use script_subject::ScriptSubject;
use tokio::runtime::Runtime;
use tollgate_sim::conformance::run_all;

/// Plays the suite; every scenario and every history has keys of its own.
fn conforms(name: &str, runtime: &Runtime, url: &str, ports: &[u16]) {
    let place = Place::open(runtime, url, ports);
    let report = run_all(|| ScriptSubject::new(&place));
    println!("{name}: {report}");
    assert!(report.conforms() && report.skipped() == 0, "{name}: {report}");
}

#[test]
fn redis_conforms() {
    needs_redis!();
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(RedisServer::start(""));
    conforms("Redis", &runtime, &server.url(), &[server.port]);
}

#[test]
fn buckets_that_are_leased_conform() {
    needs_redis!();
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(RedisServer::start(""));
    let place = Place::open(&runtime, &server.url(), &[server.port]);
    let granted = Cell::new(0);
    let report = run_all(|| ScriptSubject::leased(&place, &granted));
    println!("leased, {} slices: {report}", granted.get());
    assert!(report.conforms() && report.skipped() == 0, "{report}");
    assert!(granted.get() > 1_000, "{} slices", granted.get());
}

#[test]
fn redis_of_the_oldest_version_conforms() {
    needs_redis!("redis-6.2");
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(RedisServer::start_component("redis-6.2"));
    conforms("Redis 6.2", &runtime, &server.url(), &[server.port]);
}

#[test]
fn valkey_conforms() {
    needs_redis!("valkey");
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(RedisServer::start_component("valkey"));
    conforms("Valkey", &runtime, &server.url(), &[server.port]);
}

#[test]
fn a_master_that_sentinels_name_conforms() {
    needs_redis!();
    let runtime = Runtime::new().unwrap();
    let fleet = runtime.block_on(SentinelFleet::start());
    conforms("Sentinel", &runtime, &fleet.url(), &[fleet.servers[0].port]);
}

#[test]
fn a_cluster_conforms() {
    needs_redis!();
    let runtime = Runtime::new().unwrap();
    let fleet = runtime.block_on(ClusterFleet::start());
    let ports: Vec<u16> = fleet.nodes.iter().map(|node| node.port).collect();
    conforms("Cluster", &runtime, &fleet.url(), &ports);
}
