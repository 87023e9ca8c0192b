//! Any bytes, as what a client sends: the body of the fuzz target `resp` and of the replay of its corpus.
//!
//! However they are cut into reads, the replies are the same; nothing panics, and nothing grows beyond its maximum.

use std::sync::Arc;

use tollgate_server::resp::{Limits, Next, Password, Session, Settings};

use crate::engine::Table;

/// Longest reply to one request that is not an echo of it, in bytes: `COMMAND`.
const REPLY_BYTES_MAX: usize = 5_000;

/// What became of the bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Replies {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_closed: bool,
}

/// The first byte chooses settings and how the others are cut.
///
/// # Panics
/// If anything in that panics, cuts change the replies or a maximum is passed; that is what it is for.
pub(crate) fn run(bytes: &[u8]) -> Replies {
    let (choice, sent) = bytes.split_first().map_or((0, bytes), |(choice, sent)| (*choice, sent));
    let settings = Arc::new(Settings {
        limits: if choice & 1 == 0 { Limits::default() } else { tight() },
        password: (choice & 2 != 0).then(|| Password::new("sesame")),
    });
    let whole = converse(&settings, sent, |_| usize::MAX);
    let single = converse(&settings, sent, |_| 1);
    let stride = usize::from(choice >> 2) + 2;
    let pieces = converse(&settings, sent, |at| at % stride + 1);
    assert_eq!(whole, single, "byte by byte");
    assert_eq!(whole, pieces, "in pieces of up to {stride}");
    whole
}

/// Limits that short inputs meet.
fn tight() -> Limits {
    Limits {
        args_max: 24,
        bulk_bytes_max: 40,
        inline_bytes_max: 60,
        frame_bytes_max: 200,
        output_bytes_max: 300,
        batch_asks_max: 3,
        key_bytes_max: 8,
        transaction_commands_max: 4,
        transaction_bytes_max: 600,
        ..Limits::default()
    }
}

/// Sends the bytes in pieces, each as long as `piece` says for its place.
fn converse(settings: &Arc<Settings>, sent: &[u8], piece: impl Fn(usize) -> usize) -> Replies {
    let limits = settings.limits;
    let (mut session, mut table) = (Session::new(Arc::clone(settings), 7), Table::new());
    let (mut replies, mut start, mut end) = (Vec::new(), 0, 0);
    // EXEC answers with the replies to all queued commands.
    let longest_reply = REPLY_BYTES_MAX * limits.transaction_commands_max
        + limits.frame_bytes_max.max(limits.transaction_bytes_max);
    while end < sent.len() {
        end = end.saturating_add(piece(end)).min(sent.len());
        loop {
            let mut output = Vec::new();
            let progress = crate::engine::feed(&mut session, &sent[start..end], &mut table, &mut output);
            assert!(
                output.len() <= limits.output_bytes_max + longest_reply,
                "{} bytes of replies",
                output.len()
            );
            start += progress.consumed;
            assert!(start <= end);
            let queued = session.queued_bytes();
            assert!(queued <= 4 * limits.transaction_bytes_max + 1_024, "{queued} bytes are queued");
            replies.append(&mut output);
            match progress.next {
                Next::Write | Next::Authenticated | Next::WrongPassword => {
                    assert!(progress.consumed > 0, "an empty output has room");
                }
                Next::Read => break,
                Next::Close => return Replies { bytes: replies, is_closed: true }.checked(&table),
            }
        }
        let longest = limits.frame_bytes_max.max(limits.inline_bytes_max);
        assert!(end - start <= longest, "{} bytes wait", end - start);
    }
    Replies { bytes: replies, is_closed: false }.checked(&table)
}

impl Replies {
    /// Asserts that the client was told of every decision of the engine, and of no other.
    fn checked(self, table: &Table) -> Replies {
        let (mut rest, mut verdicts) = (self.bytes.as_slice(), 0);
        while !rest.is_empty() {
            rest = skip_reply(rest, &mut verdicts);
        }
        let decisions = table.calls.iter().sum::<usize>() + table.checks;
        assert_eq!(verdicts, decisions, "verdicts in the replies, decisions of the engine");
        self
    }
}

/// Skips one reply and counts the verdicts in it.
///
/// No other array begins with 0 or 1, or with `admitted` and 0 or 1: integers of other replies are 7 (`CLIENT ID`), 2 or 3 inside of `HELLO`,
/// and the number of commands.
fn skip_reply<'r>(reply: &'r [u8], verdicts: &mut usize) -> &'r [u8] {
    let verdict_heads: [&[u8]; 6] = [
        b"*5\r\n:0\r\n",
        b"*5\r\n:1\r\n",
        b"*20\r\n$8\r\nadmitted\r\n:0\r\n",
        b"*20\r\n$8\r\nadmitted\r\n:1\r\n",
        b"%10\r\n$8\r\nadmitted\r\n:0\r\n",
        b"%10\r\n$8\r\nadmitted\r\n:1\r\n",
    ];
    *verdicts += usize::from(verdict_heads.iter().any(|head| reply.starts_with(head)));
    let end = reply.windows(2).position(|pair| pair == b"\r\n").expect("a reply has a line end");
    let (head, mut rest) = (&reply[1..end], &reply[end + 2..]);
    let number = || str::from_utf8(head).ok().and_then(|text| text.parse::<i64>().ok()).expect("a number");
    match reply[0] {
        b'*' | b'~' => (0..number()).for_each(|_| rest = skip_reply(rest, verdicts)),
        b'%' => (0..2 * number()).for_each(|_| rest = skip_reply(rest, verdicts)),
        b'$' | b'=' if number() >= 0 => rest = &rest[usize::try_from(number()).unwrap_or(0) + 2..],
        b'$' | b'+' | b'-' | b':' | b'_' => {}
        other => panic!("{other} begins no reply"),
    }
    rest
}
