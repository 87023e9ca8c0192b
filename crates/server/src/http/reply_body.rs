//! The body of a reply: whole, or live, which is written piece by piece while there is something to say.
//!
//! A live body keeps its connection: that a piece was taken is progress. It is asked for the next piece when the ones before are on
//! their way, so what a client does not take waits with whoever makes the pieces, who bounds it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt};
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};

/// Pieces of a live body, until there are no more, or it is cut off.
type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, CutOff>> + Send>>;

/// A live body ends before its end; whoever reads it notices.
#[derive(Debug)]
pub(crate) struct CutOff;

/// A body.
pub(crate) enum ReplyBody {
    /// All there is.
    Whole(Full<Bytes>),
    /// What there is by now; and who is told that the client takes it.
    Live(Pieces, Option<Arc<AtomicBool>>),
}

impl ReplyBody {
    /// A body of these pieces.
    pub(crate) fn live(pieces: impl Stream<Item = Bytes> + Send + 'static) -> ReplyBody {
        ReplyBody::Live(Box::pin(pieces.map(Ok)), None)
    }

    /// The same of pieces that may come to a bad end.
    pub(crate) fn pieces(pieces: impl Stream<Item = Result<Bytes, ()>> + Send + 'static) -> ReplyBody {
        ReplyBody::Live(Box::pin(pieces.map_err(|()| CutOff)), None)
    }

    /// From now on each piece that is taken of a live body sets `progress`.
    pub(super) fn tell(&mut self, progress: &Arc<AtomicBool>) {
        if let ReplyBody::Live(_, told) = self {
            *told = Some(Arc::clone(progress));
        }
    }
}

impl From<Bytes> for ReplyBody {
    fn from(bytes: Bytes) -> ReplyBody {
        ReplyBody::Whole(Full::new(bytes))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        match &mut *self {
            ReplyBody::Whole(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            ReplyBody::Live(pieces, told) => {
                let piece = ready!(pieces.as_mut().poll_next(cx));
                if let Some(progress) = told {
                    progress.store(true, Ordering::Relaxed);
                }
                Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReplyBody::Whole(body) => body.is_end_stream(),
            ReplyBody::Live(..) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Whole(body) => body.size_hint(),
            ReplyBody::Live(..) => SizeHint::default(),
        }
    }
}

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer was cut off")
    }
}

impl std::error::Error for CutOff {}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReplyBody::Whole(_) => "Whole(…)",
            ReplyBody::Live(..) => "Live(…)",
        })
    }
}
