//! Where limits are played through: on a thread beside those that answer checks, one run at a time, and few answers that nobody has read.
//!
//! An answer may be long, and whoever asked for it may take it slowly. It keeps its place until its last byte was sent, so that however many ask, no
//! more than so many answers are held.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::workshop::{Workshop, busy};
use crate::http::{Problem, Reply, reply_text};

/// Answers that are in the making or on their way, of at most 3 MB each.
const ANSWERS_MAX: usize = 16;

/// A workshop, and places for its answers.
#[derive(Debug)]
pub(super) struct Playroom {
    workshop: Workshop,
    answers: Arc<Semaphore>,
}

/// JSON that keeps its place as long as there is somebody who has not sent all of it.
struct Placed {
    json: String,
    _place: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Placed {
    fn as_ref(&self) -> &[u8] {
        self.json.as_bytes()
    }
}

impl Default for Playroom {
    fn default() -> Playroom {
        Playroom { workshop: Workshop::default(), answers: Arc::new(Semaphore::new(ANSWERS_MAX)) }
    }
}

impl Playroom {
    /// Has something worked out, and answers with that. The turn ends with the work, though whoever asked may have gone.
    pub(super) async fn answer(
        &self,
        work: impl FnOnce() -> Result<String, Problem> + Send + 'static,
    ) -> Result<Reply, Problem> {
        let place = Arc::clone(&self.answers).try_acquire_owned().map_err(|_| busy())?;
        let turn = self.workshop.turn().await?;
        let span = tracing::Span::current();
        let work = move || {
            let json = span.in_scope(work);
            drop(turn);
            json
        };
        let done = tokio::task::spawn_blocking(work).await;
        let json =
            done.unwrap_or_else(|_| Err(Problem::unavailable("the work was broken off; try again")))?;
        Ok(reply_text("application/json", Bytes::from_owner(Placed { json, _place: place })))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn answers_keep_their_places_until_they_were_sent() {
        let room = Playroom::default();
        let answer = || room.answer(|| Ok("{}".to_owned()));
        let mut unread = Vec::new();
        for _ in 0..ANSWERS_MAX {
            unread.push(answer().await.unwrap());
        }
        let refused = answer().await.unwrap_err().reply();
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"]),
            (503, &"1".parse().unwrap())
        );
        let bytes = unread.pop().unwrap().into_body().collect().await.unwrap().to_bytes();
        assert!(answer().await.is_err(), "it was handed over, not sent");
        assert_eq!(bytes, "{}");
        drop(bytes);
        assert!(answer().await.is_ok());
    }

    #[tokio::test]
    async fn work_that_comes_to_a_bad_end_takes_nobodys_place() {
        let room = Playroom::default();
        for _ in 0..2 * ANSWERS_MAX {
            assert!(room.answer(|| Err(Problem::bad("no".to_owned()))).await.is_err());
            assert!(room.answer(|| panic!("broken")).await.is_err());
        }
        assert!(room.answer(|| Ok(String::new())).await.is_ok());
    }
}
