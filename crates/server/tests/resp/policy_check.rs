//! `TOLLGATE.CHECK` without a socket: fields and values in, a map out. What a policy decides is tested where there is one.

use crate::wire::{Conversation, check, command, request};

const ADMITTED: &str = "$8|admitted|:1|$6|status|:200|$5|limit|:3|$9|remaining|:2|$14|retry_after_ms|NULL\
    $14|reset_after_ms|:20000|$8|delay_ms|:0|$6|reason|NULL$4|rule|$6|client|$4|mode|$5|exact|";

#[test]
fn the_answer_is_a_map_or_its_names_and_values_in_turn() {
    let mut conversation = Conversation::new();
    let second = format!("*20|{}", ADMITTED.replace("NULL", "$-1|"));
    assert_eq!(conversation.ask("TOLLGATE.CHECK ip 192.0.2.7"), second);
    conversation.ask("HELLO 3");
    let third = format!("%10|{}", ADMITTED.replace("NULL", "_|"));
    assert_eq!(conversation.ask("tollgate.check IP 192.0.2.8"), third);
}

#[test]
fn a_denial_has_a_reason_and_an_exact_wait() {
    let mut conversation = Conversation::new();
    let flood = command("TOLLGATE.CHECK ip 192.0.2.7").repeat(3);
    conversation.send(&flood);
    conversation.pass_millis(1_500);
    let denied = "*20|$8|admitted|:0|$6|status|:429|$5|limit|:3|$9|remaining|:0|$14|retry_after_ms|:18500|\
        $14|reset_after_ms|:58500|$8|delay_ms|:0|$6|reason|$21|token_bucket_exceeded|$4|rule|$6|client|$4|mode|$5|exact|";
    check(
        &mut conversation,
        &[("TOLLGATE.CHECK ip 192.0.2.7 peek 1", denied), ("TOLLGATE.CHECK ip 192.0.2.7 peek 0", denied)],
    );
}

#[test]
fn it_keeps_its_place_among_other_requests() {
    let mut conversation = Conversation::new();
    let sent = ["CL.THROTTLE k 9 1 1", "TOLLGATE.CHECK path /", "CL.THROTTLE k 9 1 1", "PING"].map(command);
    let replies = String::from_utf8_lossy(&conversation.send(&sent.concat())).replace("\r\n", "|");
    let found =
        ["*5|:0|:10|:9|", "*20|$8|admitted|:1|", "*5|:0|:10|:8|", "+PONG|"].map(|part| replies.find(part));
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{replies}");
    assert_eq!(conversation.table.calls, [1, 1], "what was asked before it is decided before it");
}

#[test]
fn what_is_wrong_is_named_with_the_cure() {
    let mut conversation = Conversation::new();
    check(
        &mut conversation,
        &[
            ("TOLLGATE.CHECK", "-ERR wrong number of arguments for 'tollgate.check' command|"),
            (
                "TOLLGATE.CHECK path",
                "-ERR `path` has no value; give fields and values in turn, as in path /api|",
            ),
            (
                "TOLLGATE.CHECK pth /api",
                "-ERR `pth` is no field; use method, path, host, ip, user, plan, cost, header:<name>, peek or idempotency_key|",
            ),
            (
                "TOLLGATE.CHECK rate 5",
                "-ERR `rate` is of a bucket whose limit comes with the call; use CL.THROTTLE for it|",
            ),
            ("TOLLGATE.CHECK ip 192.0.2.7 IP 192.0.2.7", "-ERR `IP` is given twice; give it once|"),
            ("TOLLGATE.CHECK cost much", "-ERR `cost` is 'much'; use a number of tokens, as in 5 or 0.5|"),
            (
                "TOLLGATE.CHECK peek yes",
                "-ERR `peek` is 'yes'; use 1 to look without spending, or leave it out|",
            ),
            (
                "TOLLGATE.CHECK header: x",
                "-ERR `header:` has no name; write it behind, as in header:x-api-key|",
            ),
        ],
    );
    let reply = conversation.send(&request(&[b"TOLLGATE.CHECK", b"path", b"/\xff"]));
    assert_eq!(reply, b"-ERR `path` is not text in UTF-8; escape other bytes, as in %FF\r\n");
    let long = request(&[b"TOLLGATE.CHECK", &vec![b'f'; 9_000], b"x"]);
    assert!(conversation.send(&long).len() < 300, "an error repeats little");
    assert_eq!(conversation.ask("PING"), "+PONG|", "and the connection lives on");
}

#[test]
fn a_request_has_as_many_header_fields_as_over_http_and_no_more() {
    let with = |headers: usize| {
        let mut words = vec!["TOLLGATE.CHECK", "path", "/"];
        (0..headers).for_each(|_| words.extend(["header:accept", "x"]));
        words.join(" ")
    };
    let mut conversation = Conversation::new();
    assert!(conversation.ask(&with(128)).starts_with("*20|$8|admitted|:1|"));
    let inline = format!("{}\r\n", with(128));
    assert!(conversation.send(inline.as_bytes()).starts_with(b"*20\r\n$8\r\nadmitted\r\n:1\r\n"));
    let refused = "-ERR `header:` stands more than 128 times; send those that the policy looks at|";
    assert_eq!(conversation.ask(&with(129)), refused);
    let line = format!("{}\r\n", "TOLLGATE.CHECK ".repeat(1_100));
    assert_eq!(
        String::from_utf8_lossy(&conversation.send(line.as_bytes())),
        "-ERR too many fields; send those that the policy looks at\r\n"
    );
}

#[test]
fn nobody_asks_before_the_password() {
    let mut conversation = Conversation::with_password("sesame");
    assert_eq!(conversation.ask("TOLLGATE.CHECK ip 192.0.2.7"), "-NOAUTH Authentication required.|");
    conversation.ask("AUTH sesame");
    assert!(conversation.ask("TOLLGATE.CHECK ip 192.0.2.7").starts_with("*20|$8|admitted|:1|"));
}
