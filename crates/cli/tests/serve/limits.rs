//! The doors protect themselves: connections that are too many, too slow or silent.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use crate::http_client::Connection;
use crate::server::{PATIENCE, Server};

#[test]
fn a_full_door_sheds_with_503_and_counts_it() {
    let server = Server::new(&["--max-connections", "2"]);
    let mut held = [server.http(), server.http()];
    assert!(held.iter_mut().all(|http| http.get("/livez").status == 200));
    let mut shed = server.http();
    let answer = shed.answer();
    assert_eq!((answer.fault().0, answer.header("retry-after")), (503, Some("1")));
    assert!(shed.is_closed());
    let page = server.admin("/metrics").body;
    assert!(page.contains("tollgate_connections_shed_total{door=\"http\"} 1"), "{page}");
    assert!(held.iter_mut().all(|http| http.get("/livez").status == 200), "the others are served");

    let mut resp: Vec<TcpStream> =
        (0..3).map(|_| TcpStream::connect(server.address("resp")).unwrap()).collect();
    let mut said = String::new();
    resp.remove(2).read_to_string(&mut said).unwrap();
    assert_eq!(said, "-ERR max number of clients reached\r\n");
}

#[test]
fn places_are_given_back_when_connections_end() {
    let server = Server::new(&["--max-connections", "1"]);
    for _ in 0..20 {
        // The place may be given back a moment after the connection was closed.
        let has_room = (0..1_000).any(|_| {
            let mut http = server.http();
            http.send("GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
            http.maybe_answer().is_some_and(|answer| answer.status == 200)
        });
        assert!(has_room);
    }
}

#[test]
fn a_head_that_never_ends_is_given_up() {
    let server = Server::new(&["--idle-timeout", "1500ms"]);
    let mut http = server.http();
    http.send("GET /livez HTTP/1.1\r\nhost: ");
    let answer = http.answer();
    assert_eq!((answer.fault().0, answer.header("connection")), (408, Some("close")));
    assert!(http.is_closed());
    for begun in ["P", "PRI * HTTP/2.0\r\n\r\nSM"] {
        let mut http = server.http();
        http.send(begun);
        assert_eq!(http.answer().fault().0, 408, "{begun}");
    }
    let mut http = server.http();
    http.send("GET /livez HTTP/1.1\r\nhost: a\r\n\r\nGET /livez HT");
    assert_eq!((http.answer().status, http.answer().fault().0), (200, 408), "the second of two");
}

#[test]
fn who_is_turned_away_hears_why_though_it_had_asked_already() {
    let server = Server::new(&["--max-connections", "1"]);
    let mut held = server.http();
    assert_eq!(held.get("/livez").status, 200);
    for _ in 0..50 {
        let mut shed = server.http();
        // The server may be done with it meanwhile.
        let _ = shed.stream.get_mut().write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n");
        // The answer is on its way, and not read yet.
        shed.stream.get_ref().peek(&mut [0]).unwrap();
        let _ = shed.stream.get_mut().write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n");
        assert_eq!(shed.answer().fault().0, 503);
    }
    let page = server.admin("/metrics").body;
    assert!(page.contains("tollgate_connections_shed_total{door=\"http\"} 50"), "{page}");
}

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let server = Server::new(&["--idle-timeout", "1500ms"]);
    let mut silent = server.http();
    assert!(silent.is_closed());
    let mut once = server.http();
    assert_eq!(once.get("/livez").status, 200);
    assert!(once.is_closed());
}

#[test]
fn a_body_that_never_ends_is_408() {
    let server = Server::new(&["--idle-timeout", "1500ms"]);
    let mut http = server.http();
    http.send("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n{");
    assert_eq!(http.answer().fault().0, 408);
}

#[test]
fn many_connections_at_once_are_all_served() {
    let server = Server::new(&[]);
    let address = server.address("http");
    let mut connections: Vec<Connection> = (0..200).map(|_| Connection::to(address)).collect();
    for round in 0..3 {
        for http in &mut connections {
            let body = r#"{"key": "many", "rate": 0.001, "burst": 500}"#;
            http.send(format!(
                "POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ));
        }
        let admitted =
            connections.iter_mut().filter_map(Connection::maybe_answer).filter(|it| it.status == 200).count();
        assert_eq!(admitted, if round < 2 { 200 } else { 100 });
    }
}

#[test]
fn a_redis_request_that_never_ends_is_given_up_but_silence_is_not() {
    let server = Server::new(&["--idle-timeout", "1500ms"]);
    let connect = || TcpStream::connect(server.address("resp")).unwrap();
    let (mut silent, mut slow) = (connect(), connect());
    slow.set_read_timeout(Some(PATIENCE)).unwrap();
    slow.write_all(b"*1\r\n$4\r\nPI").unwrap();
    assert!(matches!(slow.read(&mut [0]), Ok(0)));
    silent.write_all(b"PING\r\n").unwrap();
    let mut said = [0; 7];
    silent.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"+PONG\r\n");
}

#[test]
fn who_takes_no_answers_is_given_up() {
    let server = Server::new(&["--idle-timeout", "1500ms"]);
    let mut deaf = TcpStream::connect(server.address("resp")).unwrap();
    deaf.set_write_timeout(Some(PATIENCE)).unwrap();
    // Until neither side's buffers have room; then the server ends it, and writing fails.
    let flood = b"COMMAND\r\n".repeat(1_000);
    let error = (0..1_000_000).find_map(|_| deaf.write_all(&flood).err()).unwrap();
    assert!([ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&error.kind()), "{error}");
}
