//! Who talks most at all instances that share the records.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tollgate_records::{IdentifierSecret, Identifiers, ViolationSettings};

use super::door::{TestDoor, usual};
use super::talking::check;

/// Longest that anything may take here: two seconds until a sheet is written, one until it is read, and a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// Within this a sheet would have been written, had there been one.
const SHEETS_ARE_WRITTEN: Duration = Duration::from_secs(5);

/// One that the settings of every instance name: while the database is away, no other can be judged.
const TOKEN: &str = "the-token-of-the-settings";

/// A number of instances that share their records with this one.
async fn instances<const COUNT: usize>(room: &TestDoor) -> [TestDoor; COUNT] {
    let mut doors = Vec::new();
    for _ in 0..COUNT {
        doors.push(room.beside(TOKEN, &usual()).await);
    }
    doors.try_into().unwrap_or_else(|_| panic!("as many as were opened"))
}

async fn ask(door: &TestDoor, query: &str) -> Value {
    door.get(&format!("/admin/v1/top?{query}")).token(TOKEN).expect(200).await.json()
}

async fn top(door: &TestDoor) -> Value {
    ask(door, "rule=per-user&by=admitted").await
}

/// Each client with how often it was admitted, the first first.
fn admitted(top: &Value) -> Vec<(String, u64)> {
    let clients = top["rules"][0]["clients"].as_array().unwrap();
    let told = |client: &Value| {
        let times = client["admitted"]["at_least"].as_u64().unwrap();
        (client["key"].as_str().unwrap().to_owned(), times)
    };
    clients.iter().map(told).collect()
}

/// Waits until an instance tells this of who was admitted.
async fn until_told(door: &TestDoor, expected: &[(&str, u64)]) -> Value {
    let expected: Vec<(String, u64)> =
        expected.iter().map(|(key, times)| ((*key).to_owned(), *times)).collect();
    let mut last = top(door).await;
    let looking = async {
        while admitted(&last) != expected {
            sleep(Duration::from_millis(50)).await;
            last = top(door).await;
        }
    };
    let in_time = timeout(PATIENCE, looking).await;
    assert!(in_time.is_ok(), "{expected:?}: {last}");
    last
}

async fn sheets(door: &TestDoor) -> usize {
    let now = tollgate_records::Timestamp::now();
    let records = door.records.as_ref().unwrap();
    records.shared_talkers("nobody", now.before(Duration::from_mins(1))).await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_asked_elsewhere_is_seen_here_and_what_it_did_is_added_up() {
    let room = TestDoor::open().await;
    let [here, there] = instances(&room).await;
    // Each admits five over all, by the rule for addresses.
    check(&there, "bob", 2);
    check(&there, "ann", 3);
    let told = until_told(&here, &[("user:ann", 3), ("user:bob", 2)]).await;
    assert_eq!(told["instances"], 2, "{told}");
    check(&here, "bob", 4);
    for door in [&here, &there] {
        let told = until_told(door, &[("user:bob", 6), ("user:ann", 3)]).await;
        assert_eq!(told["instances"], 2, "{told}");
    }
    let first = ask(&here, "rule=per-user&by=admitted&limit=1").await;
    assert_eq!(admitted(&first), [("user:bob".to_owned(), 6)]);
    // Whoever was denied elsewhere alone is among the denied, with what it was admitted here.
    check(&there, "bob", 7);
    let denied = async {
        loop {
            let told = ask(&here, "by=denied").await;
            let client = &told["rules"][0]["clients"][0];
            if client["denied"]["at_least"] == 7 {
                assert_eq!(
                    (&told["rules"][0]["rule"], &client["admitted"]["at_least"]),
                    (&json!("per-address"), &json!(9))
                );
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, denied).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sheets_that_make_no_sense_and_rules_that_are_not_in_force_are_passed_over() {
    let room = TestDoor::open().await;
    let [here] = instances(&room).await;
    check(&here, "ann", 1);
    let records = here.records.as_ref().unwrap();
    let times = json!({ "at_least": 1, "at_most": 2 });
    let client = json!({ "client": "eve", "key": null, "admitted": times, "denied": times, "near": times });
    let sheet = json!({ "rules": [{ "rule": "gone", "clients": [client] }, { "rule": "per-user", "clients": [client] }] });
    records.share_talkers("another", &sheet.to_string()).await.unwrap();
    records.share_talkers("broken", "{").await.unwrap();
    let told = ask(&here, "by=admitted").await;
    let rules: Vec<&Value> = told["rules"].as_array().unwrap().iter().map(|of| &of["rule"]).collect();
    assert_eq!(rules, ["per-user", "per-address"], "{told}");
    assert_eq!(
        (&told["instances"], &told["rules"][0]["clients"][0]["client"]),
        (&json!(2), &json!("eve")),
        "{told}"
    );
    here.get("/admin/v1/top?rule=gone").token(TOKEN).expect(404).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unless_clients_are_named_plainly_nothing_is_written_and_nothing_is_read() {
    let room = TestDoor::open().await;
    let [plain] = instances(&room).await;
    let named = |identifiers: Identifiers| {
        let mut settings = ViolationSettings::default();
        settings.identifiers = identifiers;
        settings
    };
    let hashed = named(Identifiers::Hashed(IdentifierSecret::new(b"0123456789abcdef")));
    let shy = [room.beside(TOKEN, &hashed).await, room.beside(TOKEN, &named(Identifiers::Off)).await];
    for door in &shy {
        check(door, "bob", 2);
    }
    sleep(SHEETS_ARE_WRITTEN).await;
    assert_eq!(sheets(&plain).await, 0);
    check(&plain, "ann", 1);
    until_told(&plain, &[("user:ann", 1)]).await;
    let written = async {
        while sheets(&plain).await == 0 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, written).await.unwrap();
    for door in &shy {
        let told = top(door).await;
        assert_eq!(
            (admitted(&told), &told["instances"]),
            (vec![("user:bob".to_owned(), 2)], &json!(1)),
            "{told}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_records_are_away_who_talks_here_is_told_alone_and_soon() {
    let room = TestDoor::open().await;
    let [here, there] = instances(&room).await;
    check(&there, "bob", 2);
    until_told(&here, &[("user:bob", 2)]).await;
    check(&here, "ann", 1);
    here.records.as_ref().unwrap().close().await;
    // What was read a moment ago still counts.
    let told = until_told(&here, &[("user:ann", 1)]).await;
    assert_eq!(told["instances"], 1, "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sheets_that_do_not_come_keep_nobody_waiting_for_long() {
    let room = TestDoor::open().await;
    let [here, there] = instances(&room).await;
    check(&there, "bob", 2);
    until_told(&here, &[("user:bob", 2)]).await;
    check(&here, "ann", 1);
    // Somebody reads, and has no answer.
    let _reading = here.gatehouse.operations.neighbours.told.lock().await;
    let told = timeout(PATIENCE, top(&here)).await.unwrap();
    assert_eq!(
        (admitted(&told), &told["instances"]),
        (vec![("user:ann".to_owned(), 1)], &json!(1)),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nobody_talks_nothing_is_written() {
    let room = TestDoor::open().await;
    let [here] = instances(&room).await;
    sleep(SHEETS_ARE_WRITTEN).await;
    assert_eq!(sheets(&here).await, 0);
}
