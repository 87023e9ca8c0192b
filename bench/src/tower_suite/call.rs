//! Calls in process: `poll_ready`, `call` and the response, with no socket and no runtime.
//!
//! Every round begins with one request of everybody that is not timed. Requests are made outside the timed part, a few at a time so
//! that they are still in the cache, as a server has just parsed them. That a response is dropped is part of what is timed: its header fields are the limiter's doing.

use std::future::{Future, Ready, ready};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, Response, StatusCode};
use tower::{Layer, Service, service_fn};

use super::interleaved::{self, Contender};
use super::layers::{self, BURST_AMPLE, BURST_ONE};
use super::results::{CaseResult, GOVERNOR, NONE, TOLLGATE};
use crate::options::Options;
use crate::problem::Problem;
use crate::splitmix::SplitMix;
use crate::stopwatch::Lap;

const ADDRESSES: u32 = 100_000;
const CALLS: u32 = 500_000;
const ROUNDS: usize = 15;
const QUICK_DIVISOR: u32 = 10;
/// Requests that are made, and then timed, at once.
const CHUNK: usize = 64;
const SEED: u64 = 0x0070_3E12;

/// Sends requests through a service; how many were admitted.
type Caller = Box<dyn FnMut(Vec<Request<Body>>) -> u32>;

/// Measures the three, interleaved.
pub(crate) fn measure(
    case: &'static str,
    with_headers: bool,
    options: &Options,
) -> Result<CaseResult, Problem> {
    let addresses = options.scaled(ADDRESSES);
    for (name, mut caller) in callers(BURST_ONE, with_headers, addresses)? {
        prove(name, &mut caller)?;
    }
    let mut random = SplitMix::new(SEED);
    let calls = options.scaled(if options.quick { CALLS / QUICK_DIVISOR } else { CALLS });
    let everybody: Vec<u32> = (0..addresses).collect();
    let stream: Vec<u32> = (0..calls).map(|_| random.below(addresses)).collect();

    let mut contenders: Vec<Contender<'_>> = Vec::new();
    for (name, mut caller) in callers(BURST_AMPLE, with_headers, addresses)? {
        let (everybody, stream) = (&everybody, &stream);
        contenders.push(Box::new(move || {
            // What the others have driven out of the caches is brought back before anything counts.
            round(name, &mut caller, everybody)?;
            round(name, &mut caller, stream)
        }));
    }
    let nanos = interleaved::run(&mut contenders, if options.quick { 1 } else { ROUNDS })?;
    CaseResult::of(case, nanos)
}

/// The same service without a limiter, behind ours and behind the peer's.
fn callers(burst: u32, with_headers: bool, addresses: u32) -> Result<[(&'static str, Caller); 3], Problem> {
    let inner = service_fn(hello);
    let ours = caller(layers::tollgate(burst, with_headers, addresses)?.layer(inner));
    let theirs = if with_headers {
        caller(layers::governor(burst)?.layer(inner))
    } else {
        caller(layers::governor_bare(burst)?.layer(inner))
    };
    Ok([(NONE, caller(inner)), (TOLLGATE, ours), (GOVERNOR, theirs)])
}

fn hello(_: Request<Body>) -> Ready<Result<Response<Body>, std::convert::Infallible>> {
    ready(Ok(Response::new(Body::empty())))
}

fn caller<S, B>(mut service: S) -> Caller
where
    S: Service<Request<Body>, Response = Response<B>> + 'static,
{
    Box::new(move |requests| {
        let mut context = Context::from_waker(Waker::noop());
        let mut admitted = 0;
        for request in requests {
            if !matches!(service.poll_ready(&mut context), Poll::Ready(Ok(()))) {
                continue;
            }
            let future = pin!(service.call(request));
            if let Poll::Ready(Ok(response)) = future.poll(&mut context) {
                admitted += u32::from(response.status() == StatusCode::OK);
            }
        }
        admitted
    })
}

/// A second request of an address is denied, and another address is not; without a limiter nobody is.
fn prove(name: &str, caller: &mut Caller) -> Result<(), Problem> {
    let admitted = [0, 0, 1].map(|address| caller(vec![request(address)]));
    let expected = if name == NONE { [1, 1, 1] } else { [1, 0, 1] };
    if admitted == expected {
        return Ok(());
    }
    Err(Problem::failed(format!(
        "{name} is not limiting by address: with a burst of 1 it admitted {admitted:?} of one address twice and another, not \
         {expected:?}; mend bench/src/tower_suite/layers.rs"
    )))
}

/// Nanoseconds per call of the whole stream.
fn round(name: &str, caller: &mut Caller, stream: &[u32]) -> Result<f64, Problem> {
    let (mut spent, mut admitted, mut calls) = (Duration::ZERO, 0, 0);
    for chunk in stream.chunks(CHUNK) {
        let requests: Vec<Request<Body>> = chunk.iter().copied().map(request).collect();
        calls += u32::try_from(requests.len()).unwrap_or(u32::MAX);
        let (lap, admitted_now) = Lap::of(|| caller(requests));
        spent += Lap::span(&[lap]).unwrap_or_default();
        admitted += admitted_now;
    }
    if admitted != calls {
        return Err(Problem::failed(format!(
            "{name} admitted {admitted} of {calls} requests where all should be; the figures would compare different work, \
             so mend bench/src/tower_suite/layers.rs"
        )));
    }
    Ok(spent.as_secs_f64() * 1e9 / f64::from(calls))
}

/// A request as a client's library sends it, from the n-th address.
fn request(address: u32) -> Request<Body> {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = http::Uri::from_static("/api/items/42?page=2");
    let headers = request.headers_mut();
    headers.insert(http::header::HOST, http::HeaderValue::from_static("api.example.com"));
    headers.insert(http::header::USER_AGENT, http::HeaderValue::from_static("client/1.0"));
    headers.insert(http::header::ACCEPT, http::HeaderValue::from_static("*/*"));
    let peer = IpAddr::V4(Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 0).to_bits() + address));
    request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer, 49_152)));
    request
}

#[cfg(test)]
mod tests {
    use super::{BURST_AMPLE, BURST_ONE, NONE, callers, prove, round};

    #[test]
    fn with_a_burst_of_one_both_limiters_deny_and_no_limiter_does_not() {
        for with_headers in [true, false] {
            for (name, mut caller) in callers(BURST_ONE, with_headers, 10).unwrap() {
                assert_eq!(prove(name, &mut caller), Ok(()), "{name}");
            }
        }
    }

    #[test]
    fn a_limiter_that_admits_everything_is_found_out_and_so_is_one_that_denies() {
        let [.., (_, mut ample)] = callers(BURST_AMPLE, true, 10).unwrap();
        assert!(
            prove("open", &mut ample).unwrap_err().to_string().starts_with("open is not limiting by address")
        );
        let [_, (name, mut one), _] = callers(BURST_ONE, true, 10).unwrap();
        let message = round(name, &mut one, &[1, 2, 2]).unwrap_err().to_string();
        assert!(message.starts_with("tollgate admitted 2 of 3 requests"), "{message}");
        let [(name, mut none), ..] = callers(BURST_ONE, true, 10).unwrap();
        assert_eq!(name, NONE);
        assert!(round(name, &mut none, &[1, 2, 2]).is_ok());
    }
}
