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

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::door::Door;
use crate::gatehouse::Gatehouse;
use crate::patient_stream::PatientStream;

/// Longest head of a request, in bytes; longer ones get 431.
const HEAD_BYTES_MAX: usize = 64 * 1_024;
/// Most header fields of a request; more get 431.
const FIELDS_MAX: usize = 128;

type Reply = Response<Full<Bytes>>;

/// Serves one connection until it ends, or until it is told to stop and has answered what it was asked.
pub(crate) async fn serve(
    gatehouse: &Arc<Gatehouse>,
    door: Door,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Option<IpAddr>,
    mut stop: watch::Receiver<bool>,
) {
    let stream = PatientStream::new(stream, None, gatehouse.idle_timeout);
    let service = service_fn(async |request: Request<Incoming>| -> Result<Reply, Infallible> {
        Ok(match door {
            Door::Http => route::answer(gatehouse, peer, request).await,
            _ => route::answer_about_us(gatehouse, &request),
        })
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(gatehouse.idle_timeout);
    builder.max_buf_size(HEAD_BYTES_MAX).max_headers(FIELDS_MAX).pipeline_flush(true).writev(false);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // How it ended is the client's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
