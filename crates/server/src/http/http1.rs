//! A connection of HTTP/1.1, on hyper.
//!
//! Whoever is told that something is wrong with the connection itself hears it: the last answer is not lost by closing.

use std::convert::Infallible;
use std::future::ready;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::HOST;
use http::{Request, Version};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

use super::body::is_timeout;
use super::problem::Problem;
use super::reasoned::Reasoned;
use super::{HEAD_BYTES_MAX, Reply, answer_at, mark_status};
use crate::door::Door;
use crate::gatehouse::Gatehouse;
use crate::lingering;
use crate::turn::Turn;

/// What a head counts for, in bytes, whatever is in it.
const HEAD_BYTES: usize = 256;

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
    let turn = Turn::default();
    let service = service_fn(async |request: Request<Incoming>| -> Result<Reply, Infallible> {
        heard.store(true, Ordering::Relaxed);
        turn.spend(HEAD_BYTES + usize::try_from(request.body().size_hint().lower()).unwrap_or(usize::MAX));
        let mut reply = match without_host(&request).filter(|_| door == Door::Http) {
            Some(problem) => problem.reply(),
            None => answer_at(gatehouse, door, peer, request).await,
        };
        if door == Door::Http {
            mark_status(&mut reply);
        }
        reply.body_mut().tell(heard);
        turn.spend(HEAD_BYTES + usize::try_from(reply.body().size_hint().lower()).unwrap_or(usize::MAX));
        turn.end_if_over().await;
        Ok(reply)
    });
    let mut builder = http1::Builder::new();
    // Half closed: hyper does not look whether the client is still there while a check is decided, which takes no time, and
    // reads the next request into the buffer of this one. Work for the admin API may take long, and ends when its client leaves.
    builder
        .half_close(door != Door::Admin)
        // Who is told to stop before it has asked has asked already if it comes here.
        .keep_alive(!*stop.borrow())
        .header_read_timeout(None)
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .writev(false);
    let mut connection = builder.serve_connection(TokioIo::new(Reasoned::new(&mut *stream)), service);
    let ended = tokio::select! {
        biased;
        ended = &mut connection => Some(ended),
        _ = stop.wait_for(|stop| *stop) => None,
    };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        Pin::new(&mut connection).graceful_shutdown();
        // Whoever asks nothing at this moment is told nothing.
        tokio::select! {
            biased;
            _ = &mut connection => return,
            () = ready(()) => {}
        }
        (&mut connection).await
    };
    if let Err(error) = ended
        && is_timeout(&error)
    {
        if connection.into_parts().read_buf.is_empty() {
            return;
        }
        say_too_slow(gatehouse, stream).await;
    }
    lingering::close(stream, stop).await;
}

/// What is wrong with a request of HTTP/1.1 that does not name one host (RFC 9112, section 3.2): of two, somebody before us may
/// have taken the other.
fn without_host<B>(request: &Request<B>) -> Option<Problem> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let found = match (hosts.next(), hosts.next()) {
        (Some(host), None) if is_host(host.as_bytes()) => return None,
        (Some(_), None) => "names no host",
        (None, _) => "is missing",
        (Some(_), Some(_)) => "occurs twice",
    };
    if request.version() != Version::HTTP_11 {
        return None;
    }
    Some(Problem::field(
        "Host",
        format!("`Host` {found}; HTTP/1.1 wants it once in every request, as in example.com:8080"),
    ))
}

/// Whether a field names a host and perhaps a port: of characters that such names have (RFC 3986, section 3.2.2). It may be empty.
pub(super) fn is_host(value: &[u8]) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(&byte);
    value.iter().all(|byte| is_of_name(*byte))
}

/// Tells whoever has begun a request and does not finish it.
pub(super) async fn say_too_slow(gatehouse: &Gatehouse, stream: &mut (impl AsyncWrite + Unpin)) {
    let answer = Problem::head_too_slow(gatehouse.idle_timeout).raw();
    // Who does not take it either is closed all the same.
    let _ = stream.write_all(answer.as_bytes()).await;
}
