//! What breaks the protocol ends the connection, in Redis' words; what is too much does too.

use tollgate_server::resp::Limits;

use crate::wire::{Conversation, command, request};

fn broken(bytes: &[u8]) -> String {
    let mut conversation = Conversation::new();
    // What came before is still answered, and what comes after is not.
    let replies = conversation.send(&[b"PING\r\n", bytes, b"\r\nPING\r\n"].concat());
    assert!(conversation.is_closed, "{:?}", String::from_utf8_lossy(bytes));
    let replies = String::from_utf8_lossy(&replies).into_owned();
    let detail = replies.strip_prefix("+PONG\r\n-ERR Protocol error: ");
    let detail = detail.and_then(|detail| detail.strip_suffix("\r\n"));
    detail.map_or_else(|| panic!("{replies:?}"), str::to_owned)
}

#[test]
fn what_is_no_request_is_told_as_redis_tells_it() {
    for (bytes, expected) in [
        ("*abc\r\n", "invalid multibulk length"),
        ("*\r\n", "invalid multibulk length"),
        ("*+1\r\n$4\r\nPING\r\n", "invalid multibulk length"),
        ("*01\r\n$4\r\nPING\r\n", "invalid multibulk length"),
        ("*-0\r\n", "invalid multibulk length"),
        ("*1\n$4\r\nPING\r\n", "invalid multibulk length"),
        ("*2147483648\r\n", "invalid multibulk length"),
        ("*99999999999999999999\r\n", "invalid multibulk length"),
        ("*1\r\n$abc\r\n", "invalid bulk length"),
        ("*1\r\n$\r\n", "invalid bulk length"),
        ("*1\r\n$-1\r\n", "invalid bulk length"),
        ("*1\r\n$04\r\nPING\r\n", "invalid bulk length"),
        ("*1\r\n$4\nPING\r\n", "invalid bulk length"),
        ("*1\r\n$536870913\r\n", "invalid bulk length"),
        ("*1\r\nPING\r\n", "expected '$', got 'P'"),
        ("*1\r\n:4\r\n", "expected '$', got ':'"),
        ("*1\r\n\r\n", "expected '$', got ' '"),
        ("*1\r\n$4\r\nPINGxx", "expected CRLF after a bulk string"),
        ("PING \"abc\r\n", "unbalanced quotes in request"),
    ] {
        assert_eq!(broken(bytes.as_bytes()), expected, "{bytes:?}");
    }
}

#[test]
fn a_browser_cannot_be_made_to_ask() {
    let body = "\r\n\r\nCL.THROTTLE victim 0 1 3600\r\n";
    let get = b"-ERR unknown command 'GET', with args beginning with: '/' 'HTTP/1.1' \r\n".as_slice();
    let refusal = b"-ERR this listener speaks the Redis protocol, not HTTP\r\n".as_slice();
    for (request, expected) in [
        ("POST / HTTP/1.1\r\nHost: example.org", refusal.to_vec()),
        ("GET / HTTP/1.1\r\nhost: example.org", [get, refusal].concat()),
    ] {
        let mut conversation = Conversation::new();
        assert_eq!(conversation.send(format!("{request}{body}").as_bytes()), expected);
        assert!(conversation.is_closed && conversation.table.calls.is_empty());
    }
}

