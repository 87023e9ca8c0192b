//! The policy follows its file (P10).

use std::fs::{File, rename};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use crate::scratch::Scratch;
use crate::server::{Server, complaint, tollgate};

/// Longer than a change may take to be noticed.
const PAUSE: Duration = Duration::from_millis(600);
const IN_FORCE: &str = "another policy is in force";
const REFUSED: &str = "the policy is refused";

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
    server.wait_for(IN_FORCE);
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
        rename(scratch.path("policy.new"), scratch.path("policy.yaml")).unwrap();
        server.wait_for(IN_FORCE);
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
        rename(scratch.path("..new"), scratch.path("..data")).unwrap();
        server.wait_for(IN_FORCE);
        assert_eq!(limit(&server), burst);
    }
    scratch.write("v3/policy.yaml", &policy(4));
    server.wait_for(IN_FORCE);
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
    rename(scratch.path("next"), scratch.path("current")).unwrap();
    server.wait_for(IN_FORCE);
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
    server.wait_for(IN_FORCE);
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

#[test]
fn files_beside_the_policy_are_of_no_matter_and_one_refusal_is_told_once() {
    let (mut server, scratch) = Server::with_policy(&policy(10));
    let refusals = |server: &Server| {
        let metrics = server.admin("/metrics").body;
        let line = metrics.lines().find_map(|line| {
            line.strip_prefix("tollgate_policy_reloads_total{result=\"refused\"} ").map(str::to_owned)
        });
        line.map(|count| count.parse::<usize>().unwrap())
    };
    scratch.write("policy.yaml", "{name: all, brust: 3}");
    server.wait_for(REFUSED);
    for round in 0..3 {
        scratch.write("server.log", &format!("line {round}"));
        server.wait_for_silence(PAUSE / 4);
        scratch.write("policy.yaml", "{name: all, brust: 3}");
        server.wait_for_silence(PAUSE / 4);
    }
    assert_eq!((server.times_said(REFUSED), refusals(&server)), (1, Some(1)), "{:#?}", server.said);
    scratch.write("policy.yaml", "{name: all, brust: 4}");
    server.wait_for(REFUSED);
    assert_eq!(refusals(&server), Some(2), "another text is another refusal");
    server.signal("HUP");
    server.wait_for(REFUSED);
    assert_eq!(refusals(&server), Some(3), "whoever asks is answered");
    scratch.write("policy.yaml", &policy(11));
    server.wait_for(IN_FORCE);
    scratch.write("policy.yaml", "{name: all, brust: 4}");
    server.wait_for(REFUSED);
}

#[test]
fn a_swapped_link_in_the_middle_of_the_way_is_followed() {
    let scratch = Scratch::new();
    for folder in ["a", "b", "c1", "c2"] {
        std::fs::create_dir(scratch.path(folder)).unwrap();
    }
    for (folder, burst) in [("c1", 1), ("c2", 2)] {
        scratch.write(&format!("{folder}/p.yaml"), &policy(burst));
    }
    symlink("../c1", scratch.path("b/current")).unwrap();
    symlink("../b/current/p.yaml", scratch.path("a/p.yaml")).unwrap();
    let mut server = Server::new(&["--policy", &scratch.path("a/p.yaml")]);
    // Once it is at rest, so that no other change is the occasion.
    server.wait_for_silence(PAUSE / 4);
    symlink(scratch.path("c2"), scratch.path("b/next")).unwrap();
    rename(scratch.path("b/next"), scratch.path("b/current")).unwrap();
    server.wait_for(IN_FORCE);
    assert_eq!(limit(&server), 2);
}

#[test]
fn a_folder_that_is_away_for_a_while_or_comes_back_as_another_is_followed() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.path(name);
    for (top, burst) in [("etc", 1), ("etc2", 3)] {
        std::fs::create_dir_all(path(&format!("{top}/gate/conf"))).unwrap();
        scratch.write(&format!("{top}/gate/conf/p.yaml"), &policy(burst));
    }
    std::fs::create_dir(path("etc/gate/conf2")).unwrap();
    scratch.write("etc/gate/conf2/p.yaml", &policy(2));
    let mut server = Server::new(&["--policy", &path("etc/gate/conf/p.yaml")]);
    rename(path("etc/gate/conf"), path("etc/gate/conf.old")).unwrap();
    server.wait_for("there is no such file");
    rename(path("etc/gate/conf2"), path("etc/gate/conf")).unwrap();
    server.wait_for(IN_FORCE);
    assert_eq!(limit(&server), 2);
    // Far above the file, both at once.
    rename(path("etc"), path("etc.old")).unwrap();
    rename(path("etc2"), path("etc")).unwrap();
    server.wait_for(IN_FORCE);
    assert_eq!(limit(&server), 3);
    scratch.write("etc/gate/conf/p.yaml", &policy(4));
    server.wait_for(IN_FORCE);
    assert_eq!(limit(&server), 4);
}

#[test]
fn a_policy_that_is_written_in_pieces_comes_into_force_whole() {
    let (mut server, scratch) = Server::with_policy(&policy(10));
    // What is being written before it is watched is not known to be.
    server.signal("HUP");
    server.wait_for("the policy has not changed");
    for version in [2, 3] {
        let refusals = server.times_said(REFUSED);
        let mut file = File::create(scratch.path("policy.yaml")).unwrap();
        server.wait_for_silence(PAUSE);
        file.write_all(b"rules:\n  - {name: all, scope: global, rate: 1/h, burst: 50}\n").unwrap();
        server.wait_for_silence(2 * PAUSE);
        let last = format!("  - {{name: more, scope: global, rate: 1/h, burst: {version}}}\n");
        file.write_all(last.as_bytes()).unwrap();
        drop(file);
        server.wait_for(IN_FORCE);
        assert_eq!(server.http().get("/readyz").json()["policy"]["version"], version);
        assert_eq!(server.times_said(REFUSED), refusals, "nor is it read while it is empty");
        // As a new file, next.
        std::fs::remove_file(scratch.path("policy.yaml")).unwrap();
        server.wait_for("there is no such file");
    }
}

#[test]
fn a_pipe_is_no_policy_at_the_start_nor_later() {
    let (mut server, scratch) = Server::with_policy(&policy(1));
    let pipe = |name: &str| {
        let path = scratch.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    };
    let (code, said) = complaint(tollgate(&["serve", "--policy", &pipe("pipe")]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("it is no plain file, so it cannot be read again"), "{said}");
    std::fs::remove_file(scratch.path("policy.yaml")).unwrap();
    pipe("policy.yaml");
    server.wait_for("it is no plain file");
    std::fs::remove_file(scratch.path("policy.yaml")).unwrap();
    scratch.write("policy.yaml", &policy(2));
    server.wait_for(IN_FORCE);
    assert_eq!(limit(&server), 2);
}
