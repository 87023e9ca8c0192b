//! `GET /admin/v1/events`: what happens, as it happens (server-sent events).
//!
//! ```text
//!  hello ─► rates, every second ─► change, when something was changed ─► violation, some of them ─► … ─► bye
//! ```
//! Promises that nobody waits for a subscriber: one that does not keep up is told how many events it missed. A stream ends after
//! [`STREAM_TIME_MAX`], so that a token that was revoked is not listened with for long; whoever still may comes back.

mod rates;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tollgate::{Moment, Span};

use tollgate_records::{ViolationLog, ViolationRecord};

use super::Operations;
use super::call::Call;
use crate::http::{Problem, Reply, ReplyBody};
use rates::Rates;

/// Subscribers at a time.
const SUBSCRIBERS_MAX: usize = 64;
/// Events that wait for a subscriber; of more, it misses the oldest.
const EVENTS_WAITING_MAX: usize = 256;
/// How often rates are told, which also shows that the stream is alive.
const RATES_EVERY: Duration = Duration::from_secs(1);
/// How long a stream lasts.
const STREAM_TIME_MAX: Span = Span::from_secs(600);
/// Violations that a subscriber is told of in a second; of more it is told how many.
const VIOLATIONS_PER_SECOND_MAX: u32 = 20;
/// How soon a browser comes back, in milliseconds.
const RETRY_MS: u32 = 2_000;

/// Whoever listens.
#[derive(Debug)]
pub(super) struct Events {
    told: broadcast::Sender<Bytes>,
    places: Arc<Semaphore>,
}

impl Default for Events {
    fn default() -> Events {
        let (told, _) = broadcast::channel(EVENTS_WAITING_MAX);
        Events { told, places: Arc::new(Semaphore::new(SUBSCRIBERS_MAX)) }
    }
}

impl Events {
    /// Tells every subscriber of a change.
    pub(super) fn tell_change(&self, what: &Value) {
        // Nobody may listen.
        let _ = self.told.send(event("change", what));
    }

    /// Ends every stream, and lets nobody in.
    pub(super) fn close(&self) {
        self.places.close();
        let _ = self.told.send(Bytes::new());
    }
}

/// One subscriber.
struct Subscriber {
    operations: Arc<Operations>,
    told: broadcast::Receiver<Bytes>,
    /// Unless nobody notes any.
    violations: Option<broadcast::Receiver<Arc<ViolationRecord>>>,
    /// How many of these may still be told in this second, and how many were not.
    violations_left: u32,
    violations_left_out: u64,
    tick: Interval,
    end: Moment,
    rates: Rates,
    policy_version: u64,
    is_over: bool,
    _place: OwnedSemaphorePermit,
}

pub(super) fn listen(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let operations = call.operations;
    let Ok(place) = Arc::clone(&operations.events.places).try_acquire_owned() else {
        let detail = format!("there are {SUBSCRIBERS_MAX} subscribers already; try again when one has left");
        return Err(Problem::unavailable(detail).because("too_many_subscribers"));
    };
    let mut tick = interval(RATES_EVERY);
    // The first would be at once.
    tick.reset();
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let policy_version = operations.engine.loaded().version;
    let hello = json!({ "name": call.caller.name, "policy_version": policy_version });
    let subscriber = Subscriber {
        told: operations.events.told.subscribe(),
        violations: operations.violations.as_ref().map(ViolationLog::subscribe),
        violations_left: VIOLATIONS_PER_SECOND_MAX,
        violations_left_out: 0,
        tick,
        end: operations.engine.limiter.limiter().now() + STREAM_TIME_MAX,
        rates: Rates::begin(&operations.engine),
        policy_version,
        operations,
        is_over: false,
        _place: place,
    };
    let first =
        Bytes::from([format!("retry: {RETRY_MS}\n").into_bytes(), event("hello", &hello).to_vec()].concat());
    let later = stream::unfold(subscriber, |mut subscriber| async move {
        let piece = subscriber.next().await?;
        Some((piece, subscriber))
    });
    let pieces = futures_util::StreamExt::chain(stream::iter([first]), later);
    let mut reply = Reply::new(ReplyBody::live(pieces));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(reply)
}

impl Subscriber {
    /// What is told next; nothing when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        loop {
            let piece = tokio::select! {
                biased;
                told = self.told.recv() => Some(match told {
                    Ok(told) if !told.is_empty() => told,
                    Err(RecvError::Lagged(missed)) => event("missed", &json!({ "events": missed })),
                    _ => self.bye("stopping"),
                }),
                _ = self.tick.tick() => Some(self.every_second()),
                violation = next_of(&mut self.violations) => self.violation(violation),
            };
            if piece.is_some() {
                return piece;
            }
        }
    }

    /// A violation, unless there were many in this second.
    fn violation(&mut self, told: Result<Arc<ViolationRecord>, RecvError>) -> Option<Bytes> {
        match told {
            Ok(violation) if self.violations_left > 0 => {
                self.violations_left -= 1;
                return Some(event("violation", &*violation));
            }
            Ok(_) => self.violations_left_out += 1,
            Err(RecvError::Lagged(missed)) => self.violations_left_out += missed,
            Err(RecvError::Closed) => self.violations = None,
        }
        None
    }

    fn every_second(&mut self) -> Bytes {
        let engine = &self.operations.engine;
        if engine.limiter.limiter().now() >= self.end {
            return self.bye("come back");
        }
        let loaded = engine.loaded();
        if loaded.version == self.policy_version {
            let left_out = std::mem::take(&mut self.violations_left_out);
            self.violations_left = VIOLATIONS_PER_SECOND_MAX;
            return event("rates", &self.rates.since_last(engine, left_out));
        }
        self.policy_version = loaded.version;
        event("change", &json!({ "what": "policy", "version": loaded.version, "hash": loaded.hash }))
    }

    fn bye(&mut self, why: &str) -> Bytes {
        self.is_over = true;
        event("bye", &json!({ "why": why }))
    }
}

/// The next violation; never, where nobody notes any.
async fn next_of(
    violations: &mut Option<broadcast::Receiver<Arc<ViolationRecord>>>,
) -> Result<Arc<ViolationRecord>, RecvError> {
    match violations {
        Some(violations) => violations.recv().await,
        None => std::future::pending().await,
    }
}

/// An event. JSON holds no line break, so the data is one line whatever stands in it.
fn event(name: &str, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}
