//! MULTI and EXEC: queued commands are decided in order, each charged exactly once, or none of them is.

use tollgate_server::resp::Limits;
use tollgate_sim::seeds::{Rng, for_each_seed};

use crate::wire::{Conversation, check, command};

const ABORTED: &str = "-EXECABORT Transaction discarded because of previous errors.|";
/// Looks at the bucket `k` of ten tokens without taking one.
const LOOK: &str = "CL.THROTTLE k 9 1 3600 0";
const FULL: &str = "*5|:0|:10|:10|:-1|:0|";

#[test]
fn exec_answers_each_queued_command_in_order() {
    let mut conversation = Conversation::new();
    check(
        &mut conversation,
        &[
            ("MULTI", "+OK|"),
            ("CL.THROTTLE k 1 1 3600", "+QUEUED|"),
            ("PING", "+QUEUED|"),
            ("TOLLGATE.CHECK ip 192.0.2.7 peek 1", "+QUEUED|"),
            ("CL.THROTTLE k 1 1 3600", "+QUEUED|"),
            ("CL.THROTTLE k 1 1 3600", "+QUEUED|"),
        ],
    );
    assert!(conversation.table.calls.is_empty(), "nothing is charged before EXEC");
    let replies = conversation.ask("EXEC");
    assert!(replies.starts_with("*5|*5|:0|:2|:1|:-1|:3600|+PONG|*20|$8|admitted|:1|"), "{replies}");
    assert!(replies.ends_with("*5|:0|:2|:0|:-1|:7200|*5|:1|:2|:0|:3600|:7200|"), "{replies}");
    assert_eq!(conversation.table.calls, [1, 2], "throttles that follow each other are one batch");
    check(&mut conversation, &[("EXEC", "-ERR EXEC without MULTI|"), ("PING", "+PONG|")]);
}

#[test]
fn a_full_queue_of_throttles_is_one_batch() {
    let mut conversation = Conversation::new();
    let most = Limits::default().transaction_commands_max;
    let queued = command("CL.THROTTLE k 4999 1 3600").repeat(most);
    let replies = conversation.send(&[command("MULTI"), queued, command("EXEC")].concat());
    let head = format!("+OK\r\n{}*{most}\r\n", "+QUEUED\r\n".repeat(most));
    assert!(replies.starts_with(head.as_bytes()));
    assert_eq!(conversation.table.calls, [most]);
    assert_eq!(conversation.ask("CL.THROTTLE k 4999 1 3600 0").split('|').nth(3), Some(":3976"));
}

#[test]
fn discard_charges_nothing() {
    let mut conversation = Conversation::new();
    check(
        &mut conversation,
        &[
            ("MULTI", "+OK|"),
            ("CL.THROTTLE k 9 1 3600", "+QUEUED|"),
            ("DISCARD", "+OK|"),
            ("EXEC", "-ERR EXEC without MULTI|"),
            ("DISCARD", "-ERR DISCARD without MULTI|"),
            ("MULTI", "+OK|"),
            ("CL.THROTTLE k 9 1 3600", "+QUEUED|"),
            ("RESET", "+RESET|"),
            ("EXEC", "-ERR EXEC without MULTI|"),
            (LOOK, FULL),
        ],
    );
}

#[test]
fn a_refused_command_aborts_exec_and_nothing_is_charged() {
    for (refused, said) in [
        ("NOSUCH a", "-ERR unknown command 'NOSUCH', with args beginning with: 'a' |"),
        ("ECHO", "-ERR wrong number of arguments for 'echo' command|"),
        ("CL.THROTTLE k 9 one 3600", "-Cell error: Store error: Couldn't parse as integer: one|"),
        ("CL.THROTTLE k 9 0 3600", "-Cell error: Store error: Zero rates are not supported|"),
        ("TOLLGATE.CHECK peek yes", "-ERR `peek` is 'yes'; use 1 to look without spending, or leave it out|"),
        ("TOLLGATE.CHECK ip home", "-ERR `ip` is 'home'|"),
    ] {
        let mut conversation = Conversation::new();
        check(
            &mut conversation,
            &[
                ("MULTI", "+OK|"),
                ("CL.THROTTLE k 9 1 3600", "+QUEUED|"),
                (refused, said),
                ("CL.THROTTLE k 9 1 3600", "+QUEUED|"),
                ("EXEC", ABORTED),
                ("EXEC", "-ERR EXEC without MULTI|"),
                (LOOK, FULL),
            ],
        );
    }
}

#[test]
fn transactions_answer_as_redis_does() {
    check(
        &mut Conversation::new(),
        &[
            ("MULTI", "+OK|"),
            ("EXEC", "*0|"),
            ("MULTI x", "-ERR wrong number of arguments for 'multi' command|"),
            ("MULTI", "+OK|"),
            ("MULTI", "-ERR MULTI calls can not be nested|"),
            ("WATCH k", "-ERR WATCH inside MULTI is not allowed|"),
            ("UNWATCH", "+QUEUED|"),
            ("ECHO a", "+QUEUED|"),
            ("SELECT 1", "+QUEUED|"),
            ("EXEC", "*3|+OK|$1|a|-ERR DB index is out of range|"),
            ("MULTI", "+OK|"),
            (
                "EXEC x",
                "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command|",
            ),
            ("EXEC", "-ERR EXEC without MULTI|"),
            ("MULTI", "+OK|"),
            ("DISCARD x", "-ERR wrong number of arguments for 'discard' command|"),
            ("EXEC", ABORTED),
            ("UNWATCH", "+OK|"),
            ("WATCH k", "-ERR WATCH is not supported: buckets are not keys, and EXEC runs without it|"),
            ("MULTI", "+OK|"),
            ("HELLO 3", "+QUEUED|"),
            ("CLIENT GETNAME", "+QUEUED|"),
        ],
    );
    let mut third = Conversation::new();
    third.ask("MULTI");
    third.ask("HELLO 3");
    third.ask("CLIENT GETNAME");
    let replies = third.ask("EXEC");
    assert!(replies.starts_with("*2|%7|") && replies.ends_with("|_|"), "{replies}");
    third.ask("MULTI");
    assert_eq!(third.ask("QUIT"), "+OK|");
    assert!(third.is_closed);
}

