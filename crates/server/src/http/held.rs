//! Answers of HTTP/2 that wait to be taken: the client says when they may be sent.
//!
//! Until its last byte was sent an answer takes room; a live one, its first piece. A connection on which one waits is given up when less is taken than the least rate, all
//! answers together: whatever else happens on it.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::sleep;

use super::body_room::Taken;
use super::reply_body::{CutOff, ReplyBody};
use crate::patient_stream::is_fast;

/// The answers of one connection that wait.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    /// How long less than the least rate may be taken.
    limit: Duration,
    held: Arc<Mutex<Numbers>>,
}

#[derive(Debug, Default)]
struct Numbers {
    /// Of those that wait, in the order in which they were made.
    waiting: BTreeSet<u64>,
    last: u64,
    /// Bytes that were taken of all.
    taken: u128,
}

/// An answer that waits; no longer when this is dropped.
#[derive(Debug)]
struct Held {
    number: u64,
    among: Arc<Mutex<Numbers>>,
    _taken: Taken,
}

/// A body that is held until it was sent.
#[derive(Debug)]
pub(super) struct HeldBody {
    body: ReplyBody,
    held: Option<Held>,
}

/// Bytes that are held until they were sent.
#[derive(Debug)]
pub(super) struct HeldBytes {
    bytes: Bytes,
    held: Option<Held>,
}

impl Waiting {
    pub(super) fn new(limit: Duration) -> Waiting {
        Waiting { limit, held: Arc::default() }
    }

    /// A body that waits from now on.
    pub(super) fn hold(&self, body: ReplyBody, taken: Taken) -> HeldBody {
        let mut numbers = lock(&self.held);
        numbers.last += 1;
        let number = numbers.last;
        numbers.waiting.insert(number);
        HeldBody { body, held: Some(Held { number, among: Arc::clone(&self.held), _taken: taken }) }
    }

    /// Whether any waits.
    pub(super) fn is_any(&self) -> bool {
        !lock(&self.held).waiting.is_empty()
    }

    /// Until answers have waited for too long.
    pub(super) async fn spent(&self) {
        loop {
            let (last, before) = {
                let numbers = lock(&self.held);
                (numbers.last, numbers.taken)
            };
            sleep(self.limit).await;
            let numbers = lock(&self.held);
            // One that was there already has waited all the time.
            let has_waited = numbers.waiting.first().is_some_and(|oldest| *oldest <= last);
            if has_waited && !is_fast(numbers.taken - before, self.limit) {
                return;
            }
        }
    }
}

fn lock(numbers: &Mutex<Numbers>) -> MutexGuard<'_, Numbers> {
    numbers.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Held {
    fn drop(&mut self) {
        lock(&self.among).waiting.remove(&self.number);
    }
}

impl HeldBody {
    /// From now on each piece that is taken of a live body sets `progress`.
    pub(super) fn tell(&mut self, progress: &Arc<AtomicBool>) {
        self.body.tell(progress);
    }
}

impl Body for HeldBody {
    type Data = HeldBytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<HeldBytes>, CutOff>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let held = self.held.take();
        let frame = frame.map(|frame| frame.map(|frame| frame.map_data(|bytes| HeldBytes { bytes, held })));
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Buf for HeldBytes {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        if let Some(held) = &self.held {
            lock(&held.among).taken += count as u128;
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::super::body_room::{BodyRoom, NoRoom};
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn holds_room(room: &BodyRoom) -> bool {
        room.nothing().add(1) == Err(NoRoom)
    }

    async fn bytes_of(body: &mut HeldBody) -> HeldBytes {
        body.frame().await.unwrap().unwrap().into_data().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_takes_room_until_its_bytes_are_gone() {
        let (room, waiting) = (BodyRoom::new(100), Waiting::new(SECOND));
        let mut taken = room.nothing();
        taken.add(100).unwrap();
        let mut body = waiting.hold(ReplyBody::from(Bytes::from_static(b"answer")), taken);
        assert!(holds_room(&room));
        let mut bytes = bytes_of(&mut body).await;
        drop(body);
        assert!(holds_room(&room), "they were handed over, not sent");
        bytes.advance(6);
        drop(bytes);
        assert!(!holds_room(&room) && !waiting.is_any());
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_client_that_takes_too_little_while_an_answer_waits_is_given_up() {
        let (room, waiting) = (BodyRoom::new(100), Waiting::new(SECOND));
        let is_spent = async |within: Duration| tokio::time::timeout(within, waiting.spent()).await.is_ok();
        let answer =
            |bytes: usize| waiting.hold(ReplyBody::from(Bytes::from(vec![0; bytes])), room.nothing());
        assert!(!is_spent(100 * SECOND).await, "nothing waits");
        drop(answer(5));
        assert!(!is_spent(100 * SECOND).await, "it was taken");

        // Many long ones, of which one is taken at a time, fast enough: the others wait for their turn.
        let waits = answer(1_000_000);
        let mut taken = bytes_of(&mut answer(1_000_000)).await;
        let taking = async {
            for _ in 0..40 {
                sleep(SECOND / 4).await;
                taken.advance(9_000);
            }
        };
        tokio::select! {
            () = waiting.spent() => panic!("it is fast enough"),
            () = taking => {}
        }
        // And too slowly.
        let taking = async {
            loop {
                sleep(SECOND / 4).await;
                taken.advance(3_000);
            }
        };
        tokio::select! {
            () = waiting.spent() => {}
            () = taking => {}
        }
        drop(waits);
    }
}
