//! The RESP door: a socket around [`resp::Session`](crate::resp::Session), one task for each connection.
//!
//! A read's worth of requests is answered at once and sent in one write. A connection that always has more to ask lets others go
//! in between. Whoever begins a request must finish it in time. Replies that are not taken at once, and long requests that are not
//! finished, take room of what all connections may make us hold ([`BodyRoom`](crate::http::BodyRoom)).

#[cfg(test)]
mod fairness;
#[cfg(test)]
mod room_tests;

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tollgate::ledger::{Bucket, BucketLimit, Ledger, LedgerCharge, LimitRefused, Manner, OwnedKey, Question};
use tollgate::{ExplicitCharge, ExplicitVerdict, Limit, Tokens};

use crate::door::Door;
use crate::engine::Engine;
use crate::gatehouse::Gatehouse;
use crate::http::{NoRoom, Taken};
use crate::metrics::Became;
use crate::patient_stream::PatientStream;
use crate::resp::{Answer, Ask, Described, Next, Session, Throttle, Told};
use crate::resp_check;
use crate::turn::Turn;
use crate::{last_words, lingering};

/// Bytes of one read: some hundred requests.
const READ_BYTES: usize = 16 * 1_024;
/// Reads of what was sent before the program is to end; who has more to say does not stop by itself.
const LAST_READS_MAX: usize = 64;
/// What a client is told whose request is long, unfinished and one too many.
const NO_ROOM: &[u8] = b"-ERR no room for a request that long at the moment; send it again later\r\n";
/// Bytes of room for replies that a connection keeps.
const OUTPUT_BYTES_KEPT: usize = 16 * 1_024;
/// Pools keep connections that say nothing for a while. A request that was begun, and a reply, have less time:
/// [`Gatehouse::idle_timeout`].
const IDLE_MAX: Duration = Duration::from_hours(1);

/// Serves one connection until it ends, or until it is told to stop and has answered what it was asked.
pub(crate) async fn serve(
    gatehouse: &Gatehouse,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    mut stop: watch::Receiver<bool>,
) {
    let mut stream = PatientStream::new(stream, IDLE_MAX, gatehouse.idle_timeout);
    let mut session = Session::new(Arc::clone(&gatehouse.resp), gatehouse.next_id());
    let mut store = Store(&gatehouse.engine);
    let (mut input, mut output) = (Vec::with_capacity(READ_BYTES), Vec::new());
    let (mut deadline, mut unfinished) = (None, None);
    let (turn, mut last_reads) = (Turn::default(), LAST_READS_MAX);
    let mut stopping = stop.clone();
    let mut is_over = pin!(last_words::heard(&mut stopping));
    loop {
        // Whatever was said before the program is to end is answered, unless it never ends.
        let read = tokio::select! {
            biased;
            read = stream.read_buf(&mut input), if last_reads > 0 => read,
            () = &mut is_over => return lingering::close(&mut stream, &mut stop).await,
            () = until(&mut deadline) => return,
        };
        let Ok(bytes @ 1..) = read else { return };
        if *stop.borrow() {
            last_reads -= 1;
        }
        turn.spend(bytes);
        loop {
            let progress = session.feed(&input, &mut store, &mut output).await;
            input.drain(..progress.consumed);
            if progress.consumed > 0 || input.is_empty() {
                deadline = None;
            }
            if !output.is_empty() {
                if send(gatehouse, &mut stream, &output, input.len()).await.is_err() {
                    return;
                }
                turn.spend(output.len());
                output.clear();
                output.shrink_to(OUTPUT_BYTES_KEPT);
            }
            match progress.next {
                Next::Read => break,
                Next::Write => tokio::task::yield_now().await,
                Next::Close => {
                    return lingering::close(&mut stream, &mut stop).await;
                }
            }
        }
        if !input.is_empty() && deadline.is_none() {
            deadline = Some(Box::pin(tokio::time::sleep(gatehouse.idle_timeout)));
        }
        // A connection that once had much to say does not keep the room for it.
        input.shrink_to(READ_BYTES);
        input.reserve(READ_BYTES);
        if hold(gatehouse, &mut unfinished, &input) == Err(NoRoom) {
            if send(gatehouse, &mut stream, NO_ROOM, 0).await.is_ok() {
                lingering::close(&mut stream, &mut stop).await;
            }
            return;
        }
        turn.end_if_over().await;
    }
}

/// Sends the replies. Those that are not taken at once take room, with the `waiting_bytes` of requests behind them; who finds none is
/// given up and counted, and is not told: it does not read.
async fn send(
    gatehouse: &Gatehouse,
    stream: &mut (impl AsyncWrite + Unpin),
    replies: &[u8],
    waiting_bytes: usize,
) -> io::Result<()> {
    let mut sending = pin!(async {
        stream.write_all(replies).await?;
        stream.flush().await
    });
    if let Poll::Ready(sent) = poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx))).await {
        return sent;
    }
    let mut taken = gatehouse.body_room.nothing();
    if taken.add(replies.len() + waiting_bytes) == Err(NoRoom) {
        gatehouse.engine.metrics.note_request_shed(Door::Resp);
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sending.await
}

