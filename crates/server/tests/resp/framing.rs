//! The same bytes give the same replies, whatever pieces they come in.

use tollgate_sim::seeds::for_each_seed;

use crate::wire::{Conversation, command, request};

/// A little of everything.
fn mixed() -> Vec<u8> {
    let mut bytes = Vec::new();
    for words in
        ["HELLO 3", "CL.THROTTLE k 4 1 1", "CL.THROTTLE k 4 1 1 9", "PING", "CL.THROTTLE j x 1 1", "nope a b"]
    {
        bytes.extend(command(words));
    }
    bytes.extend_from_slice(b"*0\r\n*-1\r\n\r\nPING\r\nCL.THROTTLE \"a \\x41\" 0 1 2\n   \r\n");
    bytes.extend(request(&[b"ECHO", b"\r\n$5\r\n*3\0"]));
    bytes.extend(request(&[b"PING".as_slice(); 20]));
    bytes.extend(command("CLIENT SETNAME me"));
    bytes.extend_from_slice(b"CLIENT GETNAME\r\n");
    bytes
}

#[test]
fn requests_cut_anywhere_get_the_same_replies() {
    let bytes = mixed();
    let whole = Conversation::new().send(&bytes);
    assert!(
        whole.starts_with(b"%7\r\n") && whole.ends_with(b"\r\n$2\r\nme\r\n"),
        "every request has its reply"
    );
    assert_eq!(whole.windows(4).filter(|bytes| bytes == b"*5\r\n").count(), 3);
    for cut in 0..=bytes.len() {
        let mut conversation = Conversation::new();
        let mut replies = conversation.send(&bytes[..cut]);
        replies.extend(conversation.send(&bytes[cut..]));
        assert_eq!(replies, whole, "cut at {cut}");
        assert_eq!(conversation.waiting(), 0);
    }
}

#[test]
fn requests_that_come_byte_by_byte_get_the_same_replies() {
    let bytes = mixed();
    let whole = Conversation::new().send(&bytes);
    let mut conversation = Conversation::new();
    let replies: Vec<u8> = bytes.iter().flat_map(|byte| conversation.send(&[*byte])).collect();
    assert_eq!(replies, whole);
}

#[test]
fn a_request_is_answered_with_its_last_byte_and_not_before() {
    let bytes = command("PING");
    let mut conversation = Conversation::new();
    assert_eq!(conversation.send(&bytes[..bytes.len() - 1]), b"");
    assert_eq!(conversation.send(&bytes[bytes.len() - 1..]), b"+PONG\r\n");
}

#[test]
fn random_pieces_get_the_same_replies() {
    let bytes = mixed().repeat(3);
    let whole = Conversation::new().send(&bytes);
    for_each_seed(0..200, |rng| {
        let (mut conversation, mut rest, mut replies) = (Conversation::new(), bytes.as_slice(), Vec::new());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rng.usize(1..=rest.len().min(60)));
            replies.extend(conversation.send(piece));
            rest = after;
        }
        assert_eq!(replies, whole);
    });
}

#[test]
fn lines_are_requests_with_redis_quotes() {
    let mut conversation = Conversation::new();
    let replies = conversation
        .send(b"PING\r\nping\nPING \"a b\"\r\n  PING \t 'it\\'s' \r\nCL.THROTTLE user123 15 30 60\r\n");
    assert_eq!(
        String::from_utf8_lossy(&replies).replace("\r\n", "|"),
        "+PONG|+PONG|$3|a b|$4|it's|*5|:0|:16|:15|:-1|:2|"
    );
    assert_eq!(conversation.send(b"ECHO \"a\r\n"), b"-ERR Protocol error: unbalanced quotes in request\r\n");
    assert!(conversation.is_closed);
}
