//! redis-cell's answers, bit for bit.

use crate::wire::{Conversation, check, command, request};

#[test]
fn the_answers_that_redis_cell_is_known_to_give() {
    check(&mut Conversation::new(), &[("CL.THROTTLE user123 15 30 60", "*5|:0|:16|:15|:-1|:2|")]);
    check(
        &mut Conversation::new(),
        &[("cl.throttle k 0 1 2 1", "*5|:0|:1|:0|:-1|:2|"), ("Cl.Throttle k 0 1 2 1", "*5|:1|:1|:0|:2|:2|")],
    );
}

/// The table of redis-cell's own test: one token a second, five at once.
#[test]
fn a_bucket_of_five_answers_as_redis_cells_own_tests_say() {
    let mut conversation = Conversation::new();
    let mut at = 0;
    for (millis, quantity, expected) in [
        (0, 6, "*5|:1|:5|:5|:-1|:0|"), // never: more than the bucket holds
        (0, 1, "*5|:0|:5|:4|:-1|:1|"),
        (0, 1, "*5|:0|:5|:3|:-1|:2|"),
        (0, 1, "*5|:0|:5|:2|:-1|:3|"),
        (0, 1, "*5|:0|:5|:1|:-1|:4|"),
        (0, 1, "*5|:0|:5|:0|:-1|:5|"),
        (0, 1, "*5|:1|:5|:0|:1|:5|"),
        (3_000, 1, "*5|:0|:5|:2|:-1|:3|"),
        (3_100, 1, "*5|:0|:5|:1|:-1|:4|"), // full in 3.9 s
        (4_000, 1, "*5|:0|:5|:1|:-1|:4|"),
        (8_000, 1, "*5|:0|:5|:4|:-1|:1|"),
        (9_500, 1, "*5|:0|:5|:4|:-1|:1|"),
        (9_500, 0, "*5|:0|:5|:4|:-1|:1|"), // a look
        (9_500, 2, "*5|:0|:5|:2|:-1|:3|"),
        (9_500, 5, "*5|:1|:5|:2|:3|:3|"),
    ] {
        conversation.pass_millis(millis - at);
        at = millis;
        assert_eq!(
            conversation.ask(&format!("CL.THROTTLE foo 4 1 1 {quantity}")),
            expected,
            "{quantity} at {millis} ms"
        );
    }
}

#[test]
fn a_look_at_an_empty_bucket_is_not_limited_and_takes_nothing() {
    check(
        &mut Conversation::new(),
        &[
            ("CL.THROTTLE k 0 1 60 0", "*5|:0|:1|:1|:-1|:0|"),
            ("CL.THROTTLE k 0 1 60", "*5|:0|:1|:0|:-1|:60|"),
            ("CL.THROTTLE k 0 1 60 0", "*5|:0|:1|:0|:-1|:60|"),
            ("CL.THROTTLE k 0 1 60", "*5|:1|:1|:0|:60|:60|"),
        ],
    );
}

#[test]
fn other_numbers_on_a_live_key_keep_its_balance_clamped() {
    check(
        &mut Conversation::new(),
        &[
            ("CL.THROTTLE k 9 1 1 4", "*5|:0|:10|:6|:-1|:4|"),
            ("CL.THROTTLE k 2 1 1", "*5|:0|:3|:2|:-1|:1|"),
            ("CL.THROTTLE k 99 1 1", "*5|:0|:100|:1|:-1|:99|"),
            ("CL.THROTTLE k 99 1000 1", "*5|:0|:100|:0|:-1|:1|"),
        ],
    );
}

#[test]
fn the_slowest_rate_is_told_to_the_second() {
    check(&mut Conversation::new(), &[("CL.THROTTLE k 0 1 31536000", "*5|:0|:1|:0|:-1|:31536000|")]);
}

