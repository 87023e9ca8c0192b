//! Answers of HTTP/2 that wait to be taken: the client says when they may be sent.
//!
//! Until the last byte was sent an answer takes room, and it has a deadline: that of a client which takes it at the least rate. A
//! connection with an answer that is past it is given up, whatever else happens on it.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, sleep, sleep_until};

use super::body_room::Taken;
use crate::patient_stream::TAKEN_BYTES_PER_SECOND_MIN;

/// The answers of one connection that wait.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    /// What a client has for any answer, on top of the time that its bytes take.
    limit: Duration,
    held: Arc<Mutex<Deadlines>>,
}

#[derive(Debug, Default)]
struct Deadlines {
    /// With a number each, as two may be the same.
    of_each: BTreeSet<(Instant, u64)>,
    count: u64,
}

/// An answer that waits; no longer when this is dropped.
#[derive(Debug)]
struct Held {
    at: (Instant, u64),
    among: Arc<Mutex<Deadlines>>,
    _taken: Taken,
}

/// A body that is held until it was sent.
#[derive(Debug)]
pub(super) struct HeldBody {
    body: Full<Bytes>,
    held: Option<Held>,
}

/// Bytes that are held until they were sent.
#[derive(Debug)]
pub(super) struct HeldBytes {
    bytes: Bytes,
    _held: Option<Held>,
}

impl Waiting {
    pub(super) fn new(limit: Duration) -> Waiting {
        Waiting { limit, held: Arc::default() }
    }

    /// A body that waits from now on.
    pub(super) fn hold(&self, body: Full<Bytes>, taken: Taken) -> HeldBody {
        let seconds = body.size_hint().lower() / TAKEN_BYTES_PER_SECOND_MIN;
        let deadline = sleep(self.limit + Duration::from_secs(seconds)).deadline();
        let mut deadlines = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        deadlines.count += 1;
        let at = (deadline, deadlines.count);
        deadlines.of_each.insert(at);
        HeldBody { body, held: Some(Held { at, among: Arc::clone(&self.held), _taken: taken }) }
    }

    /// Until an answer is past its deadline.
    pub(super) async fn spent(&self) {
        loop {
            let Some(deadline) = self.earliest() else {
                // One that comes meanwhile is not due before that.
                sleep(self.limit).await;
                continue;
            };
            sleep_until(deadline).await;
            if self.earliest() == Some(deadline) {
                return;
            }
        }
    }

    fn earliest(&self) -> Option<Instant> {
        let deadlines = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        deadlines.of_each.first().map(|(deadline, _)| *deadline)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.among.lock().unwrap_or_else(PoisonError::into_inner).of_each.remove(&self.at);
    }
}

impl Body for HeldBody {
    type Data = HeldBytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<HeldBytes>, Infallible>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let held = self.held.take();
        let frame =
            frame.map(|frame| frame.map(|frame| frame.map_data(|bytes| HeldBytes { bytes, _held: held })));
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

    #[tokio::test(start_paused = true)]
    async fn an_answer_takes_room_until_its_bytes_are_gone() {
        let (room, waiting) = (BodyRoom::new(100), Waiting::new(SECOND));
        let mut taken = room.nothing();
        taken.add(100).unwrap();
        let mut body = waiting.hold(Full::new(Bytes::from_static(b"answer")), taken);
        assert!(holds_room(&room));
        let mut bytes = body.frame().await.unwrap().unwrap().into_data().unwrap();
        drop(body);
        assert!(holds_room(&room), "they were handed over, not sent");
        bytes.advance(6);
        drop(bytes);
        assert!(!holds_room(&room) && waiting.earliest().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn only_an_answer_that_is_not_taken_in_time_is_past_its_deadline() {
        let (room, waiting) = (BodyRoom::new(100), Waiting::new(SECOND));
        let is_spent = async |within: Duration| tokio::time::timeout(within, waiting.spent()).await.is_ok();
        assert!(!is_spent(100 * SECOND).await, "nothing waits");
        let taken = waiting.hold(Full::new(Bytes::from_static(b"taken")), room.nothing());
        assert!(!is_spent(SECOND * 9 / 10).await);
        let late = waiting.hold(Full::new(Bytes::from(vec![0; 32 * 1_024])), room.nothing());
        drop(taken);
        assert!(!is_spent(SECOND * 29 / 10).await, "it has a second, and two for its bytes");
        assert!(is_spent(SECOND * 2 / 10).await);
        drop(late);
        assert!(!is_spent(100 * SECOND).await);
    }
}
