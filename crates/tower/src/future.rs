//! The response to come: at once of a denial, else the inner service's.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tollgate::{Deciding, Decision};
use tower_service::Service;

use crate::RequestHead;
use crate::admitted::Admitted;
use crate::body::ResponseBody;
use crate::turn::Turn;
use crate::turnstile::{Passage, Turnstile};

pin_project! {
    /// The response of a [`crate::TollgateService`]. Dropped before it is ready, it gives back the places it holds; what it was
    /// charged stays charged.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, B, F, R> {
        #[pin]
        state: State<S, B, F, R>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S, B, F, R> {
        // Boxed: hardly any request waits, but for those to whom a network lies between anyway.
        Asking { asking: Box<Asking<S, B>> },
        Waiting { waiting: Box<Waiting<S, B>>, admitted: Option<Admitted> },
        Called { #[pin] future: F, admitted: Option<Admitted> },
        Denied { response: Option<Response<ResponseBody<R>>> },
    }
}

/// A request that a shared ledger has been asked about, and the service that was ready for it.
struct Asking<S, B> {
    deciding: Box<Deciding>,
    turnstile: Arc<Turnstile>,
    /// Until it is called, or waits for its turn.
    asked: Option<(S, Request<B>)>,
}

/// A request whose turn has not come, and the service that was ready for it.
struct Waiting<S, B> {
    turn: Turn,
    service: S,
    request: Option<Request<B>>,
}

impl<S, B> Asking<S, B> {
    /// What comes after the answer. `None` only if an earlier call has panicked.
    #[cold]
    fn go_on<R>(&mut self, decision: Decision) -> Option<State<S, B, S::Future, R>>
    where
        S: Service<Request<B>>,
        R: Body<Data = Bytes>,
    {
        let (mut service, request) = self.asked.take()?;
        Some(match self.turnstile.pass_by_answer(decision, RequestHead::of(&request)) {
            Passage::Free(admitted) => {
                State::Called { future: service.call(request), admitted: Some(admitted) }
            }
            Passage::InTurn(turn, admitted) => {
                let waiting = Box::new(Waiting { turn, service, request: Some(request) });
                State::Waiting { waiting, admitted: Some(admitted) }
            }
            Passage::Denied(response) => {
                State::Denied { response: Some(response.map(ResponseBody::of_denial)) }
            }
            Passage::Asked(deciding) => {
                let (turnstile, asked) = (Arc::clone(&self.turnstile), Some((service, request)));
                State::Asking { asking: Box::new(Asking { deciding, turnstile, asked }) }
            }
        })
    }
}

impl<S, B, F, R> ResponseFuture<S, B, F, R> {
    pub(crate) fn waiting(turn: Turn, service: S, request: Request<B>, admitted: Admitted) -> Self {
        let waiting = Box::new(Waiting { turn, service, request: Some(request) });
        ResponseFuture { state: State::Waiting { waiting, admitted: Some(admitted) } }
    }

    pub(crate) fn asking(
        deciding: Box<Deciding>,
        turnstile: Arc<Turnstile>,
        service: S,
        request: Request<B>,
    ) -> Self {
        let asking = Box::new(Asking { deciding, turnstile, asked: Some((service, request)) });
        ResponseFuture { state: State::Asking { asking } }
    }

    pub(crate) fn called(future: F, admitted: Admitted) -> Self {
        ResponseFuture { state: State::Called { future, admitted: Some(admitted) } }
    }

    pub(crate) fn denied(response: Response<ResponseBody<R>>) -> Self {
        ResponseFuture { state: State::Denied { response: Some(response) } }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B, S::Future, R>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body<Data = Bytes>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProjection::Asking { asking } => {
                    let decision = ready!(Pin::new(&mut *asking.deciding).poll(cx));
                    let Some(next) = asking.go_on(decision) else { return Poll::Pending };
                    state.set(next);
                }
                StateProjection::Waiting { waiting, admitted } => {
                    ready!(Pin::new(&mut waiting.turn).poll(cx));
                    // Gone only if an earlier call has panicked.
                    let Some(request) = waiting.request.take() else { return Poll::Pending };
                    let (future, admitted) = (waiting.service.call(request), admitted.take());
                    state.set(State::Called { future, admitted });
                }
                StateProjection::Called { future, admitted } => {
                    let mut response = ready!(future.poll(cx))?;
                    let held = admitted.take().and_then(|admitted| admitted.finish(&mut response));
                    return Poll::Ready(Ok(response.map(|body| ResponseBody::of_service(body, held))));
                }
                // Whoever polls again after the response has none to come.
                StateProjection::Denied { response } => {
                    return response.take().map_or(Poll::Pending, |response| Poll::Ready(Ok(response)));
                }
            }
        }
    }
}

impl<S, B, F, R> std::fmt::Debug for ResponseFuture<S, B, F, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match &self.state {
            State::Asking { .. } => "asking",
            State::Waiting { .. } => "waiting",
            State::Called { .. } => "called",
            State::Denied { .. } => "denied",
        };
        f.debug_struct("ResponseFuture").field("state", &state).finish_non_exhaustive()
    }
}