#[test]
fn the_largest_numbers_are_answered_within_the_room_kept_for_them() {
    let asked = "CL.THROTTLE k 999999999999 1000000000 1 999999999999";
    assert_eq!(Conversation::new().ask(asked), "*5|:0|:1000000000000|:1|:-1|:1000|");
    let never = "CL.THROTTLE k 0 1 1 9223372036854775807";
    assert_eq!(Conversation::new().ask(never), "*5|:1|:1|:1|:-1|:0|");
}

#[test]
fn a_key_may_be_any_bytes() {
    let mut conversation = Conversation::new();
    let ask = |key: &[u8]| request(&[b"CL.THROTTLE", key, b"0", b"1", b"60"]);
    for key in [b"\r\n".as_slice(), b"\0", b"\xff\xfe", b"$3", &[7; 512]] {
        assert!(conversation.send(&ask(key)).starts_with(b"*5\r\n:0\r\n"), "{key:?}");
        assert!(conversation.send(&ask(key)).starts_with(b"*5\r\n:1\r\n"), "{key:?}");
    }
}

#[test]
fn what_cannot_be_answered_gets_an_error_and_the_connection_lives() {
    let usage = "-Cell error: Store error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]|";
    let zero = "-Cell error: Store error: Zero rates are not supported|";
    let mut conversation = Conversation::new();
    check(
        &mut conversation,
        &[
            ("CL.THROTTLE", usage),
            ("CL.THROTTLE k 15 30", usage),
            ("CL.THROTTLE k 15 30 60 1 1", usage),
            ("CL.THROTTLE k a 30 60", "-Cell error: Store error: Couldn't parse as integer: a|"),
            ("CL.THROTTLE k 15 1.5 60", "-Cell error: Store error: Couldn't parse as integer: 1.5|"),
            ("CL.THROTTLE k 15 30 ", "-Cell error: Store error: Couldn't parse as integer: |"),
            (
                "CL.THROTTLE k 15 30 60 9223372036854775808",
                "-Cell error: Store error: Couldn't parse as integer: 9223372036854775808|",
            ),
            ("CL.THROTTLE k 15 0 60", zero),
            ("CL.THROTTLE k 15 30 0", zero),
            ("CL.THROTTLE k 15 2000000000 1", zero),
            ("CL.THROTTLE k -1 30 60", "-Cell error: Store error: max_burst is -1; use 0 or more|"),
            ("CL.THROTTLE k 15 -30 60", "-Cell error: Store error: count is -30; use 0 or more|"),
            ("CL.THROTTLE k 15 30 -60", "-Cell error: Store error: period is -60; use 0 or more|"),
            ("CL.THROTTLE k 15 30 60 -1", "-Cell error: Store error: quantity is -1; use 0 or more|"),
            ("CL.THROTTLE  15 30 60", "-Cell error: Store error: key is empty; name the bucket|"),
            (
                "CL.THROTTLE k 15 1 31536001",
                "-Cell error: Store error: `rate` is 1 tokens per 31536001s; use at least 1 token per year (365 days)|",
            ),
            (
                "CL.THROTTLE k 9223372036854775807 1 1",
                "-Cell error: Store error: `burst` is 9223372036854775808 tokens; use at most 1000000000000 (10^12)|",
            ),
            ("CL.THROTTLE k 15 30 60", "*5|:0|:16|:15|:-1|:2|"),
        ],
    );
    let long = format!("CL.THROTTLE {} 1 1 1", "k".repeat(513));
    assert_eq!(conversation.ask(&long), "-Cell error: Store error: key is 513 bytes; use at most 512|");
    let broken = request(&[b"CL.THROTTLE", b"k", b"1\r\n+OK", b"1", b"1"]);
    assert_eq!(
        conversation.send(&broken),
        b"-Cell error: Store error: Couldn't parse as integer: 1  +OK\r\n"
    );
    assert!(!conversation.is_closed);
}

#[test]
fn an_error_repeats_no_more_than_the_beginning_of_an_argument() {
    let reply = Conversation::new().send(&command(&format!("CL.THROTTLE k {} 1 1", "x".repeat(30_000))));
    assert_eq!(reply.len(), "-Cell error: Store error: Couldn't parse as integer: \r\n".len() + 128);
}
