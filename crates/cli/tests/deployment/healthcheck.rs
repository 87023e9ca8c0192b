//! `tollgate healthcheck`.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Output;

use crate::process::{Process, tollgate};
use crate::scratch::Scratch;

fn run(flags: &str) -> (i32, String, String) {
    let Output { status, stdout, stderr } = tollgate(&format!("healthcheck {flags}")).output().unwrap();
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[track_caller]
fn is_ready(flags: &str) {
    let (code, stdout, stderr) = run(flags);
    assert_eq!((code, stderr.as_str()), (0, ""), "{flags}");
    assert!(stdout.starts_with("{\"ready\":true,") && stdout.ends_with("}\n"), "{stdout}");
}

#[track_caller]
fn refused(flags: &str, code: i32, complaint: &str) {
    let ran = run(flags);
    assert_eq!((ran.0, ran.1.as_str()), (code, ""), "{flags}: {}", ran.2);
    assert!(ran.2.starts_with(complaint), "{flags}: {}", ran.2);
}

#[test]
fn a_server_that_serves_is_ready_at_each_of_its_doors() {
    let scratch = Scratch::new();
    let metrics = format!("unix:{}", scratch.path("metrics.sock"));
    let server = Process::serve(&format!("--metrics {metrics}"));
    is_ready(&format!("--admin {}", server.door("admin")));
    is_ready(&format!("--admin off --metrics {metrics}"));
    is_ready(&format!("--admin off --http {}", server.door("http")));
    let (_, port) =
        server.door("admin").split_once(':').map(|(host, port)| (host.to_owned(), port.to_owned())).unwrap();
    is_ready(&format!("--admin 0.0.0.0:{port}"));
}

#[test]
fn the_environment_says_where_the_server_is_as_it_does_for_the_server() {
    let server = Process::serve("");
    let output = tollgate("healthcheck").env("TOLLGATE_ADMIN", server.door("admin")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_server_that_is_gone_is_not_ready() {
    let server = Process::serve("");
    let admin = server.door("admin");
    server.signal("TERM");
    assert!(server.ended().0.success());
    refused(&format!("--admin {admin}"), 1, &format!("error: no answer from the admin door at {admin}: "));
    refused(
        "--admin unix:/nowhere/admin.sock",
        1,
        "error: no answer from the admin door at unix:/nowhere/admin.sock: ",
    );
}

#[test]
fn a_server_that_stops_says_that_it_is_not_ready() {
    let mut server = Process::serve("--grace 20s");
    let admin = server.door("admin");
    // A request that is under way keeps the server from ending.
    let mut open = std::net::TcpStream::connect(server.door("http")).unwrap();
    open.write_all(b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n").unwrap();
    is_ready(&format!("--admin {admin}"));
    server.signal("TERM");
    server.wait_for("stopping");
    refused(
        &format!("--admin {admin}"),
        1,
        "error: not ready, says the admin door: HTTP/1.1 503 Service Unavailable {\"ready\":false,\"why\":\"stopping\"",
    );
    open.write_all(b"{}").unwrap();
    assert!(server.ended().0.success());
}

#[test]
fn one_who_accepts_and_says_nothing_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    refused(
        &format!("--admin {address}"),
        1,
        &format!("error: no answer from the admin door at {address}: no answer within 2 s"),
    );
}

#[test]
fn one_who_answers_without_end_is_not_listened_to_for_ever() {
    let chatty = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = chatty.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = chatty.accept() {
            let _ = stream.read(&mut [0; 1_024]);
            while stream.write_all(&[b'x'; 4_096]).is_ok() {}
        }
    });
    refused(&format!("--admin {address}"), 1, "error: not ready, says the admin door: xxxx");
    assert!(run(&format!("--admin {address}")).2.len() < 1_000, "one line");
}

#[test]
fn settings_that_name_no_server_are_answered_with_their_cure() {
    refused("--admin off --http off", 1, "error: no door to ask: admin, metrics and http are off; open one");
    refused("--admin 127.0.0.1:0", 1, "error: --admin has port 0, so where the server is cannot be known");
    refused("--admin 8082", 2, "error: ");
    refused("--adnim 127.0.0.1:1", 2, "error: unexpected argument '--adnim' found");
}
