//! The tables outlive the program (S7): a deploy is not a free burst.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::scratch::Scratch;
use crate::server::{PATIENCE, Server, complaint, tollgate};

/// So slow that no whole token refills while a test runs.
const POLICY: &str = "{name: all, scope: user, rate: 1/h, burst: 10}";
const FACTS: &str = r#"{"user": "alice"}"#;
/// What `left` finds of full buckets, and when `spend` has been at them. Over HTTP a peek with a limit counts its own cost.
const FULL: [u64; 3] = [10, 19, 16];
const SPENT: [u64; 3] = [3, 6, 13];

/// A policy, and where its snapshot is to be.
struct Place {
    scratch: Scratch,
    policy: String,
    file: String,
}

impl Place {
    fn new() -> Place {
        let scratch = Scratch::new();
        let (policy, file) = (scratch.write("policy.yaml", POLICY), scratch.path("table"));
        Place { scratch, policy, file }
    }

    fn start(&self, more: &[&str]) -> Server {
        let size = if more.contains(&"--max-keys") { [].as_slice() } else { &["--max-keys", "100000"] };
        self.start_with(&[size, more].concat())
    }

    /// Starts a server whose tables have the default size.
    fn start_with(&self, more: &[&str]) -> Server {
        Server::new(&[&["--policy", &self.policy, "--snapshot", &self.file], more].concat())
    }

    /// Every file beside the policy.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.scratch.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "policy.yaml");
        names.sort();
        names
    }
}

