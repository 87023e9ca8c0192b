//! The Redis protocol on a real socket.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use crate::scratch::Scratch;
use crate::server::{PATIENCE, Server};

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address("resp")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// As much of what comes back as is expected.
#[track_caller]
fn check(stream: &mut TcpStream, sent: &str, expected: &str) {
    stream.write_all(sent.as_bytes()).unwrap();
    let mut found = vec![0; expected.len()];
    stream.read_exact(&mut found).unwrap();
    assert_eq!(String::from_utf8_lossy(&found), expected);
}

fn command(words: &[&str]) -> String {
    words
        .iter()
        .fold(format!("*{}\r\n", words.len()), |sent, word| sent + &format!("${}\r\n{word}\r\n", word.len()))
}

fn five(numbers: [i64; 5]) -> String {
    numbers.iter().fold("*5\r\n".to_owned(), |reply, number| reply + &format!(":{number}\r\n"))
}

#[test]
fn known_answers_of_redis_cell() {
    let server = Server::new(&[]);
    let mut stream = connect(&server);
    check(&mut stream, &command(&["CL.THROTTLE", "user123", "15", "30", "60"]), &five([0, 16, 15, -1, 2]));
    check(&mut stream, &command(&["CL.THROTTLE", "k", "0", "1", "2", "1"]), &five([0, 1, 0, -1, 2]));
    check(&mut stream, &command(&["CL.THROTTLE", "k", "0", "1", "2", "1"]), &five([1, 1, 0, 2, 2]));
    check(&mut stream, &command(&["CL.THROTTLE", "k", "0", "1", "2", "0"]), &five([0, 1, 0, -1, 2]));
    check(&mut stream, "PING\r\n", "+PONG\r\n");
    check(&mut stream, "CL.THROTTLE user123 x 30 60\r\n", "-");
}

#[test]
fn thousands_in_one_write_are_answered_in_order() {
    let server = Server::new(&[]);
    let mut stream = connect(&server);
    let mut reading = stream.try_clone().unwrap();
    let count = 20_000;
    let writer = std::thread::spawn(move || {
        let one = command(&["CL.THROTTLE", "many", "9999", "1", "86400"]);
        stream.write_all(one.repeat(count).as_bytes()).unwrap();
        stream
    });
    let mut replies = vec![0; five([0, 10_000, 9_999, -1, 86_400]).len()];
    reading.read_exact(&mut replies).unwrap();
    assert_eq!(String::from_utf8_lossy(&replies), five([0, 10_000, 9_999, -1, 86_400]));
    let mut admitted = 1;
    let (mut rest, mut text) = (vec![0; 1 << 16], String::new());
    let mut seen = 1;
    while seen < count {
        let bytes = match reading.read(&mut rest) {
            // Whoever stops the tests for a while interrupts a read that has a time-out.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.unwrap(),
        };
        assert!(bytes > 0);
        text.push_str(std::str::from_utf8(&rest[..bytes]).unwrap());
        while let Some(end) = text.match_indices("\r\n").nth(5).map(|(at, _)| at + 2) {
            admitted += usize::from(text.starts_with("*5\r\n:0\r\n"));
            text.drain(..end);
            seen += 1;
        }
    }
    assert_eq!(admitted, 10_000);
    writer.join().unwrap();
}

#[test]
fn requests_in_pieces_are_put_together_and_both_doors_share_buckets() {
    let server = Server::new(&[]);
    let mut stream = connect(&server);
    let sent = command(&["CL.THROTTLE", "shared", "1", "1", "4000"]);
    for byte in sent.as_bytes() {
        stream.write_all(&[*byte]).unwrap();
    }
    check(&mut stream, "", &five([0, 2, 1, -1, 4_000]));
    let body = r#"{"key": "shared", "rate": 0.00025, "burst": 2}"#;
    assert_eq!((server.post("/v1/check", body).status, server.post("/v1/check", body).status), (200, 429));
}

#[test]
fn a_broken_frame_gets_an_error_and_ends_the_connection_alone() {
    let server = Server::new(&[]);
    for sent in ["*1\r\n$x\r\n", "*-5000\r\n", "GET / HTTP/1.1\r\nhost: a\r\n\r\n"] {
        let mut stream = connect(&server);
        let mut said = String::new();
        stream.write_all(sent.as_bytes()).unwrap();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        stream.read_to_string(&mut said).unwrap();
        assert!(said.is_empty() || said.starts_with('-'), "{sent:?}: {said}");
    }
    check(&mut connect(&server), "PING\r\n", "+PONG\r\n");
}

#[test]
fn quit_is_answered_before_the_connection_ends() {
    let server = Server::new(&[]);
    let mut stream = connect(&server);
    let mut said = String::new();
    stream.write_all(b"PING\r\nQUIT\r\nPING\r\n").unwrap();
    stream.read_to_string(&mut said).unwrap();
    assert_eq!(said, "+PONG\r\n+OK\r\n");
}

#[test]
fn a_password_is_asked_for_and_never_shown() {
    let scratch = Scratch::new();
    let file = scratch.write("password", "open sesame\n");
    let server = Server::with(&[], |command| command.env("TOLLGATE_RESP_PASSWORD_FILE", &file));
    let mut stream = connect(&server);
    check(&mut stream, "CL.THROTTLE k 0 1 2\r\n", "-NOAUTH");
    let mut stream = connect(&server);
    check(&mut stream, &command(&["AUTH", "open sesame"]), "+OK\r\n");
    check(&mut stream, "CL.THROTTLE k 0 1 2\r\n", &five([0, 1, 0, -1, 2]));
    assert!(!server.said.iter().any(|line| line.contains("sesame")));
}

#[test]
fn checks_of_this_door_are_counted_and_looks_are_not() {
    let server = Server::new(&[]);
    let mut stream = connect(&server);
    check(&mut stream, "CL.THROTTLE k 0 1 3600\r\n", &five([0, 1, 0, -1, 3_600]));
    check(&mut stream, "CL.THROTTLE k 0 1 3600\r\n", "*5\r\n:1\r\n");
    check(&mut connect(&server), "CL.THROTTLE k 0 1 3600 0\r\n", "*5\r\n:0\r\n");
    check(&mut connect(&server), "CL.THROTTLE k 0 1 3600 99\r\n", "*5\r\n:1\r\n");
    let page = server.admin("/metrics").body;
    for verdict in ["admit", "deny", "never"] {
        let line =
            format!("tollgate_checks_total{{rule=\"(explicit)\",verdict=\"{verdict}\",door=\"resp\"}} 1\n");
        assert!(page.contains(&line), "{page}");
    }
}
