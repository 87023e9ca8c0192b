//! Replays the corpus of the fuzz target `resp`, and random inputs beside it.

use std::fs;
use std::path::Path;

use tollgate_sim::seeds::{Rng, for_each_seed};

use crate::any_bytes::run;
use crate::wire::request;

#[test]
fn every_input_of_the_resp_corpus_gets_the_same_replies_however_it_is_cut() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/resp");
    let inputs: Vec<_> =
        fs::read_dir(corpus).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let replies: Vec<_> = inputs.iter().map(|input| run(&fs::read(input).unwrap_or_default())).collect();
    let closed = replies.iter().filter(|reply| reply.is_closed).count();
    // Were every input refused at once, or none, the corpus would test little.
    assert!(closed > 5 && closed < replies.len(), "{closed} of {} break the protocol", replies.len());
    let throttled = replies.iter().filter(|reply| reply.bytes.starts_with(b"*5\r\n:")).count();
    assert!(throttled > 3, "{throttled} ask for tokens first");
    let told = replies.iter().filter(|reply| contains(&reply.bytes, b"$8\r\nadmitted\r\n:")).count();
    assert!(told > 3, "{told} ask for the policy");
    let executed = replies.iter().filter(|reply| contains(&reply.bytes, b"+QUEUED\r\n*")).count();
    assert!(executed > 3, "{executed} execute a transaction");
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Pieces that make requests, and some that do not.
fn any_input(rng: &mut Rng) -> Vec<u8> {
    let words: [&[u8]; 36] = [
        b"CL.THROTTLE",
        b"PING",
        b"HELLO",
        b"3",
        b"AUTH",
        b"default",
        b"sesame",
        b"CLIENT",
        b"SETNAME",
        b"GETNAME",
        b"COMMAND",
        b"DOCS",
        b"INFO",
        b"k",
        b"0",
        b"1",
        b"60",
        b"-1",
        b"9223372036854775807",
        b"\r\n",
        b"",
        b"RESET",
        b"TOLLGATE.CHECK",
        b"ip",
        b"192.0.2.7",
        b"path",
        b"/a",
        b"header:x",
        b"peek",
        b"cost",
        b"\xff",
        b"MULTI",
        b"EXEC",
        b"DISCARD",
        b"WATCH",
        b"UNWATCH",
    ];
    let mut bytes = vec![rng.u8(..)];
    for _ in 0..rng.usize(0..12) {
        match rng.u32(0..11) {
            9 => bytes.extend(request(&[[b"MULTI".as_slice(), b"EXEC", b"DISCARD"][rng.usize(0..3)]])),
            10 => {
                bytes.extend(request(&[b"MULTI"]));
                bytes.extend(
                    request(&[b"CL.THROTTLE", b"k", b"2", b"1", b"60", b"1"]).repeat(rng.usize(0..6)),
                );
                bytes.extend(request(&[b"EXEC"]));
            }
            0 => bytes.extend_from_slice(words[rng.usize(0..words.len())]),
            1 => bytes.extend_from_slice(
                [b"\r\n".as_slice(), b"*", b"$", b"*2\r\n", b"$4\r\n", b"*-1\r\n"][rng.usize(0..6)],
            ),
            2 => bytes.push(rng.u8(..)),
            3 => {
                let line: Vec<&[u8]> =
                    (0..rng.usize(0..6)).map(|_| words[rng.usize(0..words.len())]).collect();
                bytes.extend(line.join([b" ".as_slice(), b"\"", b"'", b"\t"][rng.usize(0..4)]));
                bytes.extend_from_slice(b"\r\n");
            }
            4 => {
                bytes.extend(
                    request(&[b"CL.THROTTLE", b"k", b"2", b"1", b"60", b"1"]).repeat(rng.usize(0..9)),
                );
            }
            5 => {
                let fields: [&[u8]; 6] = [b"ip", b"PATH", b"header:x", b"Header:", b"peek", b"user"];
                let mut args: Vec<&[u8]> = vec![b"tollgate.check"];
                for _ in 0..rng.usize(0..20) {
                    args.push(fields[rng.usize(0..fields.len())]);
                    args.push(words[rng.usize(0..words.len())]);
                }
                args.truncate(args.len() - rng.usize(0..2));
                bytes.extend(request(&args));
            }
            _ => {
                let args: Vec<&[u8]> =
                    (0..rng.usize(0..7)).map(|_| words[rng.usize(0..words.len())]).collect();
                bytes.extend(request(&args));
            }
        }
    }
    bytes
}

#[test]
fn random_requests_get_the_same_replies_however_they_are_cut() {
    for_each_seed(0..3_000, |rng| {
        run(&any_input(rng));
    });
}

#[test]
fn random_bytes_get_the_same_replies_however_they_are_cut() {
    for_each_seed(0..1_000, |rng| {
        let length = rng.usize(0..300);
        run(&std::iter::repeat_with(|| rng.u8(..)).take(length).collect::<Vec<_>>());
    });
}
