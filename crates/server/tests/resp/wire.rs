//! Requests as clients write them, and conversations.

use std::sync::Arc;

use tollgate_core::Span;
use tollgate_server::resp::{Limits, Next, Password, Session, Settings};

use crate::engine::Table;

/// A request as client libraries send it.
pub(crate) fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// A request from words parted by single spaces.
pub(crate) fn command(words: &str) -> Vec<u8> {
    request(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>())
}

/// A client, the door and an engine behind it.
pub(crate) struct Conversation {
    session: Session,
    pub(crate) table: Table,
    /// Sent and not yet consumed.
    waiting: Vec<u8>,
    pub(crate) is_closed: bool,
}

impl Conversation {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with_password(password: &str) -> Self {
        Self::with(Settings { password: Some(Password::new(password)), ..Settings::default() })
    }

    pub(crate) fn with_limits(limits: Limits) -> Self {
        Self::with(Settings { limits, ..Settings::default() })
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let session = Session::new(Arc::new(settings), 7);
        Conversation { session, table: Table::new(), waiting: Vec::new(), is_closed: false }
    }

    /// Lets time pass for the engine.
    pub(crate) fn pass_millis(&mut self, millis: u64) {
        self.table.now = self.table.now + Span::from_millis(millis);
    }

    /// Sends bytes; the replies to whatever they complete.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut replies = Vec::new();
        self.waiting.extend_from_slice(bytes);
        loop {
            let mut output = Vec::new();
            let progress =
                crate::engine::feed(&mut self.session, &self.waiting, &mut self.table, &mut output);
            self.waiting.drain(..progress.consumed);
            replies.append(&mut output);
            match progress.next {
                Next::Write | Next::Authenticated | Next::WrongPassword => {}
                Next::Read => return replies,
                Next::Close => {
                    self.is_closed = true;
                    return replies;
                }
            }
        }
    }

    /// Sends a command; its reply, with `|` for every line end.
    pub(crate) fn ask(&mut self, words: &str) -> String {
        let reply = self.send(&command(words));
        String::from_utf8_lossy(&reply).replace("\r\n", "|")
    }

    /// Bytes that commands between MULTI and EXEC hold.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.session.queued_bytes()
    }

    /// Bytes that were sent and make no complete request.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

/// Asserts every reply of a conversation, in order; `|` stands for a line end.
pub(crate) fn check(conversation: &mut Conversation, transcript: &[(&str, &str)]) {
    for (asked, expected) in transcript {
        assert_eq!(conversation.ask(asked), *expected, "{asked}");
    }
}