#[test]
fn every_maximum_is_allowed_and_one_more_is_not() {
    let limits = Limits {
        args_max: 20,
        bulk_bytes_max: 100,
        inline_bytes_max: 50,
        frame_bytes_max: 300,
        ..Limits::default()
    };
    let last = |bytes: &[u8]| {
        let mut conversation = Conversation::with_limits(limits);
        let replies = conversation.send(bytes);
        (String::from_utf8_lossy(&replies).replace("\r\n", "|"), conversation.is_closed)
    };
    let refused = |detail: &str| (format!("-ERR Protocol error: {detail}|"), true);

    let words = |count| request(&vec![b"PING".as_slice(); count]);
    assert_eq!(last(&words(20)), ("-ERR wrong number of arguments for 'ping' command|".to_owned(), false));
    assert_eq!(last(&words(21)), refused("invalid multibulk length"));

    let echo = |length| request(&[b"ECHO", "x".repeat(length).as_bytes()]);
    assert_eq!(last(&echo(100)), (format!("$100|{}|", "x".repeat(100)), false));
    assert_eq!(last(&echo(101)), refused("invalid bulk length"));

    let line = |length: usize| format!("PING {}\n", "x".repeat(length - 5)).into_bytes();
    assert_eq!(last(&line(50)), (format!("$45|{}|", "x".repeat(45)), false));
    assert_eq!(last(&line(51)), refused("too big inline request"));
    assert_eq!(last(&[b'x'; 51]), refused("too big inline request"), "no end in sight");
    assert_eq!(last(&[b'x'; 50]), (String::new(), false));

    let frame = |last: usize| request(&[b"PING", &[b'x'; 100], &[b'x'; 100], &vec![b'x'; last]]);
    let length = |last| frame(last).len();
    assert_eq!(length(63), 300);
    assert_eq!(last(&frame(63)), ("-ERR wrong number of arguments for 'ping' command|".to_owned(), false));
    assert_eq!(last(&frame(64)), refused("too big request, at most 300 bytes"));
}

#[test]
fn an_incomplete_request_never_waits_in_more_than_the_longest_request() {
    let limits = Limits { frame_bytes_max: 1_000, inline_bytes_max: 500, ..Limits::default() };
    for byte in [b"x".as_slice(), b"$1\r\na\r\n", b"$100\r\n"] {
        let mut conversation = Conversation::with_limits(limits);
        if byte != b"x" {
            conversation.send(b"*1000\r\n");
        }
        for _ in 0..2_000 {
            conversation.send(byte);
            assert!(conversation.waiting() <= 1_000 + byte.len());
        }
        assert!(conversation.is_closed);
    }
}

#[test]
fn arguments_beyond_those_that_any_command_takes_are_counted_and_skipped() {
    let mut conversation = Conversation::new();
    let many = |name: &'static [u8]| [vec![name], vec![b"x".as_slice(); 1_000]].concat();
    assert_eq!(
        conversation.send(&request(&many(b"CL.THROTTLE"))),
        b"-Cell error: Store error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]\r\n"
    );
    let unknown = conversation.send(&request(&many(b"MGET")));
    assert!(unknown.starts_with(b"-ERR unknown command 'MGET', with args beginning with: 'x' 'x' "));
    assert_eq!(conversation.ask("PING"), "+PONG|");
}

#[test]
fn replies_that_nobody_reads_do_not_pile_up() {
    use std::sync::Arc;
    use tollgate_server::resp::{Next, Session, Settings};

    let limits = Limits { output_bytes_max: 10_000, ..Limits::default() };
    let mut session = Session::new(Arc::new(Settings { limits, password: None }), 1);
    let mut table = crate::engine::Table::new();
    let input = command("COMMAND DOCS").repeat(1_000);
    let (mut output, mut rest) = (Vec::new(), input.as_slice());
    let progress = crate::engine::feed(&mut session, rest, &mut table, &mut output);
    assert_eq!(progress.next, Next::Write);
    assert!(progress.consumed < input.len() && output.len() < 10_000 + 4_000, "{}", output.len());
    rest = &rest[progress.consumed..];
    let full = crate::engine::feed(&mut session, rest, &mut table, &mut output);
    assert_eq!(
        (full.consumed, full.next),
        (0, Next::Write),
        "nothing is taken as long as the output is full"
    );
    output.clear();
    assert!(crate::engine::feed(&mut session, rest, &mut table, &mut output).consumed > 0);
}

#[test]
fn a_length_that_ends_beyond_the_longest_request_is_not_waited_for() {
    let mut conversation = Conversation::with_limits(Limits { frame_bytes_max: 40, ..Limits::default() });
    let begun = format!("*3\r\n$4\r\nECHO\r\n$16\r\n{}\r\n", "x".repeat(16));
    assert_eq!(conversation.send(format!("{begun}$1").as_bytes()), b"");
    assert_eq!(conversation.waiting(), 39);
    assert_eq!(conversation.send(b"0"), b"-ERR Protocol error: too big request, at most 40 bytes\r\n");
    assert!(conversation.is_closed);
}
