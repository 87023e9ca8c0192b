//! A run of `CL.THROTTLE` requests that the engine answers in one call.

use super::cell::{ANSWER_BYTES_MAX, Pending, write};
use super::reply::error;
use super::throttle::{Answer, Ask, Throttle};

/// The shortest request that becomes an ask, in bytes: what a read can hold of them at most.
const ASK_BYTES_MIN: usize = 50;

/// Asks whose replies have yet to be written, in order.
#[derive(Debug)]
pub(super) struct Batch<'b> {
    asks: Vec<Ask<'b>>,
    pending: Vec<Pending>,
    answers: Vec<Answer>,
    asks_max: usize,
    /// Asks to make room for, once there is one.
    room: usize,
}

impl<'b> Batch<'b> {
    /// For a read of so many bytes. Nothing is allocated before the first ask.
    pub(super) fn for_read(input_bytes: usize, asks_max: usize) -> Self {
        let asks_max = asks_max.max(1);
        let room = (input_bytes / ASK_BYTES_MIN + 1).min(asks_max);
        Batch { asks: Vec::new(), pending: Vec::new(), answers: Vec::new(), asks_max, room }
    }

    /// Adds an ask, and says whether the batch is now to be flushed.
    #[inline]
    pub(super) fn push(&mut self, ask: Ask<'b>, pending: Pending) -> bool {
        if self.asks.capacity() == 0 {
            self.asks.reserve_exact(self.room);
            self.pending.reserve_exact(self.room);
            self.answers.reserve_exact(self.room);
        }
        self.asks.push(ask);
        self.pending.push(pending);
        self.asks.len() >= self.asks_max
    }

    /// The longest that the replies can be, in bytes.
    #[inline]
    pub(super) fn reply_bytes_max(&self) -> usize {
        self.asks.len() * ANSWER_BYTES_MAX
    }

    /// Asks the engine, if there is anything to ask, and appends the replies.
    #[inline]
    pub(super) async fn flush(&mut self, engine: &mut impl Throttle, output: &mut Vec<u8>) {
        if self.asks.is_empty() {
            return;
        }
        self.answers.clear();
        engine.throttle(&self.asks, &mut self.answers).await;
        for (index, (ask, pending)) in self.asks.iter().zip(&self.pending).enumerate() {
            match self.answers.get(index) {
                Some(answer) => write(ask, *pending, *answer, output),
                // One reply each, whatever happens, or every later one would be taken for another's.
                None => error(output, &[b"ERR the store gave no answer"]),
            }
        }
        self.asks.clear();
        self.pending.clear();
    }
}
