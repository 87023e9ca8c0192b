//! The RESP door: a socket around [`resp::Session`](crate::resp::Session), one task for each connection.
//!
//! A read's worth of requests is answered at once and sent in one write. A connection that always has more to ask lets others go
//! in between. A request that was begun must be complete in time. Replies that are not taken at once, long requests that are not finished,
//! and commands between MULTI and EXEC take room of what all connections may make us hold ([`BodyRoom`](crate::http::BodyRoom)).

mod pending_logins;
mod wrong_passwords;

#[cfg(test)]
mod fairness;
#[cfg(test)]
mod login_tests;
#[cfg(test)]
mod room_tests;

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::io;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Sleep;
use tollgate::ledger::{
    self, Bucket, BucketLimit, Ledger, LedgerCharge, LimitRefused, Manner, OwnedKey, Question,
};
use tollgate::{ExplicitCharge, ExplicitVerdict, Limit, StoreMode, Tokens, Verdict};

use crate::door::Door;
use crate::engine::Engine;
use crate::gatehouse::Gatehouse;
use crate::http::{NoRoom, Taken};
use crate::metrics::Became;
use crate::patient_stream::PatientStream;
use crate::resp::{Answer, Ask, Described, Fallback, Next, Session, Throttle, Told};
use crate::resp_check;
use crate::turn::Turn;
use crate::{last_words, lingering};

pub(crate) use pending_logins::{PendingLogin, PendingLogins};
pub(crate) use wrong_passwords::WrongPasswords;

/// Bytes of one read: some hundred requests.
const READ_BYTES: usize = 16 * 1_024;
/// Reads of what was sent before the program is to end; who has more to say does not stop by itself.
const LAST_READS_MAX: usize = 64;
/// Sent to a client whose unfinished request or transaction does not fit into the memory of all connections.
const NO_ROOM: &[u8] =
    b"-ERR no memory for a request or transaction of this size at the moment; send it again later\r\n";
/// Bytes of room for replies that a connection keeps.
const OUTPUT_BYTES_KEPT: usize = 16 * 1_024;
/// Pools keep connections that say nothing for a while. A request that was begun, and a reply, have less time:
/// [`Gatehouse::idle_timeout`].
const IDLE_MAX: Duration = Duration::from_hours(1);
/// Longest time from accepting a connection until it has sent the right password; less where [`Gatehouse::idle_timeout`] is shorter.
const LOGIN_TIME_MAX: Duration = Duration::from_secs(10);
/// Sent to a connection that had not sent the password when a newer one took its place.
const EVICTED: &[u8] = b"-ERR max number of unauthenticated clients reached\r\n";

/// Serves one connection until it ends, or until it is told to stop and has answered what it was asked.
///
/// A connection that is `pending` is closed if it does not send the password in time, and if newer ones fill the quota.
pub(crate) async fn serve(
    gatehouse: &Gatehouse,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: Option<IpAddr>,
    pending: Option<PendingLogin>,
    stop: watch::Receiver<bool>,
) {
    let mut connection = Connection::new(gatehouse, stream, peer, stop);
    let permit = match pending {
        None => None,
        Some(pending) => match connection.log_in(pending).await {
            None => return,
            permit => permit,
        },
    };
    connection.run(false).await;
    drop(permit);
}

/// A socket and the session on it.
struct Connection<'g, S> {
    gatehouse: &'g Gatehouse,
    peer: Option<IpAddr>,
    stream: PatientStream<S>,
    session: Session,
    store: Store<'g>,
    /// Read, and not consumed by the session yet.
    input: Vec<u8>,
    output: Vec<u8>,
    /// When the request that was begun must be complete.
    deadline: Option<Pin<Box<Sleep>>>,
    /// When the transaction of this number must end, if its queue is longer than one read.
    transaction_deadline: Option<(u64, Pin<Box<Sleep>>)>,
    /// Memory of an unfinished request and of queued commands.
    held: Option<Taken>,
    turn: Turn,
    last_reads: usize,
    stop: watch::Receiver<bool>,
}

/// How [`Connection::run`] ended.
enum Outcome {
    /// The connection is to be dropped.
    Ended,
    /// The client sent the right password.
    Authenticated,
}

impl<'g, S: AsyncRead + AsyncWrite + Unpin> Connection<'g, S> {
    fn new(gatehouse: &'g Gatehouse, stream: S, peer: Option<IpAddr>, stop: watch::Receiver<bool>) -> Self {
        Connection {
            gatehouse,
            peer,
            stream: PatientStream::new(stream, IDLE_MAX, gatehouse.idle_timeout),
            session: Session::new(Arc::clone(&gatehouse.resp), gatehouse.next_id()),
            store: Store(&gatehouse.engine),
            input: Vec::with_capacity(READ_BYTES),
            output: Vec::new(),
            deadline: None,
            transaction_deadline: None,
            held: None,
            turn: Turn::default(),
            last_reads: LAST_READS_MAX,
            stop,
        }
    }

