//! One connection: what was read goes in, what is to be sent comes out.

use std::sync::Arc;

use super::Settings;
use super::args::Args;
use super::batch::Batch;
use super::cell;
use super::cell_error::CellError;
use super::command::{is_throttle, run};
use super::frame::{Frame, Parsed};
use super::inline::Line;
use super::peer::Peer;
use super::protocol_error::ProtocolError;
use super::terms::RememberedTerms;
use super::throttle::Throttle;

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
    /// Send the output and close: the client said `QUIT`, or broke the protocol.
    Close,
}

impl Session {
    /// A connection that just opened. `id` is what `CLIENT ID` says.
    pub fn new(settings: Arc<Settings>, id: u64) -> Self {
        let (frame, remembered) = (Frame::default(), RememberedTerms::default());
        Session { peer: Peer::new(settings, id), frame, remembered }
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
        let next = loop {
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
    if !is_throttle(peer, args) {
        batch.flush(engine, output).await;
        return run(peer, args, engine, output).await;
    }
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
