//! One connection: what was read goes in, what is to be sent comes out.

use std::sync::Arc;

use super::Settings;
use super::args::Args;
use super::batch::Batch;
use super::cell;
use super::cell_error::CellError;
use super::command::is_throttle;
use super::frame::{Frame, Parsed};
use super::inline::Line;
use super::peer::Peer;
use super::protocol_error::ProtocolError;
use super::reply::array;
use super::terms::RememberedTerms;
use super::throttle::Throttle;
use super::transaction::{self, Queue};

/// One connection: its protocol, whether it gave the password, and the request that is still incomplete.
#[derive(Debug)]
pub struct Session {
    peer: Peer,
    frame: Frame,
    remembered: RememberedTerms,
}

/// How far a call of [`Session::feed`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Progress {
    /// Bytes of the input that are done with. The rest must stand at the start of the next input.
    pub consumed: usize,
    /// What to do now.
    pub next: Next,
}

/// What the owner of the socket is to do after [`Session::feed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send the output; read more, and feed it behind what was not consumed.
    Read,
    /// The output is full: send it, empty it and feed what was not consumed, which may hold complete requests.
    Write,
    /// The client sent the right password for the first time: send the output and feed the rest.
    Authenticated,
    /// The client sent a wrong password: wait, send the output, and feed the rest. [`Session::wrong_passwords`] counts them.
    WrongPassword,
    /// Send the output and close: the client said `QUIT`, broke the protocol or sent too many wrong passwords.
    Close,
}

impl Session {
    /// A connection that just opened. `id` is what `CLIENT ID` says.
    pub fn new(settings: Arc<Settings>, id: u64) -> Self {
        let (frame, remembered) = (Frame::default(), RememberedTerms::default());
        Session { peer: Peer::new(settings, id), frame, remembered }
    }

    /// Returns `true` if the client sent the password, or none is set.
    pub fn is_authenticated(&self) -> bool {
        self.peer.is_authenticated
    }

    /// Returns the number of wrong passwords since the connection opened.
    pub fn wrong_passwords(&self) -> u32 {
        self.peer.wrong_passwords
    }

    /// Returns the bytes that commands between `MULTI` and `EXEC` hold.
    pub fn queued_bytes(&self) -> usize {
        self.peer.transaction.as_ref().map_or(0, transaction::Transaction::held_bytes)
    }

    /// Returns the number of transactions since the connection opened, the open one among them.
    pub fn transactions(&self) -> u64 {
        self.peer.transactions
    }

    /// Answers every complete request at the start of `input`, appending the replies to `output` in order.
    ///
    /// `input` is everything that was read and not yet consumed: it must start with the byte after the last consumed one. The
    /// same bytes give the same replies, whatever pieces they come in. Replies are bounded by
    /// [`super::Limits::output_bytes_max`], and one reply more.
    pub async fn feed(
        &mut self,
        input: &[u8],
        engine: &mut (impl Throttle + Send),
        output: &mut Vec<u8>,
    ) -> Progress {
        let limits = self.peer.settings.limits;
        let mut batch = Batch::for_read(input.len(), limits.batch_asks_max);
        let mut consumed = 0;
        let (was_authenticated, wrong_before) = (self.peer.is_authenticated, self.peer.wrong_passwords);
        let next = loop {
            if self.peer.wrong_passwords > wrong_before {
                break Next::WrongPassword;
            }
            if self.peer.is_authenticated && !was_authenticated {
                break Next::Authenticated;
            }
            if self.peer.is_closing {
                consumed = input.len();
                break Next::Close;
            }
            if output.len() + batch.reply_bytes_max() >= limits.output_bytes_max {
                break Next::Write;
            }
            let rest = input.get(consumed..).unwrap_or_default();
            match self.frame.parse(rest, &limits, self.peer.is_authenticated) {
                Ok(Parsed::Incomplete) => break Next::Read,
                Ok(Parsed::Empty { bytes }) => consumed += bytes,
                Ok(Parsed::Array { bytes }) => {
                    consumed += bytes;
                    let args = self.frame.args(rest);
                    answer(&args, &mut self.peer, &mut self.remembered, &mut batch, engine, output).await;
                }
                Ok(Parsed::Inline { line }) => {
                    consumed += line + 1;
                    batch.flush(engine, output).await;
                    self.answer_line(rest.get(..line).unwrap_or_default(), engine, output).await;
                }
                Err(error) => {
                    batch.flush(engine, output).await;
                    self.refuse(error, output);
                }
            }
            self.frame.restart();
        };
        batch.flush(engine, output).await;
        Progress { consumed, next }
    }

    /// An inline command. Its words are not where they were read, so it is a batch of its own.
    async fn answer_line(&mut self, line: &[u8], engine: &mut (impl Throttle + Send), output: &mut Vec<u8>) {
        let words = match Line::read(line) {
            Ok(words) => words,
            Err(error) => return self.refuse(error, output),
        };
        let args = words.args();
        if args.count() == 0 {
            return;
        }
        let mut batch = Batch::for_read(0, 1);
        answer(&args, &mut self.peer, &mut self.remembered, &mut batch, engine, output).await;
    }

    fn refuse(&mut self, error: ProtocolError, output: &mut Vec<u8>) {
        error.write(&self.peer.settings.limits, output);
        self.peer.is_closing = true;
    }
}

/// Adds a request to the batch, or flushes the batch and answers the request.
#[inline]
async fn answer<'b>(
    args: &Args<'b, '_>,
    peer: &mut Peer,
    remembered: &mut RememberedTerms,
    batch: &mut Batch<'b>,
    engine: &mut (impl Throttle + Send),
    output: &mut Vec<u8>,
) {
    if is_throttle(peer, args) {
        return throttle(args, peer, remembered, batch, engine, output).await;
    }
    batch.flush(engine, output).await;
    if let Some(queue) = transaction::answer(peer, args, remembered, engine, output).await {
        // On the heap, so that connections without a transaction are no larger.
        Box::pin(exec(&queue, peer, remembered, engine, output)).await;
    }
}

/// Runs the commands of a transaction as if they came in one read, and appends the array of their replies.
async fn exec(
    queue: &Queue,
    peer: &mut Peer,
    remembered: &mut RememberedTerms,
    engine: &mut (impl Throttle + Send),
    output: &mut Vec<u8>,
) {
    array(output, queue.len());
    let mut batch = Batch::for_read(queue.text_bytes(), peer.settings.limits.batch_asks_max);
    for args in queue.commands() {
        if is_throttle(peer, &args) {
            throttle(&args, peer, remembered, &mut batch, engine, output).await;
        } else {
            batch.flush(engine, output).await;
            // EXEC is never queued.
            let _ = transaction::answer(peer, &args, remembered, engine, output).await;
        }
    }
    batch.flush(engine, output).await;
}

/// Adds a `CL.THROTTLE` to the batch.
#[inline]
async fn throttle<'b>(
    args: &Args<'b, '_>,
    peer: &Peer,
    remembered: &mut RememberedTerms,
    batch: &mut Batch<'b>,
    engine: &mut (impl Throttle + Send),
    output: &mut Vec<u8>,
) {
    let read = cell::read(args, remembered, &peer.settings.limits);
    match read.and_then(|read| engine.accept(&read.0.limit).map(|()| read).map_err(CellError::Refused)) {
        Ok((ask, pending)) => {
            if batch.push(ask, pending) {
                batch.flush(engine, output).await;
            }
        }
        Err(error) => {
            batch.flush(engine, output).await;
            error.write(output);
        }
    }
}
