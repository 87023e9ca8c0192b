//! Reads a request's body: bounded in length and in time.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

use super::problem::Problem;

/// Longest body, in bytes.
pub(super) const BODY_BYTES_MAX: usize = 64 * 1_024;
/// Longest body of a batch, in bytes.
pub(super) const BATCH_BYTES_MAX: usize = 1_024 * 1_024;

/// All of the body. A body in one piece is not copied.
pub(super) async fn read(body: Incoming, bytes_max: usize, time_max: Duration) -> Result<Bytes, Problem> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > bytes_max {
        return Err(Problem::too_large(bytes_max));
    }
    match tokio::time::timeout(time_max, gather(body, bytes_max, time_max)).await {
        Ok(gathered) => gathered,
        Err(_) => Err(Problem::too_slow(time_max)),
    }
}

async fn gather(mut body: Incoming, bytes_max: usize, time_max: Duration) -> Result<Bytes, Problem> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            if is_timeout(&error) {
                Problem::too_slow(time_max)
            } else {
                Problem::bad(format!("the body cannot be read: {error}"))
            }
        })?;
        // Trailers say nothing to us.
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + all.len() + data.len() > bytes_max {
            return Err(Problem::too_large(bytes_max));
        }
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

/// Whether the connection itself was given up, which may happen a moment before the body is.
fn is_timeout(error: &hyper::Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
}
