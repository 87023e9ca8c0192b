//! The RESP door: a socket around [`resp::Session`](crate::resp::Session), one task for each connection.
//!
//! A read's worth of requests is answered at once and sent in one write. A connection that always has more to ask lets others go
//! in between. Whoever begins a request must finish it in time.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tollgate::{Explicit, ExplicitCharge, ExplicitVerdict};

use crate::door::Door;
use crate::engine::Engine;
use crate::gatehouse::Gatehouse;
use crate::metrics::Became;
use crate::patient_stream::PatientStream;
use crate::resp::{Answer, Ask, Next, Session, Throttle};

/// Bytes of one read: some hundred requests, after which others have their turn.
const READ_BYTES: usize = 16 * 1_024;
/// Pools keep connections that say nothing for a while.
const IDLE_MAX: Duration = Duration::from_hours(1);
/// How long a request may take to arrive, and a reply to be taken.
const REQUEST_MAX: Duration = Duration::from_secs(30);

/// Serves one connection until it ends, or until it is told to stop and has answered what it was asked.
pub(crate) async fn serve(
    gatehouse: &Gatehouse,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    mut stop: watch::Receiver<bool>,
) {
    let mut stream = PatientStream::new(stream, IDLE_MAX, REQUEST_MAX);
    let mut session = Session::new(Arc::clone(&gatehouse.resp), gatehouse.next_id());
    let mut store = Store::new(&gatehouse.engine);
    let (mut input, mut output) = (Vec::with_capacity(READ_BYTES), Vec::new());
    let mut deadline = None;
    loop {
        // Whatever is open when the program is to end was answered before it came here.
        let read = tokio::select! {
            biased;
            read = stream.read_buf(&mut input) => read,
            () = until(&mut deadline) => return,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        let Ok(bytes @ 1..) = read else { return };
        loop {
            let progress = session.feed(&input, &mut store, &mut output);
            input.drain(..progress.consumed);
            if progress.consumed > 0 || input.is_empty() {
                deadline = None;
            }
            if !output.is_empty() {
                if stream.write_all(&output).await.is_err() {
                    return;
                }
                output.clear();
            }
            match progress.next {
                Next::Read => break,
                Next::Write => tokio::task::yield_now().await,
                Next::Close => {
                    let _ = stream.shutdown().await;
                    return;
                }
            }
        }
        if !input.is_empty() && deadline.is_none() {
            deadline = Some(Box::pin(tokio::time::sleep(REQUEST_MAX)));
        }
        if input.is_empty() && input.capacity() > READ_BYTES {
            input = Vec::with_capacity(READ_BYTES);
        }
        input.reserve(READ_BYTES);
        if bytes >= READ_BYTES {
            tokio::task::yield_now().await;
        }
    }
}

/// Until the deadline, if there is one.
async fn until(deadline: &mut Option<std::pin::Pin<Box<tokio::time::Sleep>>>) {
    match deadline {
        Some(deadline) => deadline.as_mut().await,
        None => pending().await,
    }
}

/// The buckets whose limits come with the call, as a session asks them.
struct Store<'e> {
    engine: &'e Engine,
    explicit: Explicit<'e>,
    charges: Vec<ExplicitCharge>,
    verdicts: Vec<ExplicitVerdict>,
}

impl<'e> Store<'e> {
    fn new(engine: &'e Engine) -> Store<'e> {
        let explicit = engine.limiter.limiter().explicit();
        Store { engine, explicit, charges: Vec::new(), verdicts: Vec::new() }
    }
}

impl Throttle for Store<'_> {
    fn throttle(&mut self, asks: &[Ask<'_>], answers: &mut Vec<Answer>) {
        let limiter = self.engine.limiter.limiter();
        let begun = limiter.now();
        let answer =
            |told: &ExplicitVerdict| Answer { is_admitted: told.is_admitted(), remaining: told.remaining };
        let mut peeks = 0;
        if asks.iter().any(|ask| ask.is_peek) {
            for ask in asks {
                let told = if ask.is_peek {
                    peeks += 1;
                    self.explicit.peek(ask.key, &ask.limit, ask.cost)
                } else {
                    self.explicit.check(ask.key, &ask.limit, ask.cost)
                };
                answers.push(answer(&told));
            }
        } else {
            self.charges.clear();
            self.charges.extend(asks.iter().map(|ask| self.explicit.charge(ask.key, &ask.limit, ask.cost)));
            self.explicit.check_each(&self.charges, &mut self.verdicts);
            answers.extend(self.verdicts.iter().map(answer));
        }
        let metrics = &self.engine.metrics;
        metrics.note_duration(Door::Resp, begun, limiter.now());
        let denied = answers.iter().filter(|answer| !answer.is_admitted).count() as u64;
        let admitted = (asks.len() as u64).saturating_sub(denied + peeks);
        metrics.checks.note_explicit(Door::Resp, Became::Admitted, admitted);
        metrics.checks.note_explicit(Door::Resp, Became::Denied, denied);
    }
}