/// Takes room for a request that is not finished, if it is longer than one read; gives it back if it is not. Who finds none is counted.
fn hold(gatehouse: &Gatehouse, unfinished: &mut Option<Taken>, input: &Vec<u8>) -> Result<(), NoRoom> {
    *unfinished = None;
    if input.len() <= READ_BYTES {
        return Ok(());
    }
    let mut taken = gatehouse.body_room.nothing();
    let held = taken.add(input.capacity());
    match held {
        Ok(()) => *unfinished = Some(taken),
        Err(NoRoom) => gatehouse.engine.metrics.note_request_shed(Door::Resp),
    }
    held
}

/// Until the deadline, if there is one.
async fn until(deadline: &mut Option<std::pin::Pin<Box<tokio::time::Sleep>>>) {
    match deadline {
        Some(deadline) => deadline.as_mut().await,
        None => pending().await,
    }
}

thread_local! {
    /// Room for one batch, of whichever connection this thread serves.
    static BATCH: RefCell<(Vec<ExplicitCharge>, Vec<ExplicitVerdict>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// The buckets whose limits come with the call, as a session asks them.
///
/// Asks for them with every batch: the first who does makes their table, and a connection alone needs none.
struct Store<'e>(&'e Engine);

impl Throttle for Store<'_> {
    #[inline]
    fn accept(&self, limit: &Limit) -> Result<(), LimitRefused> {
        self.0.limiter.ledger().map_or(Ok(()), |ledger| ledger.accept(limit))
    }

    async fn throttle(&mut self, asks: &[Ask<'_>], answers: &mut Vec<Answer>) {
        let limiter = self.0.limiter.limiter();
        let begun = limiter.now();
        match self.0.limiter.ledger() {
            Some(ledger) => ask_ledger(&**ledger, asks, answers).await,
            None => self.ask_memory(asks, answers),
        }
        let metrics = &self.0.metrics;
        let now = limiter.now();
        metrics.note_duration(Door::Resp, begun, now);
        let denied = answers.iter().filter(|answer| !answer.is_admitted).count() as u64;
        let peeks = asks.iter().filter(|ask| ask.is_peek).count() as u64;
        let never = if peeks == 0 { 0 } else { asks.iter().filter(|ask| ask.is_never).count() as u64 };
        let admitted = (asks.len() as u64).saturating_sub(denied + peeks);
        metrics.checks.note_explicit(Door::Resp, Became::Admitted, admitted);
        metrics.checks.note_explicit(Door::Resp, Became::Denied, denied);
        metrics.checks.note_explicit(Door::Resp, Became::Never, never);
        if denied + never > 0 {
            let was_denied = |(ask, answer): &(&Ask<'_>, &Answer)| ask.is_never || !answer.is_admitted;
            for (ask, answer) in asks.iter().zip(&*answers).filter(was_denied) {
                let remaining = (!ask.is_never).then_some(answer.remaining);
                self.0.note_explicit_denial(Door::Resp, ask.key, ask.cost, remaining, now);
            }
        }
    }

    async fn check(&mut self, request: &Described<'_>) -> Result<Told, String> {
        resp_check::decide(self.0, request).await
    }
}

impl Store<'_> {
    fn ask_memory(&self, asks: &[Ask<'_>], answers: &mut Vec<Answer>) {
        let explicit = self.0.limiter.limiter().explicit();
        let answer =
            |told: &ExplicitVerdict| Answer { is_admitted: told.is_admitted(), remaining: told.remaining };
        if asks.iter().any(|ask| ask.is_peek) {
            answers.extend(asks.iter().map(|ask| {
                answer(&if ask.is_peek {
                    explicit.peek(ask.key, &ask.limit, ask.cost)
                } else {
                    explicit.check(ask.key, &ask.limit, ask.cost)
                })
            }));
        } else {
            BATCH.with_borrow_mut(|(charges, verdicts)| {
                charges.clear();
                charges.extend(asks.iter().map(|ask| explicit.charge(ask.key, &ask.limit, ask.cost)));
                explicit.check_each(charges, verdicts);
                answers.extend(verdicts.iter().map(answer));
            });
        }
    }
}

/// Asks a shared ledger, all at once. Who is not answered is denied, with nothing left.
async fn ask_ledger(ledger: &dyn Ledger, asks: &[Ask<'_>], answers: &mut Vec<Answer>) {
    let questions = asks.iter().map(|ask| {
        let manner = if ask.is_peek { Manner::Peek } else { Manner::Check };
        let key = OwnedKey::new(ask.key).ok()?;
        let bucket = Bucket { limit: BucketLimit::Explicit(ask.limit), key };
        let charges = vec![LedgerCharge { bucket, cost: ask.cost }];
        Some(ledger.decide(Question { charges, manner, watched: None }))
    });
    let asked = questions.map(async |question| match question {
        Some(question) => question.await.explicit_verdict(),
        None => None,
    });
    let told = join_all(asked).await;
    answers.extend(told.iter().zip(asks).map(|(told, ask)| Answer {
        is_admitted: ask.is_peek || told.as_ref().is_some_and(ExplicitVerdict::is_admitted),
        remaining: told.as_ref().map_or(Tokens::ZERO, |told| told.remaining),
    }));
}
