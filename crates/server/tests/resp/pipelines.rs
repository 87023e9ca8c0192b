//! Thousands of requests in one read.

use tollgate_server::resp::{Answer, Ask, Described, Limits, Session, Settings, Throttle, Told};

use crate::wire::{Conversation, command};

#[test]
fn a_pipeline_of_thousands_is_answered_in_order_and_in_few_calls() {
    let pipeline: Vec<u8> =
        (0..5_000).flat_map(|index| command(&format!("CL.THROTTLE key{index} {index} 1 1"))).collect();
    let mut conversation = Conversation::new();
    let replies = conversation.send(&pipeline);
    let expected: Vec<_> = (0..5_000).map(|index| format!("*5|:0|:{}|:{index}|:-1|:1|", index + 1)).collect();
    assert_eq!(String::from_utf8_lossy(&replies).replace("\r\n", "|"), expected.concat());
    assert_eq!(conversation.table.calls, [1_024, 1_024, 1_024, 1_024, 904]);
}

#[test]
fn one_key_many_times_in_one_batch_is_charged_one_after_the_other() {
    let mut conversation = Conversation::new();
    let replies = conversation.send(&command("CL.THROTTLE k 9 1 3600").repeat(15));
    let verdicts: Vec<&[u8]> =
        replies.split(|byte| *byte == b'*').skip(1).map(|reply| &reply[3..5]).collect();
    assert_eq!(verdicts, [[b":0".as_slice(); 10].as_slice(), &[b":1".as_slice(); 5]].concat());
    assert_eq!(conversation.table.calls, [15]);
}

#[test]
fn other_commands_and_errors_part_batches_and_keep_their_place() {
    let mut conversation = Conversation::new();
    let throttle = command("CL.THROTTLE k 9 1 1");
    let (ping, wrong) = (command("PING"), command("CL.THROTTLE k"));
    let pipeline = [&throttle, &throttle, &ping, &throttle, &wrong, &throttle].map(Vec::as_slice);
    let replies = conversation.send(&pipeline.concat());
    let first: Vec<u8> =
        replies.split(|byte| *byte == b'\n').map(|line| line.first().copied().unwrap_or(b'.')).collect();
    assert_eq!(first, b"*:::::*:::::+*:::::-*:::::.");
    assert_eq!(conversation.table.calls, [2, 1, 1]);
}

#[test]
fn the_size_of_a_batch_is_a_setting() {
    let mut conversation = Conversation::with_limits(Limits { batch_asks_max: 4, ..Limits::default() });
    conversation.send(&command("CL.THROTTLE k 9 1 1").repeat(10));
    assert_eq!(conversation.table.calls, [4, 4, 2]);
    let mut conversation = Conversation::with_limits(Limits { batch_asks_max: 0, ..Limits::default() });
    conversation.send(&command("CL.THROTTLE k 9 1 1").repeat(2));
    assert_eq!(conversation.table.calls, [1, 1], "0 is taken as 1");
}

/// An engine that forgets to answer.
struct Silent;

impl Throttle for Silent {
    async fn throttle(&mut self, _: &[Ask<'_>], _: &mut Vec<Answer>) {}

    async fn check(&mut self, _: &Described<'_>) -> Result<Told, String> {
        Err("the store gave no answer".to_owned())
    }
}

#[test]
fn every_request_has_a_reply_even_if_the_engine_gives_none() {
    let mut output = Vec::new();
    let mut session = Session::new(Settings::default().into(), 1);
    let input = [command("CL.THROTTLE k 9 1 1"), command("PING")].concat();
    assert_eq!(crate::engine::feed(&mut session, &input, &mut Silent, &mut output).consumed, input.len());
    assert_eq!(output, b"-ERR the store gave no answer\r\n+PONG\r\n");
}
