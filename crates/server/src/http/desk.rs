//! The HTTP door without a socket and at a time that the caller sets: for the tests and fuzz targets of this repository alone.
//!
//! What a route says to a body and to header fields is said here by the same code. Nothing of this is promised to anybody.

use std::net::IpAddr;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt;
use tollgate::{Clock, Limiter, Moment, Span};

use super::problem::Problem;
use super::route::Question;
use super::{Reply, forward_auth};
use crate::engine::Engine;
use crate::policy_source::{PolicyFault, PolicySource, PolicyText};

/// Buckets of the tables.
const KEYS_MAX: usize = 256;

/// Most turns that one answer takes.
const TURNS_MAX: usize = 64;

/// A door with its engine.
pub struct Desk {
    engine: Engine,
    clock: Clock,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The header fields, by name in lower case, in order.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What the buckets of the policy lack: rule, fingerprint and balance in micro-tokens of every bucket that is not full.
pub type Charged = Vec<(String, u64, i64)>;

impl Desk {
    /// A door that decides by this policy, at a time that stands still.
    pub fn new(policy: &str) -> Result<Desk, PolicyFault> {
        let clock = Clock::manual(Moment::from_nanos(1_000_000_000_000));
        let text = PolicyText { name: "the policy".to_owned(), text: policy.to_owned() };
        let limiter = Limiter::builder().keys_max(KEYS_MAX).explicit_keys_max(KEYS_MAX).clock(clock.clone());
        Ok(Desk { engine: Engine::of(PolicySource::Embedded, text, limiter, None)?, clock })
    }

    /// Lets time go by.
    pub fn advance(&self, by: Span) {
        self.clock.advance(by);
    }

    /// The answer to a body that is posted to a path.
    pub fn post(&self, path: &str, body: &[u8]) -> Answer {
        let Some(question) = Question::at(path) else {
            return answer(Problem::not_found().reply());
        };
        let bytes_max = question.body_bytes_max();
        if body.len() > bytes_max {
            return answer(Problem::too_large(bytes_max).reply());
        }
        answer(match at_once(question.answer(&self.engine, body)) {
            Some(Ok(told)) => told.reply(false),
            Some(Err(problem)) => problem.reply(),
            None => Problem::unavailable("in memory nothing is waited for").reply(),
        })
    }

    /// The answer to a proxy; `rest` is what stands behind `/v1/forward-auth/`. None if it is no request of HTTP at all.
    pub fn forward_auth(
        &self,
        method: &[u8],
        rest: &str,
        fields: &[(&[u8], &[u8])],
        peer: Option<IpAddr>,
    ) -> Option<Answer> {
        let mut request = Request::builder()
            .method(Method::from_bytes(method).ok()?)
            .uri(format!("/v1/forward-auth/{rest}"))
            .body(())
            .ok()?;
        for (name, value) in fields {
            let (name, value) = (HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value).ok()?);
            request.headers_mut().append(name, value);
        }
        let target = request.uri().path_and_query()?.as_str().to_owned();
        let rest = target.strip_prefix("/v1/forward-auth/")?;
        at_once(forward_auth::answer(&self.engine, peer, &request, rest)).map(answer)
    }

    /// What is charged at this moment, but for buckets whose limits came with the call.
    pub fn charged(&self) -> Charged {
        let buckets = self.engine.limiter.limiter().live_buckets();
        let mut charged: Charged =
            buckets.map(|bucket| (bucket.rule, bucket.fingerprint, bucket.balance_micros)).collect();
        charged.sort();
        charged
    }
}

fn answer(reply: Reply) -> Answer {
    let (head, body) = reply.into_parts();
    let fields = head.headers.iter();
    let fields = fields.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
    // A body that is whole waits for nobody.
    let body = at_once(body.collect());
    let body = body.and_then(Result::ok).map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    Answer { status: head.status.as_u16(), fields, body }
}

/// What a future says that waits for nobody, but may let others have their turn.
fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
    (0..TURNS_MAX).find_map(|_| match future.as_mut().poll(&mut context) {
        Poll::Ready(said) => Some(said),
        Poll::Pending => None,
    })
}

impl Answer {
    /// The value of a field; none if it is absent or there twice.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let mut values = self.fields.iter().filter(|(field, _)| field == name);
        let (_, only) = values.next()?;
        if values.next().is_some() { None } else { Some(only) }
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}
