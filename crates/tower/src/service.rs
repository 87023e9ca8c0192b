//! The service: decides, and answers or calls the inner one.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::turnstile::{Passage, Turnstile};
use crate::{RequestHead, ResponseBody, ResponseFuture};

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

    /// The service that was polled to readiness, to go along with its request; its clone is polled for the next one.
    #[cold]
    fn take_ready(&mut self) -> S
    where
        S: Clone,
    {
        let clone = self.inner.clone();
        mem::replace(&mut self.inner, clone)
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
        match self.turnstile.pass(RequestHead::of(&request), &request.body().size_hint()) {
            Passage::Free(admitted) => ResponseFuture::called(self.inner.call(request), admitted),
            Passage::InTurn(turn, admitted) => {
                ResponseFuture::waiting(turn, self.take_ready(), request, admitted)
            }
            Passage::Denied(response) => ResponseFuture::denied(response.map(ResponseBody::of_denial)),
            Passage::Asked(deciding) => {
                ResponseFuture::asking(deciding, Arc::clone(&self.turnstile), self.take_ready(), request)
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

#[cfg(test)]
mod tests {
    use std::future::{Future, pending, ready};
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::Full;
    use tollgate::policy::Policy;
    use tollgate::{Limiter, PolicyLimiter};
    use tower::{Layer, Service, service_fn};

    use super::*;
    use crate::TollgateLayer;

    fn limiter(policy: &str) -> PolicyLimiter {
        Limiter::from_policy(Policy::parse("test.yaml", policy).unwrap()).unwrap()
    }

    const ONE_PLACE: &str = "{name: one, scope: global, algorithm: concurrency, places: 1, timeout: 60s}";

    type Outcome = Result<Response<Full<Bytes>>, &'static str>;

    /// One request, polled once; its outcome, if there is one already.
    fn poll_once<S>(service: &mut S) -> Option<Result<u16, &'static str>>
    where
        S: Service<
                Request<Full<Bytes>>,
                Response = Response<ResponseBody<Full<Bytes>>>,
                Error = &'static str,
            >,
    {
        let mut future = pin!(service.call(Request::new(Full::default())));
        match future.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(outcome) => Some(outcome.map(|response| response.status().as_u16())),
            Poll::Pending => None,
        }
    }

    #[test]
    fn an_error_of_the_inner_service_passes_and_gives_the_place_back() {
        let layer = TollgateLayer::new(limiter(ONE_PLACE)).on_warning(|_| {});
        let mut fails = layer.layer(service_fn(async |_: Request<Full<Bytes>>| -> Outcome { Err("broken") }));
        for _ in 0..3 {
            assert_eq!(poll_once(&mut fails), Some(Err("broken")));
        }
    }

    #[test]
    fn a_request_that_is_dropped_while_it_is_served_gives_the_place_back() {
        let layer = TollgateLayer::new(limiter(ONE_PLACE)).on_warning(|_| {});
        let mut hangs =
            layer.layer(service_fn(async |_: Request<Full<Bytes>>| -> Outcome { pending().await }));
        for _ in 0..3 {
            assert_eq!(poll_once(&mut hangs), None, "it has the place, and is dropped");
        }
        assert_eq!(layer.stats().denied, 0);
        let held = hangs.call(Request::new(Full::default()));
        assert_eq!(poll_once(&mut hangs), Some(Ok(429)));
        drop(held);
        assert_eq!(poll_once(&mut hangs), None);
    }

    #[test]
    fn a_denied_request_never_reaches_the_inner_service() {
        let layer =
            TollgateLayer::new(limiter("{name: api, scope: global, rate: 1/h, burst: 1}")).on_warning(|_| {});
        let calls = AtomicUsize::new(0);
        let mut service = layer.layer(service_fn(|_: Request<Full<Bytes>>| {
            calls.fetch_add(1, Ordering::Relaxed);
            ready::<Outcome>(Ok(Response::default()))
        }));
        let outcomes: Vec<_> = (0..3).map(|_| poll_once(&mut service)).collect();
        assert_eq!(outcomes, [Some(Ok(200)), Some(Ok(429)), Some(Ok(429))]);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}
