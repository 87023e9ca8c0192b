//! `tollgate serve --store`: instances over one real Redis keep one limit, at every door, and go on without it.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "deployment/component.rs"]
mod component;
#[path = "serve/http_client.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod http_client;
#[path = "beside/mortal.rs"]
mod mortal;
#[path = "beside/redis_server.rs"]
mod redis_server;
#[path = "serve/resp_client.rs"]
mod resp_client;
#[path = "serve/scratch.rs"]
mod scratch;
#[path = "serve/server.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod server;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use component::is_skipped;
use redis_server::{Redis, eventually};
use resp_client::RespClient;
use scratch::Scratch;
use server::{Server, tollgate};

/// A policy whose store may take its time, so that nothing falls back because the machine is slow.
const POLICY: &str =
    "{store: {deadline: 1s, instances_max: 2}, rules: [{name: client, scope: ip, rate: 1/h, burst: 8}]}";

/// Instances that the store decides for.
fn instances<const N: usize>(redis: &Redis) -> ([Server; N], Scratch) {
    let scratch = Scratch::new();
    let policy = scratch.write("policy.yaml", POLICY);
    let instances = std::array::from_fn(|_| Server::new(&["--policy", &policy, "--store", &redis.url()]));
    for instance in &instances {
        eventually("the store decides", || mode(instance, "192.0.2.200") == "exact");
    }
    (instances, scratch)
}

/// Upon what the verdict about a client rests, without charging it.
fn mode(server: &Server, client: &str) -> String {
    let answer = server.post("/v1/peek", &format!("{{\"ip\": \"{client}\"}}"));
    answer.json()["mode"].as_str().unwrap().to_owned()
}

