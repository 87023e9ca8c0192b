//! Databases that are away, locked or full: checks notice nothing, denials are counted, and all is told.

use std::process::Command;

use serde_json::json;

use crate::databases::{Place, PostgresServer, is_postgres_skipped, until};
use crate::instance::{Counted, Instance, POLICY};

/// So many denials, each of another user: a row for each.
fn deny(instance: &Instance, users: std::ops::Range<u32>) {
    let mut connection = instance.server.http();
    for user in users {
        let check = json!({ "method": "GET", "path": "/dear?cost=2", "user": user.to_string() });
        let answer = connection.post("/v1/check", &check.to_string());
        assert_eq!(answer.status, 429, "{answer:?}");
    }
}

/// Waits until so many denials are rows of the database, and none is on its way.
async fn stored(instance: &Instance, place: &Place, denials: u64) {
    let all = Counted { denied: denials, stored: denials, sampled_out: 0, dropped: 0, queued: 0 };
    until("all are stored", || async { instance.violations() == all }).await;
    let rows = place.hand().await.number("SELECT COUNT(*) FROM rate_limit_violations").await;
    assert_eq!(u64::try_from(rows).unwrap(), denials);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_database_an_instance_serves_and_says_so_and_catches_up_when_it_comes() {
    if is_postgres_skipped() {
        return;
    }
    let mut server = PostgresServer::prepare();
    let place = Place::later(&server, "later");
    let mut instance = Instance::begin(&place.typed_url, POLICY, &[]);
    assert_eq!(instance.server.times_said("the database of the records does not answer"), 1);
    assert_eq!(instance.admits_of(5, "42"), 2);
    deny(&instance, 0..97);
    until("it is told", || async { instance.readyz()["records"] == "failing" }).await;
    assert_eq!(instance.readyz()["ready"], true);
    assert_eq!(instance.told("status")["records"]["state"], "failing");
    assert_eq!(instance.metric("tollgate_records_up"), 0);
    let counted = Counted { denied: 100, stored: 0, sampled_out: 0, dropped: 0, queued: 100 };
    until("they are queued", || async { instance.violations() == counted }).await;
    let refused =
        instance.ask("POST", "orders", &json!({ "kind": "block", "who": "user:eve", "reason": "x" }));
    assert_eq!((refused.status, refused.json()["reason"].as_str()), (503, Some("records_unavailable")));

    server.restart().await;
    server.create_database("later").await;
    until("it is ready", || async { instance.is_ready() }).await;
    assert_eq!(instance.metric("tollgate_records_up"), 1);
    instance.server.wait_for("the database of the records is back");
    stored(&instance, &place, 100).await;
    assert_eq!(instance.metric("tollgate_violations_failing"), 0);
    let row = "INSERT INTO rate_limit_rules (key_pattern, scope, rate_per_second, burst_capacity) \
               VALUES ('user:{user_id}', 'user', 1, 1)";
    place.sql(row).await.unwrap();
    until("its rules are in force", || async { instance.peek("new").json()["limit"] == 1 }).await;
    instance.order(&json!({ "kind": "block", "who": "user:eve", "reason": "x" }));
    until("its orders stand", || async { !instance.would_admit("eve") }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_somebody_locks_the_file_denials_wait_and_nobody_else_does() {
    let place = Place::sqlite();
    let mut instance = Instance::start(&place, POLICY).await;
    let mut hand = place.hand().await;
    hand.sql("BEGIN EXCLUSIVE").await.unwrap();
    deny(&instance, 0..100);
    instance.server.wait_for("violations cannot be stored");
    let counted = instance.violations();
    assert_eq!((counted.denied, counted.queued), (100, 100), "{counted:?}");
    assert_eq!(instance.metric("tollgate_violations_failing"), 1);
    let block = json!({ "kind": "block", "who": "user:eve", "reason": "x" });
    let refused = instance.ask("POST", "orders", &block);
    assert_eq!((refused.status, refused.json()["reason"].as_str()), (503, Some("records_locked")));
    assert_eq!(instance.admits_of(5, "42"), 2);
    hand.sql("COMMIT").await.unwrap();
    instance.server.wait_for("violations are stored again");
    stored(&instance, &place, 103).await;
    assert_eq!(instance.metric("tollgate_violations_failing"), 0);
    instance.order(&block);
    until("eve is blocked", || async { !instance.would_admit("eve") }).await;
    assert_eq!(instance.server.times_said(" WARN "), 1, "{:#?}", instance.server.said);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_may_not_grow_is_told_of_and_harms_no_check_and_all_is_stored_once_it_may() {
    let place = Place::sqlite();
    let mut instance = Instance::start(&place, POLICY).await;
    instance.order(&json!({ "kind": "block", "who": "user:eve", "reason": "x" }));
    until("eve is blocked", || async { !instance.would_admit("eve") }).await;
    instance.limit_files(Some(4_096));
    deny(&instance, 0..100);
    instance.server.wait_for("violations cannot be stored");
    let counted = instance.violations();
    counted.assert_exact();
    assert_eq!((counted.denied, counted.stored), (100, 0), "{counted:?}");
    assert_eq!(instance.metric("tollgate_violations_failing"), 1);
    let refused =
        instance.ask("POST", "orders", &json!({ "kind": "block", "who": "user:mal", "reason": "x" }));
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(!instance.would_admit("eve"), "what stood still stands");
    assert_eq!(instance.admits_of(5, "42"), 2);
    instance.limit_files(None);
    instance.server.wait_for("violations are stored again");
    stored(&instance, &place, 103).await;
    assert_eq!(instance.readyz()["records"], "ready");
}

impl Instance {
    /// How large the files may become that it writes, in bytes: what a quota does, and a disk that is full.
    fn limit_files(&self, bytes_max: Option<u64>) {
        let bytes_max = bytes_max.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
        let (pid, size) = (self.server.id().to_string(), format!("--fsize={bytes_max}:unlimited"));
        assert!(Command::new("prlimit").args(["--pid", &pid, &size]).status().unwrap().success());
    }
}