#[test]
fn a_transaction_may_be_typed_as_lines() {
    let mut conversation = Conversation::new();
    let replies = conversation.send(b"multi\r\nCL.THROTTLE \"a key\" 9 1 3600\r\nexec\r\n");
    assert_eq!(
        String::from_utf8_lossy(&replies),
        "+OK\r\n+QUEUED\r\n*1\r\n*5\r\n:0\r\n:10\r\n:9\r\n:-1\r\n:3600\r\n"
    );
}

#[test]
fn a_queue_beyond_its_maximum_is_refused_and_charges_nothing() {
    let limits = Limits { transaction_commands_max: 3, transaction_bytes_max: 1_000, ..Limits::default() };
    let full = "-ERR transaction is full: at most 3 commands and 1000 bytes; send EXEC earlier, or send the \
                commands without MULTI|";
    let mut conversation = Conversation::with_limits(limits);
    conversation.ask("MULTI");
    for _ in 0..3 {
        assert_eq!(conversation.ask("CL.THROTTLE k 9 1 3600"), "+QUEUED|");
    }
    check(&mut conversation, &[("CL.THROTTLE k 9 1 3600", full), ("EXEC", ABORTED), (LOOK, FULL)]);
    let long = format!("ECHO {}", "x".repeat(1_000));
    check(
        &mut conversation,
        &[
            ("MULTI", "+OK|"),
            ("CL.THROTTLE k 9 1 3600", "+QUEUED|"),
            (&long, full),
            ("EXEC", ABORTED),
            (LOOK, FULL),
        ],
    );
    assert_eq!(conversation.queued_bytes(), 0, "an ended transaction holds no memory");
}

#[test]
fn queued_bytes_are_known_and_freed() {
    let mut conversation = Conversation::new();
    conversation.ask("MULTI");
    assert_eq!(conversation.queued_bytes(), 0);
    conversation.ask(&format!("ECHO {}", "x".repeat(5_000)));
    assert!(conversation.queued_bytes() > 5_000);
    conversation.ask("NOSUCH");
    assert_eq!(conversation.queued_bytes(), 0, "an aborted transaction keeps no commands");
}

#[test]
fn no_transaction_begins_before_the_password() {
    let mut conversation = Conversation::with_password("sesame");
    for asked in ["MULTI", "EXEC", "DISCARD", "WATCH k", "UNWATCH"] {
        assert_eq!(conversation.ask(asked), "-NOAUTH Authentication required.|", "{asked}");
    }
}

/// A command of a generated history, and whether it is refused when it is sent.
fn any_command(rng: &mut Rng) -> (String, bool) {
    let key = rng.u8(b'a'..=b'c') as char;
    match rng.u32(0..12) {
        0 => ("NOSUCH".to_owned(), true),
        1 => (format!("CL.THROTTLE {key} 3 x 60"), true),
        2 => ("TOLLGATE.CHECK pth /".to_owned(), true),
        3 => ("PING".to_owned(), false),
        4..=6 => (format!("TOLLGATE.CHECK ip 192.0.2.{}", rng.u8(1..4)), false),
        _ => (format!("CL.THROTTLE {key} 3 1 60 {}", rng.u8(0..6)), false),
    }
}

/// The model sends the commands of a transaction one by one, when EXEC comes, to a connection of its own.
#[test]
fn exec_charges_as_single_commands_would_and_exactly_once() {
    let mut executed = 0;
    for_each_seed(0..600, |rng| {
        let (mut tested, mut model) = (Conversation::new(), Conversation::new());
        let mut queue: Option<(Vec<String>, bool)> = None;
        for _ in 0..rng.usize(0..60) {
            let (asked, expected) = match (rng.u32(0..10), &mut queue) {
                (0 | 1, None) => {
                    queue = Some((Vec::new(), false));
                    ("MULTI".to_owned(), "+OK|".to_owned())
                }
                (0, Some((queued, is_refused))) => {
                    let expected = if *is_refused {
                        ABORTED.to_owned()
                    } else {
                        executed += queued.len();
                        let replies: Vec<String> = queued.iter().map(|asked| model.ask(asked)).collect();
                        format!("*{}|{}", replies.len(), replies.concat())
                    };
                    queue = None;
                    ("EXEC".to_owned(), expected)
                }
                (1, Some(_)) => {
                    queue = None;
                    ("DISCARD".to_owned(), "+OK|".to_owned())
                }
                (2, _) => {
                    let millis = rng.u64(0..30_000);
                    tested.pass_millis(millis);
                    model.pass_millis(millis);
                    continue;
                }
                (_, None) => {
                    let (asked, _) = any_command(rng);
                    let expected = model.ask(&asked);
                    (asked, expected)
                }
                (_, Some((queued, was_refused))) => {
                    let (asked, is_refused) = any_command(rng);
                    *was_refused |= is_refused;
                    let expected = if is_refused { model.ask(&asked) } else { "+QUEUED|".to_owned() };
                    queued.push(asked.clone());
                    (asked, expected)
                }
            };
            assert_eq!(tested.ask(&asked), expected, "{asked}");
        }
    });
    assert!(executed > 500, "{executed} commands were executed");
}