/// A bucket with its limit, which has the same key over HTTP and over the Redis protocol as one of the policy.
fn explicit(cost: u64) -> String {
    format!(r#"{{"key": "alice", "rate": 0.0001, "burst": 20, "cost": {cost}}}"#)
}

/// The third of five integers: what is left.
fn throttle(server: &Server, quantity: u64) -> u64 {
    let mut stream = TcpStream::connect(server.address("resp")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(format!("CL.THROTTLE bob 15 1 86400 {quantity}\r\n").as_bytes()).unwrap();
    let lines = BufReader::new(stream).lines().take(6).map(Result::unwrap);
    let reply: Vec<String> = lines.collect();
    assert_eq!(reply[..3], ["*5", ":0", ":16"], "{reply:?}");
    reply[3].trim_start_matches(':').parse().unwrap()
}

/// Spends through every door: seven of ten, thirteen of twenty, three of sixteen.
fn spend(server: &Server) {
    for _ in 0..7 {
        assert_eq!(server.post("/v1/check", FACTS).status, 200);
    }
    assert_eq!(server.post("/v1/check", &explicit(13)).status, 200);
    assert_eq!(throttle(server, 3), 13);
}

/// What is left through every door.
fn left(server: &Server) -> [u64; 3] {
    let over_http = |body: &str| server.post("/v1/peek", body).json()["remaining"].as_u64().unwrap();
    [over_http(FACTS), over_http(&explicit(1)), throttle(server, 0)]
}

fn end(server: Server) -> Vec<String> {
    server.signal("TERM");
    let (status, said) = server.ended();
    assert_eq!(status.code(), Some(0), "{said:#?}");
    said
}

fn events(server: &Server) -> [u64; 4] {
    let page = server.admin("/metrics").body;
    ["saved", "failed", "restored", "refused"].map(|result| {
        let sample = format!("tollgate_snapshots_total{{result=\"{result}\"}} ");
        page.lines().find_map(|line| line.strip_prefix(&sample)).unwrap().parse().unwrap()
    })
}

#[test]
fn after_a_restart_every_balance_is_what_it_was() {
    let place = Place::new();
    // So rarely that only the end saves.
    let server = place.start(&["--snapshot-every", "1h"]);
    assert!(server.said.iter().any(|line| line.contains("there is no snapshot yet")), "{:#?}", server.said);
    spend(&server);
    assert_eq!(left(&server), SPENT);
    assert!(!Path::new(&place.file).exists(), "nothing is saved yet");
    let said = end(server);
    assert!(said.iter().any(|line| line.contains("the snapshot is written")), "{said:#?}");
    assert_eq!(fs::metadata(&place.file).unwrap().permissions().mode() & 0o777, 0o600);
    for _ in 0..2 {
        let server = place.start(&[]);
        assert!(server.said.iter().any(|line| line.contains("continues from the snapshot")));
        assert_eq!((left(&server), events(&server)), (SPENT, [0, 0, 1, 0]));
        end(server);
    }
    assert_eq!(place.files(), ["table"]);
}

#[test]
fn open_reservations_stand_at_their_estimate_and_retries_are_charged_again() {
    let place = Place::new();
    let server = place.start(&[]);
    let reserved = server.post("/v1/reserve", &explicit(13)).json();
    let commit = format!(r#"{{"reservation": {}, "cost": 1}}"#, reserved["reservation"]);
    let once = r#"{"user": "alice", "idempotency_key": "k"}"#;
    assert_eq!(server.post("/v1/check", once).status, 200);
    assert_eq!(server.post("/v1/check", once).status, 200);
    assert_eq!(left(&server), [9, 6, 16]);
    end(server);
    let server = place.start(&[]);
    assert_eq!(server.post("/v1/commit", &commit).status, 404);
    assert_eq!(server.post("/v1/check", once).status, 200);
    assert_eq!(left(&server), [8, 6, 16]);
}

#[test]
fn time_away_refills() {
    let place = Place::new();
    let body = r#"{"key": "carol", "rate": 1000000, "burst": 5, "cost": 5}"#;
    let server = place.start(&[]);
    assert_eq!(server.post("/v1/check", body).status, 200);
    end(server);
    assert_eq!(place.start(&[]).post("/v1/peek", body).status, 200);
}

#[test]
fn a_killed_program_loses_no_more_than_was_charged_since_the_last_save() {
    let place = Place::new();
    let server = place.start(&["--snapshot-every", "100ms"]);
    spend(&server);
    let saved = events(&server)[0];
    // The next one may have begun before the last charge; the one after it has not.
    while events(&server)[0] < saved + 2 {}
    server.signal("KILL");
    assert_eq!(server.ended().0.code(), None);
    // What a killed writer leaves behind goes away.
    place.scratch.write("table.0123456789abcdef", "half");
    let server = place.start(&["--snapshot-every", "1h"]);
    assert_eq!(left(&server), SPENT);
    assert_eq!(place.files(), ["table"]);
}

#[test]
fn told_twice_or_out_of_time_it_saves_all_the_same() {
    for is_told_twice in [false, true] {
        let place = Place::new();
        let grace = if is_told_twice { "1h" } else { "300ms" };
        let mut server = place.start(&["--grace", grace, "--snapshot-every", "1h"]);
        spend(&server);
        let mut open = server.http();
        open.send("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{");
        assert_eq!(server.http().get("/livez").status, 200);
        server.signal("TERM");
        server.wait_for("stopping");
        if is_told_twice {
            server.signal("TERM");
        }
        let (status, said) = server.ended();
        let expected = if is_told_twice { "as told twice" } else { "cut off" };
        assert!(status.code() == Some(0) && said.iter().any(|line| line.contains(expected)), "{said:#?}");
        assert_eq!(left(&place.start(&[])), SPENT);
    }
}

#[test]
fn another_rate_keeps_the_balance_and_a_larger_burst_is_room() {
    let place = Place::new();
    let server = place.start(&[]);
    spend(&server);
    end(server);
    place.scratch.write("policy.yaml", "{name: all, scope: user, rate: 2/h, burst: 100}");
    let server = place.start(&[]);
    let told = server.post("/v1/peek", FACTS).json();
    assert_eq!((told["limit"].as_u64(), told["remaining"].as_u64()), (Some(100), Some(3)), "{told}");
    end(server);
    // Another algorithm starts anew, and the others keep theirs.
    place
        .scratch
        .write("policy.yaml", "{name: all, scope: user, algorithm: fixed_window, quota: 9, window: day}");
    assert_eq!(left(&place.start(&[]))[1..], SPENT[1..]);
}

#[test]
fn a_snapshot_that_is_no_use_is_kept_beside_counted_and_said_and_the_doors_open() {
    let place = Place::new();
    let server = place.start(&[]);
    spend(&server);
    end(server);
    let whole = fs::read(&place.file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let cases = [
        (&whole[..whole.len() - 1], "is cut short or was changed after it was written"),
        (&flipped, "is cut short or was changed after it was written"),
        (b"", "is not a snapshot of this version"),
        (b"rules: []\n", "is not a snapshot of this version"),
    ];
    for (bytes, reason) in cases {
        fs::write(&place.file, bytes).unwrap();
        let server = place.start(&[]);
        let bad = format!("{}.bad", place.file);
        let said = server.said.iter().find(|line| line.contains("every bucket starts full")).unwrap();
        assert!(said.contains("ERROR") && said.contains(reason) && said.contains(&bad), "{said}");
        assert_eq!(fs::read(&bad).unwrap(), bytes);
        assert_eq!((left(&server), events(&server)), (FULL, [0, 0, 0, 1]));
        end(server);
        // What is saved then is fine.
        let server = place.start(&[]);
        assert_eq!(events(&server), [0, 0, 1, 0]);
        end(server);
    }
    fs::write(&place.file, &whole).unwrap();
    let server = place.start(&["--max-keys", "7"]);
    let said = server.said.iter().find(|line| line.contains("every bucket starts full")).unwrap();
    assert!(said.contains("`max_keys` 100000, and this one has 7; set `max_keys` to 100000"), "{said}");
    assert_eq!(fs::read(format!("{}.bad", place.file)).unwrap(), whole);
}

/// Without `max_keys` the size follows the memory of the machine, which may be another after a deploy.
#[test]
fn snapshot_of_another_size_is_kept_where_no_size_is_set() {
    let place = Place::new();
    let banner = |server: &Server| server.said.iter().find(|line| line.contains("store ")).unwrap().clone();
    let by_memory = place.start_with(&[]);
    let said = banner(&by_memory);
    let keys: usize = said.split("memory (").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    end(by_memory);
    fs::remove_file(&place.file).unwrap();

    let other = (keys - keys / 4).max(100_000);
    let server = place.start(&["--max-keys", &other.to_string()]);
    spend(&server);
    end(server);
    let server = place.start_with(&[]);
    let said = banner(&server);
    assert!(said.contains(&format!("memory ({other} keys, from the snapshot; {keys} without it ")), "{said}");
    assert_eq!((left(&server), events(&server)), (SPENT, [0, 0, 1, 0]));
}

/// A table that was set to a few keys once does not stay small for ever.
#[test]
fn snapshot_of_a_small_table_is_refused_where_no_size_is_set() {
    let place = Place::new();
    let server = place.start(&["--max-keys", "5000"]);
    spend(&server);
    end(server);
    let server = place.start_with(&[]);
    let said = server.said.iter().find(|line| line.contains("every bucket starts full")).unwrap();
    assert!(said.contains("`max_keys` 5000, and this one has "), "{said}");
    assert_eq!((left(&server), events(&server)), (FULL, [0, 0, 0, 1]));
}

#[test]
fn a_bad_policy_leaves_the_snapshot_where_it_is() {
    let place = Place::new();
    end(place.start(&[]));
    place.scratch.write("policy.yaml", "{name: all, scope: user, rate: 0/s}");
    let (code, _) = complaint(tollgate(&["serve", "--policy", &place.policy, "--snapshot", &place.file]));
    assert_eq!((code, place.files()), (Some(1), vec!["table".to_owned()]));
}

#[test]
fn a_place_where_no_file_can_be_made_ends_it_with_the_cure() {
    let scratch = Scratch::new();
    let check = |path: &str, why: &str| {
        let (code, said) = complaint(tollgate(&["serve", "--snapshot", path]));
        assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
        assert!(said.starts_with(&format!("error: cannot keep a snapshot at '{path}': {why}")), "{said}");
        assert!(said.contains("; see --snapshot"), "{said}");
    };
    check(&scratch.path("none/table"), "No such file or directory (os error 2); let this user make files");
    check(&scratch.path(""), "it is a directory; name a file in it");
    check("/dev/null", "it is no plain file; name another");
}

#[test]
fn a_save_that_fails_is_counted_said_seldom_and_tried_again() {
    let place = Place::new();
    let folder = place.scratch.path("state");
    fs::create_dir(&folder).unwrap();
    let file = format!("{folder}/table");
    let mut server = Server::new(&["--snapshot", &file, "--snapshot-every", "100ms"]);
    fs::rename(&folder, place.scratch.path("gone")).unwrap();
    let said = server.wait_for("cannot save, and will try again");
    assert!(said.contains("No such file or directory") && said.contains(&file), "{said}");
    while events(&server)[1] < 4 {}
    assert_eq!(server.post("/v1/check", FACTS).status, 200);
    fs::rename(place.scratch.path("gone"), &folder).unwrap();
    server.wait_for("snapshots are written again");
    let said = server.said.iter().filter(|line| line.contains("cannot save")).count();
    let failed = events(&server)[1];
    assert!(said as u64 <= u64::from(failed.ilog2()) + 1, "{said} lines for {failed} failures");
    assert!(Path::new(&file).exists());
}

#[test]
fn the_setting_may_come_from_the_environment_or_the_file() {
    let scratch = Scratch::new();
    let settings = scratch.write("settings.yaml", "snapshot: from-the-file\nsnapshot_every: 5s\n");
    let shown = |set: &[(&str, &str)]| {
        let mut command = tollgate(&["config", "--config", &settings]);
        String::from_utf8(command.envs(set.iter().copied()).output().unwrap().stdout).unwrap()
    };
    let line = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(line(&shown(&[]), "snapshot"), "from-the-file");
    assert_eq!(line(&shown(&[]), "snapshot_every"), "5s");
    assert_eq!(line(&shown(&[("TOLLGATE_SNAPSHOT", "elsewhere")]), "snapshot"), "elsewhere");
}
