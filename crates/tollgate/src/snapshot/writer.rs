//! A snapshot as it is written: words and texts, in pieces, and at the end the sum of them.
//!
//! Takes no more memory than a piece. It does not know what the words mean.

use std::hash::Hasher;
use std::io::{self, Write};

use siphasher::sip::SipHasher13;

/// How much is written at a time.
pub(super) const PIECE_BYTES: usize = 64 * 1_024;

/// What is written, in pieces; and the sum of it so far. The first error is kept until the end.
pub(super) struct Writer<'s> {
    piece: Vec<u8>,
    sum: SipHasher13,
    sink: &'s mut dyn Write,
    written: io::Result<()>,
}

impl Writer<'_> {
    pub(super) fn begin<'s>(magic: &[u8], sink: &'s mut dyn Write) -> Writer<'s> {
        Writer { piece: magic.to_vec(), sum: SipHasher13::new(), sink, written: Ok(()) }
    }

    pub(super) fn words(&mut self, words: &[u64]) {
        self.piece.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        if self.piece.len() >= PIECE_BYTES {
            self.flush();
        }
    }

    pub(super) fn count(&mut self, count: usize) {
        self.words(&[count as u64]);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.piece.extend(text.as_bytes());
    }

    fn flush(&mut self) {
        self.sum.write(&self.piece);
        if self.written.is_ok() {
            self.written = self.sink.write_all(&self.piece);
        }
        self.piece.clear();
    }

    /// The checksum, and whether all was written.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.flush();
        let sum = self.sum.finish();
        self.words(&[sum]);
        self.flush();
        self.written
    }
}
