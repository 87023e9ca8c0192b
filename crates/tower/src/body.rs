//! The body of a response: the inner service's, or that of a denial.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::admitted::Open;

pin_project! {
    /// The body of a response that came through a [`crate::TollgateService`]. Holds the places of concurrency rules until it
    /// has ended or is dropped.
    pub struct ResponseBody<B> {
        #[pin]
        source: Source<B>,
        held: Option<Box<Open>>,
    }
}

pin_project! {
    #[project = SourceProjection]
    enum Source<B> {
        Service { #[pin] body: B },
        Denial { text: Option<Bytes> },
    }
}

impl<B> ResponseBody<B> {
    pub(crate) fn of_service(body: B, held: Option<Box<Open>>) -> Self {
        ResponseBody { source: Source::Service { body }, held }
    }

    /// An empty text is no body at all.
    pub(crate) fn of_denial(text: Bytes) -> Self {
        let text = Some(text).filter(|text| !text.is_empty());
        ResponseBody { source: Source::Denial { text }, held: None }
    }
}

impl<B: Body<Data = Bytes>> Body for ResponseBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        let frame = match this.source.project() {
            SourceProjection::Service { body } => ready!(body.poll_frame(cx)),
            SourceProjection::Denial { text } => text.take().map(|text| Ok(Frame::data(text))),
        };
        if !matches!(frame, Some(Ok(_))) {
            *this.held = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Service { body } => body.is_end_stream(),
            Source::Denial { text } => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Service { body } => body.size_hint(),
            Source::Denial { text } => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
        }
    }
}

impl<B> fmt::Debug for ResponseBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_denial = matches!(self.source, Source::Denial { .. });
        f.debug_struct("ResponseBody").field("is_denial", &is_denial).finish_non_exhaustive()
    }
}
