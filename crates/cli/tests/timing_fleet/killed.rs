//! PostgreSQL that is killed and started again, under load.

use std::time::Duration;

use serde_json::json;

use crate::databases::{Place, PostgresServer, is_postgres_skipped, until};
use crate::instance::{Instance, POLICY};
use crate::load::{BATCH, Load};
use crate::stopwatch::{in_force, now};

/// Longest that any check takes while the database dies, is away, and comes back. Whoever waited for it would wait for 2 s at least.
const CHECK_MAX: Duration = Duration::from_millis(500);
/// So many violations are kept while the database is away.
const QUEUED_MAX: u64 = 8_192;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_check_notices_that_postgresql_is_killed_and_every_denial_is_accounted_for() {
    if is_postgres_skipped() {
        return;
    }
    let mut server = PostgresServer::start().await;
    let place = Place::on(&server).await;
    let instance = Instance::start(&place, POLICY).await;
    let door = instance.server.address("http");
    let checks = Load::checks(door);
    until("denials are stored", || async { instance.violations().stored > 300 }).await;

    server.kill_hard();
    let flood = Load::flood(door);
    until("it is told", || async { instance.readyz()["records"] == "failing" }).await;
    until("the queue overflows", || async { instance.violations().dropped > 500 }).await;
    let flooded = flood.end();
    let away = instance.violations();
    println!("while the database is away: {away:?}");
    assert!(away.queued <= QUEUED_MAX + 4_096, "no more than the queue and its intake: {away:?}");
    assert_eq!(instance.metric("tollgate_violations_failing"), 1);

    server.restart().await;
    let back = now();
    let rule = "INSERT INTO tollgate_entries (name, text) VALUES ('api', '{name: api, scope: user, rate: 1/h, burst: 1}')";
    place.sql(rule).await.unwrap();
    let is_so = |instance: &Instance| instance.peek("new").json()["limit"] == 1;
    in_force(back, "a rule changed at the database's return", std::slice::from_ref(&instance), is_so).await;
    let seen = checks.end();
    println!("{seen:?}");

    until("all that was queued is stored", || async { instance.violations().queued == 0 }).await;
    let counted = instance.violations();
    println!("in the end: {counted:?}");
    counted.assert_exact();
    assert!(counted.stored >= QUEUED_MAX && counted.dropped >= away.dropped, "{counted:?}");
    let denials = u64::from(seen.statuses[&429]) + u64::from(flooded.statuses[&200]) * u64::from(BATCH);
    assert!(counted.denied >= denials, "{counted:?}");
    let mut hand = place.hand().await;
    let rows = hand.number("SELECT COUNT(*) FROM rate_limit_violations").await;
    assert_eq!(u64::try_from(rows).unwrap(), counted.stored);
    let known: Vec<u16> = seen.statuses.keys().copied().collect();
    assert_eq!(known, [200, 429], "{seen:?}");
    assert!(seen.slowest <= CHECK_MAX, "{seen:?}");
    assert!(instance.server.post("/v1/check", &json!({ "user": "x" }).to_string()).status == 200);
}
