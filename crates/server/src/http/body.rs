//! Reads a request's body: bounded in length and in time, and all bodies together in room.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

use super::body_room::{BodyRoom, NoRoom, Taken};
use super::problem::Problem;
use crate::door::Door;
use crate::gatehouse::Gatehouse;

/// Longest body, in bytes.
pub(super) const BODY_BYTES_MAX: usize = 64 * 1_024;
/// Longest body of a batch, in bytes.
pub(super) const BATCH_BYTES_MAX: usize = 1_024 * 1_024;

/// A body, and the room that it takes.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) bytes: Bytes,
    _taken: Taken,
}

/// All of the body, which came to this door. A body in one piece is not copied.
pub(crate) async fn read(
    body: Incoming,
    bytes_max: usize,
    gatehouse: &Gatehouse,
    door: Door,
) -> Result<Whole, Problem> {
    let time_max = gatehouse.idle_timeout;
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > bytes_max {
        return Err(Problem::too_large(bytes_max));
    }
    let mut gathering = pin!(gather(body, bytes_max, time_max, &gatehouse.body_room));
    // Most bodies are there already, and need no timer.
    let gathered = match poll_fn(|context| Poll::Ready(gathering.as_mut().poll(context))).await {
        Poll::Ready(gathered) => Ok(gathered),
        Poll::Pending => tokio::time::timeout(time_max, gathering).await,
    };
    match gathered {
        Ok(Err(Unread::NoRoom)) => {
            gatehouse.engine.metrics.note_request_shed(door);
            Err(Problem::no_room())
        }
        Ok(Err(Unread::Problem(problem))) => Err(problem),
        Ok(Ok(whole)) => Ok(whole),
        Err(_) => Err(Problem::too_slow(time_max)),
    }
}

enum Unread {
    Problem(Problem),
    NoRoom,
}

async fn gather(
    mut body: Incoming,
    bytes_max: usize,
    time_max: Duration,
    room: &BodyRoom,
) -> Result<Whole, Unread> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    let mut taken = room.nothing();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Unread::Problem(if is_timeout(&error) {
                Problem::too_slow(time_max)
            } else {
                Problem::bad(format!("the body cannot be read: {error}"))
            })
        })?;
        // Trailers say nothing to us.
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + all.len() + data.len() > bytes_max {
            return Err(Unread::Problem(Problem::too_large(bytes_max)));
        }
        if !body.is_end_stream() {
            // The rest is waited for.
            taken.add(data.len()).map_err(|NoRoom| Unread::NoRoom)?;
        }
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    let bytes = if all.is_empty() { first } else { all.freeze() };
    Ok(Whole { bytes, _taken: taken })
}

/// Whether the connection itself was given up, which may happen a moment before the body is.
pub(super) fn is_timeout(error: &hyper::Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
}