    /// Serves a connection until it has sent the right password. Returns its permit, or `None` if the connection is to be dropped: it ended, its
    /// time is over, or a newer connection took its place.
    async fn log_in(&mut self, mut pending: PendingLogin) -> Option<OwnedSemaphorePermit> {
        let metrics = &self.gatehouse.engine.metrics;
        let time = self.gatehouse.idle_timeout.min(LOGIN_TIME_MAX);
        tokio::select! {
            biased;
            outcome = self.run(true) => match outcome {
                Outcome::Ended => None,
                Outcome::Authenticated => pending.succeed(),
            },
            () = pending.evicted() => {
                metrics.note_shed(Door::Resp);
                self.try_send(EVICTED).await;
                None
            }
            () = tokio::time::sleep(time) => None,
        }
    }

    /// Serves requests until the connection ends; if `is_pending`, only until the client has sent the right password.
    async fn run(&mut self, is_pending: bool) -> Outcome {
        let mut stopping = self.stop.clone();
        let mut is_over = pin!(last_words::heard(&mut stopping));
        loop {
            // A request may be there already: it came behind the password.
            if let Some(outcome) = self.answer(is_pending).await {
                return outcome;
            }
            self.turn.end_if_over().await;
            let Connection { stream, input, deadline, transaction_deadline, last_reads, stop, .. } = self;
            let transaction_deadline = transaction_deadline.as_mut().map(|(_, deadline)| deadline);
            // Whatever was said before the program is to end is answered, unless it never ends.
            let read = tokio::select! {
                biased;
                read = stream.read_buf(input), if *last_reads > 0 => read,
                () = &mut is_over => {
                    lingering::close(stream, stop).await;
                    return Outcome::Ended;
                }
                () = until(deadline.as_mut()) => return Outcome::Ended,
                () = until(transaction_deadline) => return Outcome::Ended,
            };
            let Ok(bytes @ 1..) = read else { return Outcome::Ended };
            if *stop.borrow() {
                *last_reads -= 1;
            }
            self.turn.spend(bytes);
        }
    }

    /// Answers every complete request of the input. Returns `None` if more is to be read.
    async fn answer(&mut self, is_pending: bool) -> Option<Outcome> {
        loop {
            let wrong_before = self.session.wrong_passwords();
            let progress = self.session.feed(&self.input, &mut self.store, &mut self.output).await;
            self.input.drain(..progress.consumed);
            if progress.consumed > 0 || self.input.is_empty() {
                self.deadline = None;
            }
            if self.session.queued_bytes() == 0 {
                // The replies may need the memory that the commands held.
                self.held = None;
            }
            if progress.next == Next::WrongPassword {
                self.slow_down(wrong_before).await;
            }
            if self.send_output().await.is_err() {
                return Some(Outcome::Ended);
            }
            match progress.next {
                Next::Read => break,
                Next::Authenticated if is_pending => return Some(Outcome::Authenticated),
                Next::Write => tokio::task::yield_now().await,
                Next::Authenticated | Next::WrongPassword => {}
                Next::Close => return Some(self.close().await),
            }
        }
        if !self.input.is_empty() && self.deadline.is_none() {
            self.deadline = Some(Box::pin(tokio::time::sleep(self.gatehouse.idle_timeout)));
        }
        self.limit_transaction();
        // A connection that once had much to say does not keep the room for it.
        self.input.shrink_to(READ_BYTES);
        self.input.reserve(READ_BYTES);
        if self.hold() == Err(NoRoom) {
            let told = send(self.gatehouse, &mut self.stream, NO_ROOM, 0).await;
            return Some(if told.is_ok() { self.close().await } else { Outcome::Ended });
        }
        None
    }

    /// Counts the wrong passwords since there were `before`, and waits before they are answered.
    async fn slow_down(&self, before: u32) {
        let sent = self.session.wrong_passwords();
        let Gatehouse { engine, wrong_passwords, .. } = self.gatehouse;
        tokio::time::sleep(wrong_passwords.note(engine, self.peer, sent - before, sent)).await;
    }

