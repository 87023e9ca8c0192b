//! The end, as told by signals (F4).

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::server::{PATIENCE, Server};

#[test]
fn told_to_end_it_finishes_what_is_open_says_that_it_is_not_ready_and_exits_0() {
    for signal in ["TERM", "INT"] {
        let mut server = Server::new(&[]);
        let mut open = server.http();
        let body = r#"{"key": "a", "rate": 1, "burst": 1}"#;
        open.send(format!("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", body.len()));
        open.send(&body[..5]);
        // Its head was read once another connection, opened later, was answered.
        assert_eq!(server.http().get("/livez").status, 200);
        server.signal(signal);
        server.wait_for("stopping");
        let ready = server.admin("/readyz");
        assert_eq!((ready.status, ready.json()["ready"].as_bool()), (503, Some(false)));
        let is_shut = (0..10_000).any(|_| TcpStream::connect(server.address("http")).is_err());
        assert!(is_shut, "no new connections");
        open.send(&body[5..]);
        assert_eq!(open.answer().status, 200);
        assert!(open.is_closed());
        let (status, said) = server.ended();
        assert_eq!(status.code(), Some(0), "{said:#?}");
    }
}

#[test]
fn idle_connections_do_not_delay_the_end() {
    let server = Server::new(&["--grace", "1h"]);
    let mut http = server.http();
    assert_eq!(http.get("/livez").status, 200);
    let mut resp = TcpStream::connect(server.address("resp")).unwrap();
    resp.set_read_timeout(Some(PATIENCE)).unwrap();
    resp.write_all(b"PING\r\n").unwrap();
    resp.read_exact(&mut [0; 7]).unwrap();
    server.signal("TERM");
    assert_eq!(server.ended().0.code(), Some(0));
}

#[test]
fn who_does_not_finish_is_cut_off_after_the_grace_time() {
    let mut server = Server::new(&["--grace", "200ms"]);
    let mut open = server.http();
    open.send("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{");
    assert_eq!(server.http().get("/livez").status, 200);
    server.signal("TERM");
    server.wait_for("cut off");
    assert_eq!(server.ended().0.code(), Some(0));
}
