//! The policy follows its file (P10).

use std::os::unix::fs::symlink;

use crate::scratch::Scratch;
use crate::server::Server;

fn policy(burst: u64) -> String {
    format!("{{name: all, scope: global, rate: 1/h, burst: {burst}}}")
}

fn limit(server: &Server) -> u64 {
    server.post("/v1/peek", "{}").json()["limit"].as_u64().unwrap()
}

#[test]
fn a_written_file_is_in_force_at_once_and_balances_carry_over() {
    let (mut server, scratch) = Server::with_policy(&policy(10));
    for _ in 0..4 {
        assert_eq!(server.post("/v1/check", "{}").status, 200);
    }
    scratch.write("policy.yaml", &policy(100));
    server.wait_for("another policy is in force");
    let told = server.post("/v1/check", "{}").json();
    assert_eq!(
        (told["limit"].as_u64(), told["remaining"].as_u64()),
        (Some(100), Some(5)),
        "room, not tokens"
    );
    let ready = server.http().get("/readyz").json();
    assert_eq!(
        (ready["policy"]["version"].as_u64(), ready["policy"]["outdated"].as_bool()),
        (Some(2), Some(false))
    );
}

#[test]
fn a_file_that_is_replaced_is_noticed_as_editors_and_deployments_do_it() {
    let (mut server, scratch) = Server::with_policy(&policy(1));
    for burst in [2, 3] {
        scratch.write("policy.new", &policy(burst));
        std::fs::rename(scratch.path("policy.new"), scratch.path("policy.yaml")).unwrap();
        server.wait_for("another policy is in force");
        assert_eq!(limit(&server), burst);
    }
}

#[test]
fn a_link_that_is_swapped_is_followed_as_in_kubernetes() {
    let scratch = Scratch::new();
    for (version, burst) in [("v1", 1), ("v2", 2), ("v3", 3)] {
        std::fs::create_dir(scratch.path(version)).unwrap();
        scratch.write(&format!("{version}/policy.yaml"), &policy(burst));
    }
    symlink("v1", scratch.path("..data")).unwrap();
    symlink("..data/policy.yaml", scratch.path("policy.yaml")).unwrap();
    let mut server = Server::new(&["--policy", &scratch.path("policy.yaml")]);
    for (version, burst) in [("v2", 2), ("v3", 3)] {
        symlink(version, scratch.path("..new")).unwrap();
        std::fs::rename(scratch.path("..new"), scratch.path("..data")).unwrap();
        server.wait_for("another policy is in force");
        assert_eq!(limit(&server), burst);
    }
    scratch.write("v3/policy.yaml", &policy(4));
    server.wait_for("another policy is in force");
    assert_eq!(limit(&server), 4, "where the link leads is watched, too");
}

#[test]
fn a_directory_that_is_a_swapped_link_is_followed() {
    let scratch = Scratch::new();
    for (version, burst) in [("v1", 1), ("v2", 2)] {
        std::fs::create_dir(scratch.path(version)).unwrap();
        scratch.write(&format!("{version}/policy.yaml"), &policy(burst));
    }
    symlink("v1", scratch.path("current")).unwrap();
    let mut server = Server::new(&["--policy", &scratch.path("current/policy.yaml")]);
    symlink("v2", scratch.path("next")).unwrap();
    std::fs::rename(scratch.path("next"), scratch.path("current")).unwrap();
    server.wait_for("another policy is in force");
    assert_eq!(limit(&server), 2);
}

#[test]
fn a_bad_file_keeps_the_old_policy_and_tells_every_mistake() {
    let (mut server, scratch) = Server::with_policy(&policy(10));
    scratch.write("policy.yaml", "{name: all, scope: global, rate: 0/s, brust: 3}");
    server.wait_for("the policy is refused, and the one before stays in force");
    server.wait_for("brust");
    assert_eq!(limit(&server), 10);
    assert_eq!(server.http().get("/readyz").json()["policy"]["outdated"], true);
    assert!(server.admin("/metrics").body.contains("tollgate_policy_reloads_total{result=\"refused\"} 1"));
    std::fs::remove_file(scratch.path("policy.yaml")).unwrap();
    server.wait_for("there is no such file");
    assert_eq!(limit(&server), 10);
    scratch.write("policy.yaml", &policy(11));
    server.wait_for("another policy is in force");
    assert_eq!(limit(&server), 11);
    assert_eq!(server.http().get("/readyz").json()["policy"]["outdated"], false);
}

#[test]
fn sighup_reads_the_file_again() {
    let (mut server, _scratch) = Server::with_policy(&policy(10));
    server.signal("HUP");
    server.wait_for("the policy has not changed");
    assert_eq!(limit(&server), 10);
    let mut embedded = Server::new(&[]);
    embedded.signal("HUP");
    embedded.wait_for("the policy has not changed");
}
