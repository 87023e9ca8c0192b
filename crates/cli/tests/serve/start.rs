//! How it starts, and why it does not.

use std::fs::File;
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};

use crate::scratch::Scratch;
use crate::server::{Server, complaint, tollgate};

#[test]
fn doors_policy_and_something_to_try_are_printed() {
    let mut server = Server::new(&[]);
    let line = server.wait_for("Try: curl ");
    let http = server.address("http").to_string();
    assert_eq!(line, format!("Try: curl -i -d '{{\"ip\": \"192.0.2.7\"}}' http://{http}/v1/check"));
    assert_ne!(server.address("resp").port(), 0);
    let said = server.said.join("\n");
    assert!(said.contains("{name: per-client, scope: ip, rate: 5/s, burst: 10}"), "{said}");
}

#[test]
fn nothing_is_written_per_request() {
    let server = Server::new(&[]);
    let mut http = server.http();
    for _ in 0..50 {
        http.post("/v1/check", "{}");
        http.post("/v1/check", "nonsense");
    }
    drop(http);
    server.signal("TERM");
    let (_, said) = server.ended();
    let logs: Vec<_> = said.iter().filter(|line| line.contains("INFO") || line.contains("WARN")).collect();
    assert!(logs.len() <= 2, "{logs:#?}");
}

#[test]
fn a_taken_address_is_exit_1_with_door_address_and_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for door in ["http", "resp", "admin", "metrics"] {
        let mut arguments = vec!["serve"];
        for other in ["--http", "--resp", "--admin"] {
            if other != format!("--{door}") {
                arguments.extend([other, "127.0.0.1:0"]);
            }
        }
        let flag = format!("--{door}");
        arguments.extend([flag.as_str(), &address]);
        let (code, said) = complaint(tollgate(&arguments));
        assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
        assert!(said.starts_with(&format!("error: cannot open the {door} door at {address}: ")), "{said}");
        assert!(
            said.contains(&format!("it is taken; end what uses it, or choose another with {flag}")),
            "{said}"
        );
    }
}

#[test]
fn a_policy_that_is_no_text_is_one_line_and_exit_1() {
    let scratch = Scratch::new();
    let huge = scratch.path("huge.yaml");
    File::create(&huge).unwrap().set_len(1 << 30).unwrap();
    let binary = scratch.path("binary.yaml");
    std::fs::write(&binary, b"a: \xff").unwrap();
    for (path, said_of_it) in [
        (
            scratch.path("none.yaml"),
            "there is no such file; check its name, or write a policy with `tollgate init`",
        ),
        (scratch.path(""), "it is a directory; name a file in it"),
        (scratch.write("empty.yaml", " \n"), "it is empty; `tollgate init` writes a policy to start from"),
        (huge, "it is longer than 4194304 bytes (4 MiB)"),
        (binary, "it is no text: byte 3 is not UTF-8; save it as UTF-8"),
    ] {
        let (code, said) = complaint(tollgate(&["serve", "--policy", &path]));
        assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
        assert!(said.starts_with("error: cannot read the policy '") && said.contains(said_of_it), "{said}");
    }
    let bad = scratch.write("bad.yaml", "{name: a, rate: 1/s, brust: 5}");
    let (code, said) = complaint(tollgate(&["serve", "--policy", &bad]));
    assert!(code == Some(1) && said.contains("brust") && said.contains("bad.yaml:1"), "{said}");
}

#[test]
fn every_door_off_is_refused() {
    let (code, said) = complaint(tollgate(&["serve", "--http", "off", "--resp", "off", "--admin", "off"]));
    assert_eq!(
        (code, said.as_str()),
        (Some(1), "error: every door is off; open one, as in --http 127.0.0.1:8080\n")
    );
}

#[test]
fn a_door_may_be_a_unix_socket_and_its_file_goes_with_it() {
    let scratch = Scratch::new();
    let path = scratch.path("http.sock");
    // One that a crash left behind.
    drop(UnixListener::bind(&path).unwrap());
    let server = Server::new(&["--http", &format!("unix:{path}")]);
    let mut stream = UnixStream::connect(&path).unwrap();
    std::io::Write::write_all(&mut stream, b"GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut stream, &mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200 OK"), "{said}");
    let (code, said) =
        complaint(tollgate(&["serve", "--http", &format!("unix:{path}"), "--resp", "off", "--admin", "off"]));
    assert!(code == Some(1) && said.contains("it is taken"), "{said}");
    server.signal("TERM");
    assert_eq!(server.ended().0.code(), Some(0));
    assert!(!std::path::Path::new(&path).exists());
}

#[test]
fn logs_are_lines_of_json_where_that_is_asked_for_and_nothing_else_is_said() {
    let mut server = Server::begun(&["--log", "json"], |command| {
        command.env("RUST_LOG", "tollgate_server=loud").env("TOLLGATE_HTPP", "off")
    });
    server.wait_for("tollgate is ready");
    server.signal("TERM");
    let (_, said) = server.ended();
    let logs: Vec<serde_json::Value> =
        said.iter().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    assert!(logs.iter().all(|log| log["timestamp"].is_string()), "{said:#?}");
    let says = |text: &str| {
        let has = |log: &&serde_json::Value| log["message"].as_str().is_some_and(|it| it.contains(text));
        logs.iter().find(has).unwrap_or_else(|| panic!("{text} in {said:#?}"))
    };
    assert!(says("RUST_LOG is 'tollgate_server=loud', which was passed over")["level"] == "WARN");
    assert!(says("TOLLGATE_HTPP is no setting")["level"] == "WARN");
    let door = says("the door is open");
    assert!(door["level"] == "INFO" && door["door"] == "http", "{door}");
    assert!(door["address"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{door}");
    assert_eq!(
        (&says("the policy is in force")["source"], &says("store ready")["store"]),
        (&"embedded".into(), &"memory".into())
    );
    says("stop");
}

#[test]
fn a_bad_filter_of_logs_is_warned_of_once_and_info_counts() {
    let server = Server::with(&[], |command| command.env("RUST_LOG", "info,,=,x=loud"));
    server.signal("TERM");
    let (_, said) = server.ended();
    assert_eq!(said.iter().filter(|line| line.starts_with("warning: RUST_LOG is ")).count(), 1, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("stop")), "{said:#?}");
}
