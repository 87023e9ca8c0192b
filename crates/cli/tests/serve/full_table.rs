//! A full bucket table and full sliding logs: flags, replies and figures.

use crate::scratch::Scratch;
use crate::server::Server;

fn server(policy: &str, flags: &[&str]) -> (Server, Scratch) {
    let scratch = Scratch::new();
    let path = scratch.write("policy.yaml", policy);
    (Server::new(&[&["--policy", &path], flags].concat()), scratch)
}

/// The status of a check by a user, and its reason.
fn check(server: &Server, user: u32) -> (u16, Option<String>) {
    let answer = server.post("/v1/check", &format!(r#"{{"user": "u{user}"}}"#));
    (answer.status, answer.header("tollgate-reason").map(str::to_owned))
}

/// One sample of the metrics.
#[track_caller]
fn sample(server: &Server, name: &str) -> u64 {
    let page = server.admin("/metrics").body;
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {page}"))
}

fn table_full_denials(server: &Server, rule: &str) -> u64 {
    sample(server, &format!("tollgate_table_full_denials_total{{rule=\"{rule}\"}}"))
}

#[test]
fn denial_for_lack_of_room_counts_for_the_rule_without_room() {
    let policy = "rules: [{name: user, scope: user, rate: 1/h, burst: 9000, table_full: deny_new}, \
                  {name: all, scope: global, rate: 1/h, burst: 400}]";
    let (server, _scratch) = server(policy, &["--max-keys", "1"]);
    for user in 0..300 {
        check(&server, user);
    }
    let [keys, keys_max] = ["tollgate_keys ", "tollgate_keys_max "].map(|name| sample(&server, name));
    assert_eq!((keys, keys_max), (1, 2), "one table for one key is full, the other one is empty");
    let by_room = table_full_denials(&server, "user");
    assert!(by_room > 100, "{by_room}");
    assert_eq!(table_full_denials(&server, "all"), 0);

    while check(&server, 0).0 == 200 {}
    let statuses: Vec<u16> = (300..310).map(|user| check(&server, user).0).collect();
    assert_eq!(statuses, [429; 10]);
    assert_eq!(sample(&server, r#"tollgate_checks_total{rule="all",verdict="deny",door="http"}"#), 11);
    assert_eq!((table_full_denials(&server, "user"), table_full_denials(&server, "all")), (by_room + 10, 0));
}

/// Limits that come with the call: a new client that inherits too little is denied for lack of room.
#[test]
fn explicit_limits_count_denials_for_lack_of_room() {
    let (server, _scratch) = server("{name: user, scope: user, rate: 1/h, burst: 2}", &["--max-keys", "1"]);
    let without_room = (0..300).filter(|key| {
        let check = format!(r#"{{"key": "{key}", "rate": 0.001, "burst": 5, "cost": 5}}"#);
        server.post("/v1/check", &check).header("tollgate-reason") == Some("table_full")
    });
    let without_room = without_room.count() as u64;
    assert!(without_room > 150, "{without_room}");
    assert_eq!(table_full_denials(&server, "(explicit)"), without_room);
}

#[test]
fn flag_says_what_happens_in_a_full_table() {
    let policy = "{name: user, scope: user, rate: 1/h, burst: 2}";
    let after_a_flood = |flags: &[&str]| {
        let (server, _scratch) = server(policy, &[flags, &["--max-keys", "1"]].concat());
        let told: Vec<_> = (0..300).map(|user| check(&server, user)).collect();
        let without_room = told.iter().filter(|(_, reason)| reason.as_deref() == Some("table_full")).count();
        assert_eq!(table_full_denials(&server, "user"), without_room as u64);
        let evicted = sample(&server, "tollgate_evictions_total");
        (evicted > 0, sample(&server, "tollgate_newcomers_denied_total") > 0, without_room > 200)
    };
    assert_eq!(after_a_flood(&[]), (true, false, false), "inherit is the default");
    assert_eq!(after_a_flood(&["--table-full", "deny_new"]), (false, true, true));
    assert_eq!(after_a_flood(&["--table-full", "shared_overflow"]), (false, false, true));
}

#[test]
fn flag_bounds_the_entries_of_sliding_logs() {
    let policy = "{name: log, scope: user, algorithm: sliding_window, quota: 5, window: 1h}";
    let (server, _scratch) = server(policy, &["--log-entries-max", "20"]);
    let entries =
        || ["", "_max"].map(|end| sample(&server, &format!("tollgate_log_entries{end}{{rule=\"log\"}}")));
    assert_eq!(entries(), [0, 20]);
    assert!((0..20).all(|user| check(&server, user).0 == 200));
    assert_eq!(check(&server, 20), (429, Some("table_full".to_owned())));
    assert_eq!((entries(), table_full_denials(&server, "log")), ([20, 20], 1));
}

#[test]
fn logs_of_a_rule_in_shadow_mode_are_counted() {
    let policy = "{name: log, scope: user, algorithm: sliding_window, quota: 5, window: 1h, mode: shadow}";
    let (server, _scratch) = server(policy, &["--log-entries-max", "20"]);
    assert!((0..3).all(|user| check(&server, user).0 == 200));
    assert_eq!(sample(&server, "tollgate_log_entries{rule=\"log\"}"), 3);
}

/// Nothing listens at the store's address: the settings are judged without it.
#[test]
fn settings_of_memory_are_warned_of_over_a_shared_store() {
    let policy = "rules: [{name: log, scope: user, algorithm: sliding_window, quota: 5, window: 1h, \
                  log_entries_max: 9}, {name: user, scope: user, rate: 1/h, burst: 9, table_full: deny_new}]";
    let store = ["--store", "redis://127.0.0.1:1"];
    let flags = ["--max-keys", "7", "--table-full", "deny_new", "--log-entries-max", "20"];
    let (mut server, _scratch) = server(policy, &[&store[..], &flags].concat());
    server.wait_for_silence(std::time::Duration::from_millis(200));
    for setting in ["--max-keys", "--table-full", "--log-entries-max"] {
        let warning =
            format!("{setting} has no effect with a shared store: it applies to memory only; leave it out");
        assert_eq!(server.times_said(&warning), 1, "{setting}");
    }
    for (field, rule) in [("table_full", "user"), ("log_entries_max", "log")] {
        let warning = format!(
            "`{field}` of rules has no effect with a shared store: it applies to memory only; leave it out (rule {rule})"
        );
        assert_eq!(server.times_said(&warning), 1, "{field}");
    }
    let page = server.admin("/metrics").body;
    assert!(page.contains("tollgate_policy_rules 2") && !page.contains("tollgate_log_entries"), "{page}");
    drop(server);

    let (mut server, _scratch) = self::server("{name: user, scope: user, rate: 1/h, burst: 9}", &store);
    server.wait_for_silence(std::time::Duration::from_millis(200));
    assert_eq!(server.times_said("applies to memory only"), 0, "nothing was set");
}
