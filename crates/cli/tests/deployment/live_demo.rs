//! `tollgate demo --live`: whoever starts it has something to look at within seconds, and nothing is left of it.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::curl::curl;
use crate::process::{Process, tollgate};
use crate::scratch::Scratch;

/// What the page's address begins and ends with.
const ADDRESS: &str = "/#sign-in=";

/// A demo whose temporary files are in `scratch`, and the page's address, once it is said.
fn demo(flags: &str, scratch: &Scratch) -> (Process, String) {
    let mut command = tollgate(&format!("demo --live {flags}"));
    command.env("TMPDIR", scratch.folder()).stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        let mut folders = vec![scratch.folder().to_owned()];
        folders.extend(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).unwrap());
    }
    let mut demo = Process::start(command);
    let line = demo.wait_for(ADDRESS);
    let address = line.split_whitespace().find(|word| word.contains(ADDRESS)).unwrap().to_owned();
    (demo, address)
}

/// Where the admin door is, and the header field that opens it.
fn door_and_key(address: &str) -> (&str, String) {
    let (door, token) = address.split_once(ADDRESS).unwrap();
    (door, format!("Authorization: Bearer {token}"))
}

/// Admitted and denied, over what is told in ten seconds, or as soon as there is some of both.
fn first_rates(door: &str, key: &str) -> (u64, u64) {
    let events = format!("{door}/admin/v1/events");
    let mut curl = Command::new("curl")
        .args(["-sSN", "--max-time", "10", "--noproxy", "*", "-H", key, &events])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut admitted, mut denied) = (0, 0);
    for line in BufReader::new(curl.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let data: Value = serde_json::from_str(data).unwrap();
        for rule in data["rules"].as_array().into_iter().flatten() {
            admitted += rule["admitted"].as_u64().unwrap();
            denied += rule["denied"].as_u64().unwrap();
        }
        if admitted > 0 && denied > 0 {
            break;
        }
    }
    let _ = curl.kill();
    curl.wait().unwrap();
    (admitted, denied)
}

#[test]
fn the_page_is_alive_in_ten_seconds_and_an_interrupt_ends_it_without_a_trace() {
    let scratch = Scratch::new();
    let (demo, address) = demo("", &scratch);
    let (door, key) = door_and_key(&address);
    let status = curl(&["-H", &key, &format!("{door}/admin/v1/status")]).json();
    assert_eq!(status["policy"]["name"], "live-demo", "{status}");
    assert_eq!(status["records"]["state"], "ready", "{status}");
    let me = curl(&["-H", &key, &format!("{door}/admin/v1/whoami")]).json();
    assert_eq!((&me["name"], &me["role"]), (&"demo".into(), &"admin".into()));
    let playground = curl(&[&format!("{door}/admin/v1/playground")]).json();
    assert_eq!(playground["open"], true);
    let (admitted, denied) = first_rates(door, &key);
    assert!(admitted > 0 && denied > 0, "{admitted} admitted, {denied} denied");

    assert_eq!(scratch.folder().read_dir().unwrap().count(), 1, "policy and records are in one folder");
    demo.signal("INT");
    let (ending, said) = demo.ended();
    assert_eq!(ending.code(), Some(0), "{said}");
    assert!(said.contains("The demo has ended after 0 min"), "{said}");
    let row = |kind: &str| {
        let row = said.lines().find_map(|line| line.strip_prefix(kind));
        let counts = row.unwrap_or_else(|| panic!("no {kind} in {said}")).split_whitespace();
        counts.take(2).map(|count| count.parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    let [polite, bursty, abusive, all] = ["polite ", "bursty ", "abusive ", "all "].map(row);
    for told in 0..2 {
        assert_eq!(polite[told] + bursty[told] + abusive[told], all[told], "{said}");
        assert!(all[told] > 0, "{said}");
    }
    assert_eq!(scratch.folder().read_dir().unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_door_whose_port_is_taken_is_elsewhere_and_the_end_may_be_a_sigterm() {
    // If this fails, somebody else has it, which will do.
    let _taken = TcpListener::bind("127.0.0.1:8082");
    let scratch = Scratch::new();
    let (demo, address) = demo("", &scratch);
    assert!(!address.starts_with("http://127.0.0.1:8082/"), "{address}");
    let (door, key) = door_and_key(&address);
    assert_eq!(curl(&["-H", &key, &format!("{door}/admin/v1/whoami")]).status, 200);
    demo.signal("TERM");
    let place = door.trim_start_matches("http://");
    let (ending, said) = demo.ended();
    assert!(ending.success(), "{said}");
    assert!(said.contains(&format!("127.0.0.1:8082 is taken, so the admin door is at {place}.")), "{said}");
    assert_eq!(scratch.folder().read_dir().unwrap().count(), 0, "nothing is left");
}

#[test]
fn the_browser_is_opened_where_the_page_is() {
    let scratch = Scratch::new();
    // It stands before the machine's own in PATH.
    let opener = scratch.write("xdg-open", "#!/bin/sh\necho \"$1\" > \"$0.arguments\"\n");
    std::fs::set_permissions(&opener, PermissionsExt::from_mode(0o755)).unwrap();
    let (demo, address) = demo("--open", &scratch);
    let arguments = scratch.path("xdg-open.arguments");
    let is_written = (0..3_000).any(|_| {
        let is_written = std::fs::read_to_string(&arguments).is_ok_and(|text| text.ends_with('\n'));
        if !is_written {
            std::thread::park_timeout(std::time::Duration::from_millis(10));
        }
        is_written
    });
    assert!(is_written, "nobody opened {address}");
    assert_eq!(std::fs::read_to_string(&arguments).unwrap().trim(), address);
    demo.signal("INT");
    assert!(demo.ended().0.success());
}

#[test]
fn what_belongs_to_the_scenes_is_refused_beside_live() {
    for typed in ["demo --live --scene burst", "demo --live --rate 3", "demo --open"] {
        let output = tollgate(typed).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{typed}: {output:?}");
    }
}
