//! Any bytes, as what a client sends: the body of the fuzz target `resp` and of the replay of its corpus.
//!
//! However they are cut into reads, the replies are the same; nothing panics, and nothing grows beyond its maximum.

use std::sync::Arc;

use tollgate_server::resp::{Limits, Next, Password, Session, Settings};

use crate::engine::Table;

/// Longest reply to one request that is not an echo of it, in bytes: `COMMAND`.
const REPLY_BYTES_MAX: usize = 4_000;

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
        ..Limits::default()
    }
}

/// Sends the bytes in pieces, each as long as `piece` says for its place.
fn converse(settings: &Arc<Settings>, sent: &[u8], piece: impl Fn(usize) -> usize) -> Replies {
    let limits = settings.limits;
    let (mut session, mut table) = (Session::new(Arc::clone(settings), 7), Table::new());
    let (mut replies, mut start, mut end) = (Vec::new(), 0, 0);
    let longest_reply = REPLY_BYTES_MAX + limits.frame_bytes_max;
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
            replies.append(&mut output);
            match progress.next {
                Next::Write => assert!(progress.consumed > 0, "an empty output has room"),
                Next::Read => break,
                Next::Close => return Replies { bytes: replies, is_closed: true },
            }
        }
        let longest = limits.frame_bytes_max.max(limits.inline_bytes_max);
        assert!(end - start <= longest, "{} bytes wait", end - start);
    }
    Replies { bytes: replies, is_closed: false }
}
