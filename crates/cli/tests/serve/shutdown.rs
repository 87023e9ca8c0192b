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

/// What is answered on a connection to its end.
fn all_said(mut stream: &TcpStream) -> String {
    let mut said = String::new();
    match stream.read_to_string(&mut said) {
        Ok(_) => said,
        Err(error) => format!("{error} after {said:?}"),
    }
}

#[test]
fn whoever_asks_before_the_end_is_answered_on_fresh_connections_and_on_old_ones() {
    let check = "POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 35\r\n\r\n{\"key\": \"a\", \"rate\": 1, \"burst\": 1}";
    for (door, question, answer) in [
        ("http", check, "HTTP/1.1 "),
        ("http", "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n", "HTTP/1.1 200 "),
        ("resp", "PING\r\n", "+PONG\r\n"),
    ] {
        for is_fresh in [true, false] {
            let server = Server::new(&[]);
            let connect = || TcpStream::connect(server.address(door)).unwrap();
            let streams: Vec<TcpStream> = (0..60).map(|_| connect()).collect();
            for mut stream in &streams {
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                if !is_fresh {
                    stream.write_all(question.as_bytes()).unwrap();
                    assert!(stream.read(&mut [0; 1_024]).unwrap() >= answer.len());
                }
            }
            for mut stream in &streams {
                stream.write_all(question.as_bytes()).unwrap();
            }
            server.signal("TERM");
            for stream in &streams {
                let said = all_said(stream);
                assert!(said.starts_with(answer), "{door}, fresh: {is_fresh}: {said}");
            }
            assert_eq!(server.ended().0.code(), Some(0));
        }
    }
}

#[test]
fn a_pipeline_without_end_is_answered_to_the_last_that_was_read() {
    let server = Server::new(&["--grace", "5s"]);
    let mut stream = TcpStream::connect(server.address("resp")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut reading = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        let throttle = b"*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$3\r\n999\r\n$1\r\n1\r\n$2\r\n60\r\n";
        let many = throttle.repeat(500);
        while stream.write_all(&many).is_ok() {}
    });
    let mut said = vec![0; 1 << 16];
    let mut answered = Vec::new();
    let mut is_told = false;
    let end = loop {
        match reading.read(&mut said) {
            Ok(0) => break Ok(()),
            Ok(bytes) => answered.extend_from_slice(&said[..bytes]),
            Err(error) => break Err(error),
        }
        if !is_told && answered.len() > 1 << 20 {
            server.signal("TERM");
            is_told = true;
        }
    };
    end.unwrap_or_else(|error| panic!("reset after {} bytes: {error}", answered.len()));
    let _ = reading.shutdown(std::net::Shutdown::Both);
    writer.join().unwrap();
    // Whole answers, to the last.
    let text = String::from_utf8(answered).unwrap();
    assert!(text.ends_with("\r\n") && text.matches("*5\r\n").count() * 5 == text.matches(':').count());
    assert_eq!(server.ended().0.code(), Some(0));
}
