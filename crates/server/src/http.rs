//! The HTTP doors: JSON and forward-auth, health, metrics. Bare hyper: a request is matched by its path and answered.
//!
//! ```text
//!  connection ─► preface ─► http2, or the express lane and then http1
//!  request ─► route ─► body ─► wire types ─► buckets or facts ─► engine ─► Told ─► response
//! ```
//! Promises a problem document (RFC 9457) that names the field for everything that is wrong with a request, and bounds on time,
//! header, body and number of everything.

mod answer;
mod batch;
mod body;
mod body_room;
mod check;
pub mod desk;
mod explicit;
mod express;
mod facts;
mod fields;
mod forward_auth;
mod health;
mod held;
mod http1;
mod http2;
mod http2_refusal;
mod number;
mod openapi;
mod original;
mod plain;
mod preface;
mod problem;
mod read_ahead;
mod reasoned;
mod reply_body;
mod reserve;
mod route;
mod settle;
mod wire;
mod wire_fault;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use self::preface::Spoken;
use self::read_ahead::ReadAhead;
use crate::door::Door;
use crate::gatehouse::Gatehouse;
use crate::patient_stream::PatientStream;
use crate::{admin, last_words, lingering};

pub(crate) use self::body_room::{BODIES_BYTES_MAX, BodyRoom, NoRoom, Taken};
// A request that is described at another door is decided by the same code.
pub(crate) use answer::{Form, Told, millis_up, text as reply_text};
pub(crate) use body::{Whole, read as read_body};
pub(crate) use facts::{accept as accept_facts, answer as answer_facts, decided as decide_facts};
pub(crate) use number::{tokens as tokens_text, true_cost as cost_of};
pub(crate) use problem::{Problem, shown};
pub(crate) use reply_body::ReplyBody;
pub(crate) use wire::{RawCheck, RawHeaders, Text};

/// Longest head of a request, in bytes; longer ones get 431.
const HEAD_BYTES_MAX: usize = 64 * 1_024;
/// Most fields of a head; more get 431. hyper has the same maximum for HTTP/1.1.
const HEAD_FIELDS_MAX: usize = 100;

/// Names the field that every reply of the http listener carries: the status that was decided.
///
/// It differs from the status of the response for nginx, which takes 403 alone, and with `?status=200`. Its presence tells a
/// proxy or middleware that the reply is Tollgate's and not one of another program on the way.
pub(crate) const STATUS_FIELD: &str = "tollgate-status";

pub(crate) type Reply = Response<ReplyBody>;

/// Serves one connection until it ends, or until it is told to stop and has answered what it was asked.
pub(crate) async fn serve(
    gatehouse: &Arc<Gatehouse>,
    door: Door,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    peer: Option<IpAddr>,
    mut stop: watch::Receiver<bool>,
) {
    // Only a whole head is progress: who sends one byte now and then is given up like who sends nothing.
    let heard = Arc::new(AtomicBool::new(false));
    let mut stream = ReadAhead::new(PatientStream::told(stream, gatehouse.idle_timeout, Arc::clone(&heard)));
    let spoken = tokio::select! {
        biased;
        spoken = preface::spoken(&mut stream) => spoken,
        () = last_words::heard(&mut stop) => return,
    };
    // Who begins to speak at the end of its time has another.
    heard.store(true, Ordering::Relaxed);
    match spoken {
        Ok(Spoken::Http1) => {
            // What is traced, hyper reads whole.
            if door == Door::Http && gatehouse.telemetry.is_none() {
                let left = express::serve(gatehouse, &mut stream, &heard, &stop).await;
                if left == express::Left::Over {
                    return;
                }
            }
            http1::serve(gatehouse, door, &mut stream, peer, &heard, &mut stop).await;
        }
        // It is larger, and fewer speak it.
        Ok(Spoken::Http2) => {
            Box::pin(http2::serve(gatehouse, door, &mut stream, peer, &heard, &mut stop)).await;
        }
        Err(error) => {
            if error.kind() == io::ErrorKind::TimedOut && !stream.ahead().is_empty() {
                http1::say_too_slow(gatehouse, &mut stream).await;
                lingering::close(&mut stream, &mut stop).await;
            }
        }
    }
}

/// The answer of a door.
async fn answer_at(
    gatehouse: &Arc<Gatehouse>,
    door: Door,
    peer: Option<IpAddr>,
    request: Request<Incoming>,
) -> Reply {
    match door {
        Door::Http => match &gatehouse.telemetry {
            None => route::answer(gatehouse, peer, request).await,
            // On the heap, so that connections are no larger for it where nothing is traced.
            Some(telemetry) => {
                let answer = |request| route::answer(gatehouse, peer, request);
                Box::pin(telemetry.traced(request, answer)).await
            }
        },
        Door::Admin if admin::is_for(request.uri().path()) => {
            // On the heap, too: the others are asked more often.
            Box::pin(admin::answer(gatehouse, peer, request)).await
        }
        Door::Admin if admin::is_for_page(request.uri().path()) => {
            Box::pin(admin::answer_page(gatehouse, peer, request)).await
        }
        _ => route::answer_about_us(gatehouse, door, &request),
    }
}

/// Adds the status field to a reply that does not carry it yet.
fn mark_status(reply: &mut Reply) {
    let status = HeaderValue::from(reply.status().as_u16());
    reply.headers_mut().entry(STATUS_FIELD).or_insert(status);
}

#[cfg(test)]
mod overload_tests;
