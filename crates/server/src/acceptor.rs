//! Accepts the connections of one door, as many at a time as it may have; sheds the others, and counts them.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::door::Door;
use crate::event_pace::EventPace;
use crate::gatehouse::Gatehouse;
use crate::listener::{Listener, Stream};
use crate::open_files::Share;
use crate::resp_door::{PendingLogin, PendingLogins};
use crate::{http, last_words, lingering, resp_door};

/// How long to wait when the machine has no more connections to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What a client of the HTTP doors is told that is turned away.
const SHED_HTTP: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nTollgate-Status: 503\r\n\
    Retry-After: 1\r\nContent-Length: 188\r\nConnection: close\r\n\r\n\
    {\"type\":\"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity\",\
    \"title\":\"Service Unavailable\",\"status\":503,\"detail\":\"the door has as many connections as it may have\"}\n";
/// The same of the Redis protocol, in the words of Redis.
const SHED_RESP: &[u8] = b"-ERR max number of clients reached\r\n";

/// Serves one door until it is told to stop, then until its last connection is done.
pub(crate) async fn run(
    gatehouse: Arc<Gatehouse>,
    door: Door,
    listener: Listener,
    share: Share,
    stop: watch::Receiver<bool>,
) {
    let most = share.connections.min(Semaphore::MAX_PERMITS);
    let places = Arc::new(Semaphore::new(most));
    let shedding = Arc::new(Semaphore::new(share.shedding));
    let mut faults = EventPace::default();
    let has_password = door == Door::Resp && gatehouse.resp.password.is_some();
    let logins = has_password.then(|| PendingLogins::new(most));
    // Those who have connected before the program is to end are heard, too.
    let mut stopping = stop.clone();
    let mut is_over = std::pin::pin!(last_words::heard(&mut stopping));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut is_over => break,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                if let Some(times) = faults.note(1, gatehouse.engine.limiter.limiter().now()) {
                    tracing::warn!(%door, %error, times, "accept failed");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        gatehouse.engine.metrics.note_connection(door);
        let place = Arc::clone(&places).try_acquire_owned().ok();
        let place = match &logins {
            None => place.map(Place::Taken),
            Some(logins) => logins.admit(place, stream.peer()).map(Place::Pending),
        };
        let Some(place) = place else {
            gatehouse.engine.metrics.note_shed(door);
            match Arc::clone(&shedding).try_acquire_owned() {
                Ok(telling) => shed(door, stream, stop.clone(), telling),
                Err(_) => shed_at_once(door, &stream),
            }
            continue;
        };
        let (gatehouse, stop) = (Arc::clone(&gatehouse), stop.clone());
        tokio::spawn(async move {
            match stream {
                Stream::Tcp(stream, peer) => serve(&gatehouse, door, stream, Some(peer), place, stop).await,
                Stream::Unix(stream) => serve(&gatehouse, door, stream, None, place, stop).await,
            }
        });
    }
    drop(listener);
    // All places are free once all connections are done.
    let _ = places.acquire_many(u32::try_from(most).unwrap_or(u32::MAX)).await;
}

/// A connection's permit of the listener.
enum Place {
    /// Held until the connection ends.
    Taken(OwnedSemaphorePermit),
    /// Kept with those of other connections that have not sent the password yet.
    Pending(PendingLogin),
}

async fn serve<S>(
    gatehouse: &Arc<Gatehouse>,
    door: Door,
    stream: S,
    peer: Option<std::net::IpAddr>,
    place: Place,
    stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let (_taken, pending) = match place {
        Place::Taken(taken) => (Some(taken), None),
        Place::Pending(pending) => (None, Some(pending)),
    };
    if door.speaks_http() {
        http::serve(gatehouse, door, stream, peer, stop).await;
    } else {
        resp_door::serve(gatehouse, stream, peer, pending, stop).await;
    }
}

/// The reply to a connection that is turned away.
const fn shed_reply(door: Door) -> &'static [u8] {
    if door.speaks_http() { SHED_HTTP } else { SHED_RESP }
}

/// Sends the reply as far as the socket takes it without waiting; the caller closes the connection. A client that had sent a request
/// by then may lose the reply to the reset.
fn shed_at_once(door: Door, stream: &Stream) {
    let words = shed_reply(door);
    _ = match stream {
        Stream::Tcp(stream, _) => rustix::io::write(stream, words),
        Stream::Unix(stream) => rustix::io::write(stream, words),
    };
}

/// Says why and closes, while others are accepted.
fn shed(door: Door, stream: Stream, stop: watch::Receiver<bool>, telling: OwnedSemaphorePermit) {
    let words = shed_reply(door);
    tokio::spawn(async move {
        match stream {
            Stream::Tcp(stream, _) => say(stream, stop, words).await,
            Stream::Unix(stream) => say(stream, stop, words).await,
        }
        drop(telling);
    });
}

/// The words fit into what a fresh connection takes without waiting.
async fn say(mut stream: impl AsyncRead + AsyncWrite + Unpin, mut stop: watch::Receiver<bool>, words: &[u8]) {
    if stream.write_all(words).await.is_ok() {
        lingering::close(&mut stream, &mut stop).await;
    }
}

#[cfg(test)]
mod tests {
    use super::SHED_HTTP;

    #[test]
    fn the_length_of_the_shed_answer_is_true() {
        let text = String::from_utf8_lossy(SHED_HTTP);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{}", body.len());
        assert!(body.parse::<serde_json::Value>().is_ok(), "{body}");
    }
}
