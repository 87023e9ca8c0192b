//! Whose turn it is: a connection that always has more to ask lets others go in between.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes read and written, after which others have their turn: a read's worth, or many small ones that come without a pause.
const TURN_BYTES: usize = 24 * 1_024;

/// What a connection has done since others had their turn.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// Read and written. Nobody else counts: it is atomic only to be shared with whoever answers.
    bytes: AtomicUsize,
}

impl Turn {
    /// Counts what was read or written.
    pub(crate) fn spend(&self, bytes: usize) {
        let spent = self.bytes.load(Ordering::Relaxed);
        self.bytes.store(spent.saturating_add(bytes), Ordering::Relaxed);
    }

    /// Lets others go, if it has done its part.
    pub(crate) async fn end_if_over(&self) {
        if self.bytes.load(Ordering::Relaxed) >= TURN_BYTES {
            self.bytes.store(0, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    }
}
