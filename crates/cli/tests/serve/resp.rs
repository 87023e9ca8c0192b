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

const PASSWORD: &str = "open sesame";

fn with_password(flags: &[&str]) -> Server {
    Server::with(flags, |command| command.env("TOLLGATE_RESP_PASSWORD", PASSWORD))
}

#[test]
fn the_right_client_gets_in_while_silent_connections_wait() {
    let server = with_password(&["--max-connections", "100", "--idle-timeout", "1s"]);
    let mut silent: Vec<TcpStream> = (0..100).map(|_| connect(&server)).collect();
    let mut client = connect(&server);
    check(&mut client, &command(&["AUTH", PASSWORD]), "+OK\r\n");
    // Every silent connection is closed within its time, evicted or not.
    for stream in &mut silent {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(
            ["", "-ERR max number of unauthenticated clients reached\r\n"].contains(&said.as_str()),
            "{said}"
        );
    }
    check(&mut client, "PING\r\n", "+PONG\r\n");
}

#[test]
fn wrong_passwords_are_counted_slowed_and_logged() {
    let mut server = with_password(&[]);
    let mut stream = connect(&server);
    stream.write_all(command(&["AUTH", "guess"]).repeat(1_000).as_bytes()).unwrap();
    let mut said = Vec::new();
    // The connection may be reset, with guesses unread.
    let _ = stream.read_to_end(&mut said);
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    assert_eq!(String::from_utf8_lossy(&said), wrong.repeat(5));
    let logged = server.wait_for("RESP authentication failed");
    assert!(logged.contains("failures_all_peers=1 last_peer=127.0.0.1"), "{logged}");
    let page = server.admin("/metrics").body;
    assert!(page.contains("tollgate_resp_auth_failures_total 5\n"), "{page}");
    check(&mut connect(&server), &command(&["AUTH", PASSWORD]), "+OK\r\n");
    server.signal("TERM");
    let (_, said) = server.ended();
    let rest = "RESP authentication failed failures_all_peers=4 last_peer=127.0.0.1";
    assert!(said.iter().any(|line| line.contains(rest)), "{said:#?}");
}

#[test]
fn exec_charges_once_and_a_closed_connection_charges_nothing() {
    let server = Server::new(&[]);
    let throttle = command(&["CL.THROTTLE", "multi", "9", "1", "86400"]);
    let look = "CL.THROTTLE multi 9 1 86400 0\r\n";
    for unfinished in ["", "NOSUCH\r\n"] {
        let mut stream = connect(&server);
        check(
            &mut stream,
            &format!("MULTI\r\n{throttle}{throttle}{unfinished}"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n",
        );
    }
    check(&mut connect(&server), look, &five([0, 10, 10, -1, 0]));
    let mut stream = connect(&server);
    let expected = format!(
        "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n{}{}",
        five([0, 10, 9, -1, 86_400]),
        five([0, 10, 8, -1, 172_800])
    );
    check(&mut stream, &format!("MULTI\r\n{throttle}{throttle}EXEC\r\n"), &expected);
    check(&mut stream, look, "*5\r\n:0\r\n:10\r\n:8\r\n");
}
