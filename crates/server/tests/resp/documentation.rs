//! The transcripts in docs/resp.md are what happens.

use crate::wire::Conversation;

const PAGE: &str = include_str!("../../../../docs/resp.md");

#[test]
fn the_transcripts_of_the_page_are_what_happens() {
    let blocks: Vec<&str> =
        PAGE.split("```resp\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 8);
    // As a reader types them: one after the other, on one server.
    let mut conversation = Conversation::new();
    for block in blocks {
        let mut reply = None;
        for line in block.lines() {
            if let Some(asked) = line.strip_prefix("> ") {
                reply = Some(conversation.ask(asked).replace('|', " "));
            } else if let Some(pause) = line.strip_prefix("# ") {
                conversation
                    .pass_millis(pause.strip_suffix(" ms later").and_then(|ms| ms.parse().ok()).unwrap_or(0));
            } else {
                assert_eq!(reply.as_deref().map(str::trim_end), Some(line));
            }
        }
    }
}

#[test]
fn the_maxima_of_the_page_are_the_defaults() {
    let limits = tollgate_server::resp::Limits::default();
    let kib = |bytes: usize| format!("{} KiB", bytes / 1_024);
    let rows = [
        (
            "arguments of a request",
            format!("1,024 ({} before the password)", limits.unauthenticated_args_max),
        ),
        (
            "bytes of an argument",
            format!(
                "{} ({} before the password)",
                kib(limits.bulk_bytes_max),
                kib(limits.unauthenticated_bulk_bytes_max)
            ),
        ),
        ("bytes of an inline command", kib(limits.inline_bytes_max)),
        ("bytes of a request", kib(limits.frame_bytes_max)),
        ("bytes of a key", limits.key_bytes_max.to_string()),
        ("commands between `MULTI` and `EXEC`", "1,024".to_owned()),
        ("bytes between `MULTI` and `EXEC`, with 16 for each argument", kib(limits.transaction_bytes_max)),
        ("wrong passwords in a row", limits.wrong_passwords_max.to_string()),
        (
            "replies waiting to be sent",
            format!("{}, and the reply to one `EXEC`", kib(limits.output_bytes_max)),
        ),
    ];
    assert_eq!(
        (limits.args_max, limits.batch_asks_max, limits.transaction_commands_max),
        (1_024, 1_024, 1_024)
    );
    for (what, maximum) in rows {
        assert!(PAGE.contains(&format!("| {what} | {maximum} |")), "{what}: {maximum}");
    }
}
