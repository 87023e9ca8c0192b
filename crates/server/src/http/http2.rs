//! A connection of HTTP/2 with prior knowledge, on hyper: many requests at a time, each a task of its own.
//!
//! Everything that one connection can make us hold is bounded here. Patience is that of the stream: a connection on which no request
//! begins is given up, whatever else it sends; and so is one whose client does not take an answer.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::header::CONNECTION;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::body_room::NoRoom;
use super::held::{HeldBody, Waiting};
use super::http2_refusal::MarkedRefusals;
use super::problem::Problem;
use super::{HEAD_BYTES_MAX, HEAD_FIELDS_MAX, answer_at, mark_status};
use crate::door::Door;
use crate::gatehouse::Gatehouse;
use crate::lingering;

/// Most requests that are open at a time on one connection; further ones are refused by the protocol.
const STREAMS_MAX: u32 = 100;
/// Bytes of one request's body that may be on their way.
const STREAM_WINDOW_BYTES: u32 = 64 * 1_024;
/// Bytes of all bodies of a connection that may be on their way.
const CONNECTION_WINDOW_BYTES: u32 = 1_024 * 1_024;
/// Longest frame, in bytes; the least that the protocol allows.
const FRAME_BYTES_MAX: u32 = 16 * 1_024;
/// Bytes of names and values that a client may have us remember.
const HEADER_TABLE_BYTES_MAX: u32 = 4 * 1_024;
/// Bytes of one answer that are copied ahead of the client's window.
const SEND_BYTES_MAX: usize = 64 * 1_024;
/// Requests that were taken back before they were looked at; who has more of them is cut off (rapid reset).
const RESETS_PENDING_MAX: usize = 20;
/// Streams of one connection that we had to reset; who makes us reset more is cut off.
const RESETS_OF_OURS_MAX: usize = 200;
/// How long a client has to notice that the connection ends, where nothing is open on it.
const NOTICE_TIME: Duration = Duration::from_millis(500);
/// What a request takes of the room for bodies while it is open, whatever it holds.
pub(super) const REQUEST_BYTES: usize = 4 * 1_024;

/// Serves one connection until it ends, or until it is told to stop and has answered what it was asked.
pub(super) async fn serve<S>(
    gatehouse: &Arc<Gatehouse>,
    door: Door,
    stream: &mut S,
    peer: Option<IpAddr>,
    heard: &Arc<AtomicBool>,
    stop: &mut watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (waiting, open) = (Waiting::new(gatehouse.idle_timeout), Arc::new(()));
    let service = service_fn(|request: Request<Incoming>| {
        heard.store(true, Ordering::Relaxed);
        let (gatehouse, waiting, open) = (Arc::clone(gatehouse), waiting.clone(), Arc::clone(&open));
        let heard = Arc::clone(heard);
        async move {
            let mut answer = answer(&gatehouse, door, peer, request, &waiting).await;
            answer.body_mut().tell(&heard);
            drop(open);
            Ok::<_, Infallible>(answer)
        }
    });
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX)
        .max_header_list_size(u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX))
        .header_table_size(HEADER_TABLE_BYTES_MAX)
        .max_send_buf_size(SEND_BYTES_MAX)
        .max_pending_accept_reset_streams(RESETS_PENDING_MAX)
        .max_local_error_reset_streams(RESETS_OF_OURS_MAX);
    {
        let mut connection =
            pin!(builder.serve_connection(TokioIo::new(MarkedRefusals::new(&mut *stream)), service));
        // How it ended is the client's affair.
        let is_over = tokio::select! {
            _ = connection.as_mut() => true,
            _ = stop.wait_for(|stop| *stop) => false,
            () = waiting.spent() => return,
        };
        if !is_over {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                _ = connection => {}
                () = waiting.spent() => return,
                () = nothing_open(&open, &waiting) => {}
            }
        }
    }
    lingering::close(stream, stop).await;
}

/// Until a connection that is to end has had time to notice, and nothing is open on it: the protocol would wait for a client that does
/// not say so.
async fn nothing_open(open: &Arc<()>, waiting: &Waiting) {
    loop {
        tokio::time::sleep(NOTICE_TIME).await;
        if Arc::strong_count(open) == 1 && !waiting.is_any() {
            return;
        }
    }
}

/// The answer to one request. It takes room while it is worked out and until the client lets it be sent.
async fn answer(
    gatehouse: &Arc<Gatehouse>,
    door: Door,
    peer: Option<IpAddr>,
    request: Request<Incoming>,
    waiting: &Waiting,
) -> Response<HeldBody> {
    let mut taken = gatehouse.body_room.nothing();
    let mut reply = match taken.add(REQUEST_BYTES) {
        Ok(()) if request.headers().len() > HEAD_FIELDS_MAX => Problem::head_too_large().reply(),
        Ok(()) => answer_at(gatehouse, door, peer, request).await,
        Err(NoRoom) => shed(gatehouse, door),
    };
    let bytes = usize::try_from(reply.body().size_hint().lower()).unwrap_or(usize::MAX);
    if bytes > REQUEST_BYTES && taken.add(bytes - REQUEST_BYTES) == Err(NoRoom) {
        reply = shed(gatehouse, door);
    }
    if door == Door::Http {
        mark_status(&mut reply);
    }
    // Connections are HTTP/1's affair.
    reply.headers_mut().remove(CONNECTION);
    reply.map(|body| waiting.hold(body, taken))
}

fn shed(gatehouse: &Gatehouse, door: Door) -> super::Reply {
    gatehouse.engine.metrics.note_request_shed(door);
    Problem::no_room().reply()
}