    async fn send_output(&mut self) -> io::Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        send(self.gatehouse, &mut self.stream, &self.output, self.input.len()).await?;
        self.turn.spend(self.output.len());
        self.output.clear();
        self.output.shrink_to(OUTPUT_BYTES_KEPT);
        Ok(())
    }

    /// Sends as much as the socket takes at once.
    async fn try_send(&mut self, text: &[u8]) {
        let mut sending = pin!(self.stream.write(text));
        let _ = poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx))).await;
    }

    async fn close(&mut self) -> Outcome {
        lingering::close(&mut self.stream, &mut self.stop).await;
        Outcome::Ended
    }

    /// Sets the deadline of a transaction whose queue is longer than one read: it holds memory that all connections share.
    fn limit_transaction(&mut self) {
        let number = self.session.transactions();
        if self.session.queued_bytes() <= READ_BYTES {
            self.transaction_deadline = None;
        } else if self.transaction_deadline.as_ref().is_none_or(|(limited, _)| *limited != number) {
            let deadline = Box::pin(tokio::time::sleep(self.gatehouse.idle_timeout));
            self.transaction_deadline = Some((number, deadline));
        }
    }

    /// Takes room for an unfinished request and for commands between MULTI and EXEC, each if longer than one read. Counts the connection
    /// as shed if there is none.
    fn hold(&mut self) -> Result<(), NoRoom> {
        self.held = None;
        let unfinished = if self.input.len() > READ_BYTES { self.input.capacity() } else { 0 };
        let queued = Some(self.session.queued_bytes()).filter(|bytes| *bytes > READ_BYTES).unwrap_or(0);
        let bytes = unfinished + queued;
        if bytes == 0 {
            return Ok(());
        }
        let mut taken = self.gatehouse.body_room.nothing();
        if taken.add(bytes) == Err(NoRoom) {
            self.gatehouse.engine.metrics.note_request_shed(Door::Resp);
            return Err(NoRoom);
        }
        self.held = Some(taken);
        Ok(())
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

/// Until the deadline, if there is one.
async fn until(deadline: Option<&mut Pin<Box<Sleep>>>) {
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

    fn accept_check(&self, request: &Described<'_>) -> Result<(), String> {
        resp_check::accept(self.0, request)
    }

    async fn check(&mut self, request: &Described<'_>) -> Result<Told, String> {
        resp_check::decide(self.0, request).await
    }
}

impl Store<'_> {
    fn ask_memory(&self, asks: &[Ask<'_>], answers: &mut Vec<Answer>) {
        let explicit = self.0.limiter.limiter().explicit();
        let answer = |told: &ExplicitVerdict| Answer {
            is_admitted: told.is_admitted(),
            remaining: told.remaining,
            fallback: None,
        };
        if asks.iter().any(|ask| ask.is_peek) {
            answers.extend(asks.iter().map(|ask| {
                let told = if ask.is_peek {
                    explicit.peek(ask.key, &ask.limit, ask.cost)
                } else {
                    explicit.check(ask.key, &ask.limit, ask.cost)
                };
                let charged = (!ask.is_peek).then_some(&told.verdict);
                self.0.metrics.checks.note_explicit_table_full(charged.into_iter());
                answer(&told)
            }));
        } else {
            BATCH.with_borrow_mut(|(charges, verdicts)| {
                charges.clear();
                charges.extend(asks.iter().map(|ask| explicit.charge(ask.key, &ask.limit, ask.cost)));
                explicit.check_each(charges, verdicts);
                answers.extend(verdicts.iter().map(answer));
                let verdicts = verdicts.iter().map(|told| &told.verdict);
                self.0.metrics.checks.note_explicit_table_full(verdicts);
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
        Some(question) => {
            let answer = question.await;
            answer.explicit_verdict().map(|told| (told, fallback_of(&answer)))
        }
        None => None,
    });
    let told = join_all(asked).await;
    answers.extend(told.iter().zip(asks).map(|(told, ask)| Answer {
        is_admitted: ask.is_peek || told.as_ref().is_some_and(|(told, _)| told.is_admitted()),
        remaining: told.as_ref().map_or(Tokens::ZERO, |(told, _)| told.remaining),
        fallback: told.as_ref().and_then(|(_, fallback)| *fallback),
    }));
}

/// The figures of a check of one bucket that was decided by this instance's share.
fn fallback_of(answer: &ledger::Answer) -> Option<Fallback> {
    let ledger::Answer::Decided { verdict, buckets, mode: StoreMode::Fallback } = answer else { return None };
    let state = buckets.first()?;
    let wait = match verdict {
        Verdict::Deny { wait, .. } => Some(*wait),
        _ => None,
    };
    let instances = NonZeroU32::new(state.instances).unwrap_or(NonZeroU32::MIN);
    Some(Fallback { instances, wait, time_to_full: state.time_to_full })
}
