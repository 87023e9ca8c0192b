//! The HTTP doors: JSON and forward-auth, health, metrics. Bare hyper: a request is matched by its path and answered.
//!
//! ```text
//!  request ─► route ─► body ─► wire types ─► buckets or facts ─► engine ─► Told ─► response
//! ```
//! Promises a problem document (RFC 9457) that names the field for everything that is wrong with a request, and bounds on time,
//! header, body and number of everything.

mod answer;
mod batch;
mod body;
mod check;
mod explicit;
mod facts;
mod fields;
mod forward_auth;
mod header_fields;
mod health;
mod number;
mod openapi;
mod original;
mod problem;
mod reserve;
mod route;
mod settle;
mod wire;
mod wire_fault;

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::door::Door;
use crate::gatehouse::Gatehouse;
use crate::patient_stream::PatientStream;

// A request that is described at another door is decided by the same code.
pub(crate) use answer::millis_up;
pub(crate) use facts::{answer as answer_facts, decided as decide_facts};
pub(crate) use wire::{RawCheck, RawHeaders, Text};

/// Longest head of a request, in bytes; longer ones get 431, and so do those with more than 100 fields.
const HEAD_BYTES_MAX: usize = 64 * 1_024;

type Reply = Response<Full<Bytes>>;

/// Serves one connection until it ends, or until it is told to stop and has answered what it was asked.
pub(crate) async fn serve(
    gatehouse: &Arc<Gatehouse>,
    door: Door,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Option<IpAddr>,
    mut stop: watch::Receiver<bool>,
) {
    // Only a whole head is progress: who sends one byte now and then is given up like who sends nothing.
    let heard = Arc::new(AtomicBool::new(false));
    let stream = PatientStream::told(stream, gatehouse.idle_timeout, Arc::clone(&heard));
    let service = service_fn(async |request: Request<Incoming>| -> Result<Reply, Infallible> {
        heard.store(true, Ordering::Relaxed);
        Ok(match door {
            Door::Http => route::answer(gatehouse, peer, request).await,
            _ => route::answer_about_us(gatehouse, door, &request),
        })
    });
    let mut builder = http1::Builder::new();
    builder.header_read_timeout(None).max_header_size(HEAD_BYTES_MAX).writev(false);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // How it ended is the client's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
