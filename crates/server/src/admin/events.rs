//! `GET /admin/v1/events`: what happens, as it happens (server-sent events).
//!
//! ```text
//!  hello ─► rates, every second ─► change, when something was changed ─► violation, some of them ─► … ─► bye
//! ```
//! Promises that nobody waits for a subscriber: one that does not keep up is told how many events it missed, and of rates hears the last. What
//! the rates are, the pulse works out once for all. A stream ends after
//! [`STREAM_TIME_MAX`], and within [`CALLER_CHECK_BEATS`] seconds once its token is revoked or over, or its session is. Of tokens, admins alone are told.

mod places;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tollgate::{Moment, Span};

use tollgate_records::{Role, ViolationLog, ViolationRecord};

use super::Operations;
use super::call::Call;
use super::caller::Caller;
use crate::http::{Problem, Reply, ReplyBody};
use crate::pulse;
use places::{Place, Places};

/// Events that wait for a subscriber; of more, it misses the oldest.
const EVENTS_WAITING_MAX: usize = 256;
/// After how many beats of the pulse it is looked whether the caller still may listen. Each is told, which also shows that the stream is alive.
const CALLER_CHECK_BEATS: u32 = 2;
/// How long a stream lasts.
const STREAM_TIME_MAX: Span = Span::from_secs(600);
/// Violations that a subscriber is told of in a second; of more it is told how many.
const VIOLATIONS_PER_SECOND_MAX: u32 = 20;
/// How soon a browser comes back, in milliseconds.
const RETRY_MS: u32 = 2_000;

/// Whoever listens.
#[derive(Debug)]
pub(super) struct Events {
    told: broadcast::Sender<Told>,
    places: Arc<Places>,
}

/// What subscribers are told.
#[derive(Debug, Clone)]
struct Told {
    /// Nothing at all is the end.
    piece: Bytes,
    /// Whom it is for, at least.
    role: Role,
}

impl Events {
    /// Those of a door with so many connections.
    pub(super) fn of_door(connections: usize) -> Events {
        let (told, _) = broadcast::channel(EVENTS_WAITING_MAX);
        Events { told, places: Arc::new(Places::of_door(connections)) }
    }

    /// Tells every subscriber of a change.
    pub(super) fn tell_change(&self, what: &Value) {
        self.tell(event("change", what), Role::Viewer);
    }

    /// Tells the admins of a change.
    pub(super) fn tell_admins(&self, what: &Value) {
        self.tell(event("change", what), Role::Admin);
    }

    fn tell(&self, piece: Bytes, role: Role) {
        // Nobody may listen.
        let _ = self.told.send(Told { piece, role });
    }

    /// Ends every stream, and lets nobody in.
    pub(super) fn close(&self) {
        self.places.close();
        self.tell(Bytes::new(), Role::Viewer);
    }
}

/// One subscriber.
struct Subscriber {
    operations: Arc<Operations>,
    caller: Caller,
    told: broadcast::Receiver<Told>,
    /// Unless nobody notes any.
    violations: Option<broadcast::Receiver<Arc<ViolationRecord>>>,
    /// How many of these may still be told in this second, and how many were not.
    violations_left: u32,
    violations_left_out: u64,
    pulse: watch::Receiver<pulse::Told>,
    /// Until it is looked whether the caller still may listen.
    beats_left: u32,
    end: Moment,
    policy_version: u64,
    is_over: bool,
    _place: Place,
}

pub(super) fn listen(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let Call { operations, caller, peer, .. } = call;
    // Who has no token is told apart by address.
    let who = caller.token.clone().unwrap_or_else(|| peer.map(|peer| peer.to_string()).unwrap_or_default());
    let place = operations.events.places.take(who)?;
    let policy_version = operations.engine.loaded().version;
    let hello = json!({ "name": caller.name, "policy_version": policy_version });
    let subscriber = Subscriber {
        told: operations.events.told.subscribe(),
        violations: operations.violations.as_ref().map(ViolationLog::subscribe),
        violations_left: VIOLATIONS_PER_SECOND_MAX,
        violations_left_out: 0,
        pulse: operations.pulse.listen(),
        beats_left: CALLER_CHECK_BEATS,
        end: operations.engine.limiter.limiter().now() + STREAM_TIME_MAX,
        policy_version,
        operations,
        caller,
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
                told = self.told.recv() => match told {
                    Ok(told) if told.role > self.caller.role => None,
                    Ok(told) if !told.piece.is_empty() => Some(told.piece),
                    Err(RecvError::Lagged(missed)) => Some(event("missed", &json!({ "events": missed }))),
                    _ => Some(self.bye("stopping")),
                },
                beat = self.pulse.changed() => Some(match beat {
                    Ok(()) => self.every_second().await,
                    Err(_) => self.bye("stopping"),
                }),
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

    async fn every_second(&mut self) -> Bytes {
        self.beats_left -= 1;
        if self.beats_left == 0 {
            self.beats_left = CALLER_CHECK_BEATS;
            if !self.operations.still_lets_in(&self.caller).await {
                return self.bye("the token is no good any more, or its holder has signed out");
            }
        }
        let engine = &self.operations.engine;
        if engine.limiter.limiter().now() >= self.end {
            return self.bye("come back");
        }
        let loaded = engine.loaded();
        let mut told = Vec::new();
        if loaded.version != self.policy_version {
            self.policy_version = loaded.version;
            let change = json!({ "what": "policy", "version": loaded.version, "hash": loaded.hash });
            told.extend_from_slice(&event("change", &change));
        }
        told.extend_from_slice(self.rates().as_bytes());
        Bytes::from(told)
    }

    /// The rates, with what is each subscriber's own: how many violations it was not told of.
    fn rates(&mut self) -> String {
        let left_out = std::mem::take(&mut self.violations_left_out);
        self.violations_left = VIOLATIONS_PER_SECOND_MAX;
        let of_all = self.pulse.borrow_and_update();
        let members = of_all.strip_suffix('}').unwrap_or_default();
        format!("event: rates\ndata: {members},\"violations_left_out\":{left_out}}}\n\n")
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