#[test]
fn instances_keep_one_limit_at_every_door() {
    if is_skipped("redis") {
        return;
    }
    let redis = Redis::start();
    let ([one, other], _scratch) = instances(&redis);
    let check = r#"{"ip": "192.0.2.1"}"#;
    let mut admitted = 0;
    for _ in 0..5 {
        admitted += u32::from(one.post("/v1/check", check).status == 200);
        let fields =
            [("x-forwarded-method", "GET"), ("x-forwarded-uri", "/"), ("x-forwarded-for", "192.0.2.1")];
        let let_through = other.http().request("GET", "/v1/forward-auth/traefik", &fields);
        assert_eq!(let_through.header("tollgate-mode"), Some("exact"));
        admitted += u32::from(let_through.status == 200);
        let told = RespClient::to(one.address("resp")).ask(&["TOLLGATE.CHECK", "ip", "192.0.2.1"]).unwrap();
        assert_eq!((told[18].as_str(), told[19].as_str()), (Some("mode"), Some("exact")));
        admitted += u32::from(told[1] == 1 || told["admitted"] == 1);
    }
    assert_eq!(admitted, 8);
    let denied = other.post("/v1/check", check);
    assert_eq!((denied.status, denied.json()["mode"].as_str()), (429, Some("exact")));
    assert!(denied.header("retry-after").is_some());

    let explicit = r#"{"key": "tenant", "rate": 0.001, "burst": 3}"#;
    let statuses: Vec<u16> =
        [&one, &other, &one, &other].map(|server| server.post("/v1/check", explicit).status).to_vec();
    assert_eq!(statuses, [200, 200, 200, 429]);
    let throttle = ["CL.THROTTLE", "k", "2", "1", "3600"];
    let limited: Vec<i64> = [&one, &other, &one, &other]
        .map(|server| RespClient::to(server.address("resp")).ask(&throttle).unwrap()[0].as_i64().unwrap())
        .to_vec();
    assert_eq!(limited, [0, 0, 0, 1]);

    let reserved = one
        .post("/v1/reserve", r#"{"key": "job", "rate": 0.001, "burst": 3, "cost": 3, "timeout_ms": 60000}"#);
    let id = reserved.json()["reservation"].as_str().unwrap().to_owned();
    let settled = other.post("/v1/commit", &format!("{{\"reservation\": \"{id}\", \"cost\": 1}}"));
    assert_eq!((settled.status, settled.json()["returned"].as_f64()), (200, Some(2.0)), "{}", settled.body);
}

#[test]
fn exec_charges_the_shared_store_once_per_command() {
    if is_skipped("redis") {
        return;
    }
    let redis = Redis::start();
    let ([one, other], _scratch) = instances(&redis);
    let mut client = RespClient::to(one.address("resp"));
    let throttle = ["CL.THROTTLE", "k", "9", "1", "3600"];
    let look = || RespClient::to(other.address("resp")).ask(&["CL.THROTTLE", "k", "9", "1", "3600", "0"]);
    let queue = |client: &mut RespClient| {
        assert_eq!(client.ask(&["MULTI"]).unwrap(), "OK");
        for words in [&throttle[..], &throttle, &["TOLLGATE.CHECK", "ip", "192.0.2.9"], &throttle] {
            assert_eq!(client.ask(words).unwrap(), "QUEUED");
        }
    };
    for end in ["DISCARD", "RESET"] {
        queue(&mut client);
        client.ask(&[end]).unwrap();
    }
    queue(&mut client);
    let odd = ["CL.THROTTLE", "odd", "10", "999999937", "31535999"];
    assert!(client.ask(&odd).is_err(), "the store cannot keep this limit");
    assert!(client.ask(&["EXEC"]).unwrap_err().starts_with("EXECABORT"));
    queue(&mut RespClient::to(one.address("resp")));
    assert_eq!(look().unwrap()[2], 10, "nothing is charged without EXEC");
    queue(&mut client);
    let replies = client.ask(&["EXEC"]).unwrap();
    let left: Vec<i64> = [0, 1, 3].iter().map(|at| replies[*at][2].as_i64().unwrap()).collect();
    assert_eq!((left.as_slice(), &replies[2][1]), (&[9, 8, 7][..], &1.into()), "{replies}");
    assert_eq!(look().unwrap()[2], 7);
    let check = RespClient::to(other.address("resp")).ask(&["TOLLGATE.CHECK", "ip", "192.0.2.9"]).unwrap();
    assert_eq!((check[6].as_str(), check[7].as_i64()), (Some("remaining"), Some(6)), "{check}");
}

/// By a limit that memory would keep, and the store cannot, nobody is decided alone: whoever asks is told what to write instead.
#[test]
fn a_limit_of_the_call_that_the_store_cannot_keep_is_refused_at_every_door_and_names_the_cure() {
    if is_skipped("redis") {
        return;
    }
    let redis = Redis::start();
    let ([server], _scratch) = instances(&redis);
    // Whoever waited for the store was told by this instance meanwhile.
    let decided_alone = || {
        let metrics = server.admin("/metrics").body;
        let line = metrics.lines().find_map(|line| line.strip_prefix("tollgate_store_fallbacks_total "));
        line.unwrap().to_owned()
    };
    let before = decided_alone();
    let odd =
        |body: &str, more: &str| body.replace("KEY", r#""key": "odd", "cost": 1"#).replace("MORE", more);
    let limits = [
        (r#"{KEY, "rate": 1234.567891, "burst": 9000000001 MORE}"#, "burst", "9000000001"),
        (r#"{KEY, "rate": 0.123456789, "burst": 10 MORE}"#, "rate", "rounder numbers"),
        (r#"{KEY, "rate": 0.000003, "burst": 9000 MORE}"#, "burst", "71 years"),
    ];
    for (limit, field, said) in limits {
        for (path, more) in [
            ("/v1/check", ""),
            ("/v1/peek", ""),
            ("/v1/check", r#", "idempotency_key": "once""#),
            ("/v1/reserve", r#", "timeout_ms": 60000"#),
            ("/v1/refund", ""),
        ] {
            let told = server.post(path, &odd(limit, more));
            assert_eq!(told.status, 400, "{path} {limit}: {}", told.body);
            assert_eq!(told.header("content-type"), Some("application/problem+json"));
            assert_eq!(told.json()["field"], field, "{}", told.body);
            let detail = told.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains(&format!("`{field}` is ")) && detail.contains(said), "{detail}");
        }
        let second = format!(r#"{{"buckets": [{{"key": "a", "rate": 1, "burst": 1}}, {}]}}"#, odd(limit, ""));
        let told = server.post("/v1/check", &second);
        assert_eq!(
            (told.status, told.json()["field"].as_str()),
            (400, Some(&*format!("buckets[1].{field}")))
        );
    }
    let mut resp = RespClient::to(server.address("resp"));
    let told = resp.ask(&["CL.THROTTLE", "odd", "10", "999999937", "31535999"]).unwrap_err();
    assert!(told.contains("`rate` is ") && told.contains("rounder numbers"), "{told}");
    assert_eq!(decided_alone(), before);
    let metrics = server.admin("/metrics").body;
    assert!(metrics.contains("tollgate_store_local_buckets 0\n"), "no bucket is kept here: {metrics}");
    assert_eq!(resp.ask(&["CL.THROTTLE", "k", "2", "1", "3600"]).unwrap()[0], 0, "the connection lives on");
}

#[test]
fn without_the_store_instances_go_on_and_say_so_and_afterwards_it_decides_again() {
    if is_skipped("redis") {
        return;
    }
    let mut redis = Redis::start();
    let ([server], _scratch) = instances(&redis);
    assert_eq!(server.admin("/readyz").json()["store"], "connected");
    redis.kill();
    eventually("the store counts as unreachable", || {
        server.post("/v1/check", r#"{"ip": "192.0.2.4"}"#).status == 200
    });
    let statuses: Vec<u16> =
        (0..12).map(|_| server.post("/v1/check", r#"{"ip": "192.0.2.3"}"#).status).collect();
    let admitted = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(admitted, 4, "half of eight by its share: {statuses:?}");
    assert_eq!(mode(&server, "192.0.2.3"), "fallback");
    eventually("it says so", || server.admin("/readyz").json()["store"] == "unreachable");
    let page = server.admin("/metrics").body;
    assert!(
        page.contains("tollgate_store_fallbacks_total ") && page.contains("tollgate_store_local_buckets 2"),
        "{page}"
    );
    let _again = Redis::at(redis.port);
    eventually("the store decides", || mode(&server, "192.0.2.3") == "exact");
    assert_eq!(server.admin("/readyz").json()["store"], "connected");
}

#[test]
fn a_store_that_is_connected_and_does_not_decide_is_said_to_fail() {
    if is_skipped("redis") {
        return;
    }
    let redis = Redis::start();
    let ([server], _scratch) = instances(&redis);
    let store = || server.admin("/readyz").json()["store"].clone();
    let memory_max = |bytes: &str| {
        let mut client = RespClient::to(([127, 0, 0, 1], redis.port).into());
        client.ask(&["CONFIG", "SET", "maxmemory", bytes]).unwrap();
    };
    assert_eq!(store(), "connected");
    memory_max("1");
    eventually("it says so", || {
        server.post("/v1/check", r#"{"ip": "192.0.2.3"}"#);
        store() == "failing"
    });
    memory_max("0");
    eventually("the store decides", || {
        server.post("/v1/check", r#"{"ip": "192.0.2.100"}"#).json()["mode"] == "exact"
    });
    assert_eq!(store(), "connected");
}

#[test]
fn it_starts_without_the_store_and_says_so_once() {
    let mut server = Server::new(&["--store", "redis://127.0.0.1:1"]);
    assert_eq!(server.post("/v1/check", r#"{"ip": "192.0.2.3"}"#).json()["mode"], "fallback");
    assert_eq!(server.admin("/readyz").json()["store"], "unreachable");
    server.wait_for_silence(Duration::from_millis(1_500));
    assert_eq!(server.times_said("the shared store is not connected"), 1);
    assert_eq!(server.times_said(" WARN "), 1, "one cause is one line");
    assert_eq!(server.times_said("limits hold over all instances while it answers; else"), 1);
}

#[test]
fn it_says_that_the_number_of_instances_is_unknown_until_the_store_was_reached_once() {
    if is_skipped("redis") {
        return;
    }
    let mut redis = Redis::start();
    let (port, url) = (redis.port, redis.url());
    redis.kill();
    let server = Server::new(&["--store", &url]);
    let note = |server: &Server| server.admin("/readyz").json()["store_note"].clone();
    let said = note(&server);
    assert!(said.as_str().is_some_and(|said| said.starts_with("number of instances unknown")), "{said}");
    let scratch = Scratch::new();
    let with_instances = Server::new(&["--policy", &scratch.write("policy.yaml", POLICY), "--store", &url]);
    assert!(note(&with_instances).is_null(), "the policy sets instances_max");
    let _again = Redis::at(port);
    eventually("the number is learned", || note(&server).is_null());
}

#[test]
fn it_says_that_the_number_of_instances_is_unknown_while_the_store_cannot_count_them() {
    if is_skipped("redis") {
        return;
    }
    let redis = Redis::start();
    let mut line = TcpStream::connect(("127.0.0.1", redis.port)).unwrap();
    line.write_all(b"ACL SETUSER default -zadd\r\n").unwrap();
    let mut told = [0; 5];
    line.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"+OK\r\n");
    let mut server = Server::new(&["--store", &redis.url()]);
    eventually("it is connected", || server.admin("/readyz").json()["store"] == "connected");
    server.wait_for_silence(Duration::from_millis(1_500));
    let said = server.admin("/readyz").json()["store_note"].clone();
    assert!(said.as_str().is_some_and(|said| said.starts_with("number of instances unknown")), "{said}");
    assert_eq!(server.times_said("the instances that share the store cannot be counted"), 1);
}

#[test]
fn checks_in_fallback_are_seen_over_resp_by_rule_and_in_the_log() {
    if is_skipped("redis") {
        return;
    }
    let mut redis = Redis::start();
    let ([mut server], _scratch) = instances(&redis);
    let page = server.admin("/metrics").body;
    for rule in ["client", "(explicit)"] {
        let none = format!("tollgate_policy_fallbacks_total{{rule=\"{rule}\"}} 0\n");
        assert!(page.contains(&none), "{none}: {page}");
    }
    redis.kill();
    let mut resp = RespClient::to(server.address("resp"));
    let told = resp.ask(&["TOLLGATE.CHECK", "ip", "192.0.2.1"]).unwrap();
    assert_eq!((told[18].as_str(), told[19].as_str()), (Some("mode"), Some("fallback")), "{told}");
    server.post("/v1/check", r#"{"ip": "192.0.2.1"}"#);
    for _ in 0..2 {
        resp.ask(&["CL.THROTTLE", "k", "9", "1", "60"]).unwrap();
    }
    server.post("/v1/check", r#"{"key": "k", "rate": 1, "burst": 9}"#);
    let page = server.admin("/metrics").body;
    for (rule, count) in [("client", 2), ("(explicit)", 3)] {
        let counted = format!("tollgate_policy_fallbacks_total{{rule=\"{rule}\"}} {count}\n");
        assert!(page.contains(&counted), "{counted}: {page}");
    }
    server.wait_for_silence(Duration::from_millis(1_500));
    assert_eq!(server.times_said("checks decided in fallback"), 2);
    for rule in ["client", "(explicit)"] {
        let told = format!("rule=\"{rule}\" on_store_failure=\"local\" cause=");
        assert_eq!(server.times_said(&told), 1, "{told}");
    }
}

#[test]
fn a_late_reply_tells_cl_throttle_the_wait_and_limit_of_the_share() {
    if is_skipped("redis") {
        return;
    }
    let redis = Redis::start();
    let policy = "{store: {deadline: 50ms, away_after: 10s, instances_max: 2}, rules: [{name: client, scope: ip, rate: 1/h, burst: 8}]}";
    let scratch = Scratch::new();
    let server = Server::new(&["--policy", &scratch.write("policy.yaml", policy), "--store", &redis.url()]);
    eventually("the store is connected", || server.admin("/readyz").json()["store"] == "connected");
    let mut resp = RespClient::to(server.address("resp"));
    let mut ask = |key| {
        let told = resp.ask(&["CL.THROTTLE", key, "9", "1", "86400"]).unwrap();
        (0..5).map(|at| told[at].as_i64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ask("known"), [0, 10, 9, -1, 86_400]);
    redis.stand_still();
    // Nothing is proven of a bucket without an earlier reply, and the deadline is the wait.
    assert_eq!(ask("new")[..4], [1, 5, 0, 1]);
    assert_eq!(ask("known")[..3], [0, 5, 5], "proven by the last reply");
}

#[test]
fn the_help_names_the_urls_of_a_shared_store() {
    let output = tollgate(&["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for scheme in ["redis://", "rediss://", "redis+sentinel://", "redis+cluster://", "unix:/"] {
        assert!(help.contains(scheme), "{scheme}: {help}");
    }
}

#[test]
fn a_store_that_cannot_be_is_one_line_and_no_password_is_ever_shown() {
    for (store, said) in [
        ("redis://", "host"),
        ("http://localhost", "redis, rediss (TLS)"),
        ("redis://ann:sesame@localhost:99999", "port"),
    ] {
        let output = tollgate(&["serve", "--store", store]).output().unwrap();
        let said_all = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said_all}");
        assert!(said_all.lines().count() == 1 && said_all.contains(said), "{store}: {said_all}");
        assert!(!said_all.contains("sesame"), "{said_all}");
    }
    let output = tollgate(&["config", "--store", "redis://ann:sesame@localhost"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("redis://********@localhost") && !shown.contains("sesame"), "{shown}");
    let snapshot = tollgate(&["serve", "--store", "redis://localhost", "--snapshot", "x"]).output().unwrap();
    let said = String::from_utf8(snapshot.stderr).unwrap();
    assert!(snapshot.status.code() == Some(2) && said.contains("leave it out"), "{said}");
}

#[test]
fn redis_url_names_the_store_unless_somebody_says_otherwise() {
    let shown = |flags: &[&str]| {
        let mut command = tollgate(flags);
        command.env("REDIS_URL", "redis://elsewhere");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(shown(&["config"]).contains("redis://elsewhere"));
    assert!(!shown(&["config", "--store", "memory"]).contains("redis://elsewhere"));
}
