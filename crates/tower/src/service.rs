//! The service: decides, and answers or calls the inner one.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::admitted::{Admitted, Open};
use crate::answer;
use crate::turn::Turn;
use crate::turnstile::Turnstile;
use crate::{ResponseBody, ResponseFuture};

/// A service behind a turnstile; made by [`crate::TollgateLayer`]. It has no state of its own.
#[derive(Clone)]
pub struct TollgateService<S> {
    inner: S,
    turnstile: Arc<Turnstile>,
}

impl<S> TollgateService<S> {
    pub(crate) fn new(inner: S, turnstile: Arc<Turnstile>) -> Self {
        TollgateService { inner, turnstile }
    }

    /// The service behind the turnstile. What is asked of it directly is not limited.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, B, R> Service<Request<B>> for TollgateService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    B: Body,
    R: Body<Data = Bytes>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B, S::Future, R>;

    /// Whether the inner service is ready: a turnstile never makes anybody wait here.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let limiter = &self.turnstile.limiter;
        let decision = self.turnstile.check(&parts, &body.size_hint());
        if !decision.is_admitted() {
            self.turnstile.counts.denied.add();
            return ResponseFuture::denied(answer::denial(limiter, &decision, answer::grpc_type(&parts)));
        }
        let (turn, fields) = (Turn::of(&decision), answer::fields(limiter, &decision));
        let admitted = Admitted { fields, open: Open::of(limiter, decision) };
        let request = Request::from_parts(parts, body);
        match turn {
            None => ResponseFuture::called(self.inner.call(request), admitted),
            Some(turn) => {
                // The one that was polled to readiness goes along; its clone is polled for the next request.
                let clone = self.inner.clone();
                let ready = mem::replace(&mut self.inner, clone);
                ResponseFuture::waiting(turn, ready, request, admitted)
            }
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for TollgateService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut service = f.debug_struct("TollgateService");
        service.field("inner", &self.inner).field("limiter", &self.turnstile.limiter).finish_non_exhaustive()
    }
}
