//! `MULTI`, `EXEC`, `DISCARD`, `WATCH` and `UNWATCH`: the queue of one connection, and which commands enter it.
//!
//! ```text
//!  MULTI ─► a command: checked now ─┬─ valid ──► +QUEUED, copied into the queue
//!                                   └─ refused ► its error; EXEC will answer EXECABORT, and the queue is freed
//!  EXEC ──► the queued commands, in order, as one read's worth of pipelined commands
//! ```
//! Invariant: a queued command reaches the engine only through `EXEC`, and at most once.

use super::Limits;
use super::args::{ARGS_KEPT_MAX, Args, Place};
use super::cell;
use super::cell_error::CellError;
use super::command::{Command, admitted, run, wrong_count};
use super::command_table::Spec;
use super::described::Described;
use super::peer::Peer;
use super::reply::{error, simple};
use super::terms::RememberedTerms;
use super::throttle::Throttle;

const ABORTED: &[u8] = b"EXECABORT Transaction discarded because of previous errors.";

/// The commands of one transaction, copied out of the read buffer.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The arguments of all commands, one behind the other.
    text: Vec<u8>,
    /// Positions of the arguments in `text`.
    places: Vec<Place>,
    /// The number of arguments of each command.
    counts: Vec<usize>,
}

/// A transaction between `MULTI` and `EXEC`.
#[derive(Debug)]
pub(super) enum Transaction {
    /// Every command so far was valid.
    Open(Queue),
    /// A command was refused: `EXEC` answers `EXECABORT`. Holds no commands.
    Refused,
}

/// The queue has no room for a further command.
#[derive(Debug, PartialEq, Eq)]
struct Full;

impl Queue {
    /// Copies a command, unless that passes a maximum of `limits`.
    fn push(&mut self, args: &Args<'_, '_>, limits: &Limits) -> Result<(), Full> {
        let arguments = args.all().ok_or(Full)?;
        let text_bytes: usize = arguments.clone().map(<[u8]>::len).sum();
        let place_bytes = (self.places.len() + args.count()) * size_of::<Place>();
        let bytes = self.text.len() + text_bytes + place_bytes;
        if self.counts.len() >= limits.transaction_commands_max || bytes > limits.transaction_bytes_max {
            return Err(Full);
        }
        for argument in arguments {
            self.places.push(Place { start: self.text.len(), len: argument.len() });
            self.text.extend_from_slice(argument);
        }
        self.counts.push(args.count());
        Ok(())
    }

    /// Returns the number of commands.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Returns the bytes of all arguments.
    pub(super) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns the commands in the order in which they were queued.
    pub(super) fn commands(&self) -> impl Iterator<Item = Args<'_, '_>> {
        let mut rest = self.places.as_slice();
        self.counts.iter().map(move |count| {
            let (places, behind) = rest.split_at(*count);
            rest = behind;
            let (kept, further) = places.split_at(places.len().min(ARGS_KEPT_MAX));
            Args::new(&self.text, kept, further, *count)
        })
    }

    /// Returns the allocated bytes.
    fn held_bytes(&self) -> usize {
        self.text.capacity()
            + self.places.capacity() * size_of::<Place>()
            + self.counts.capacity() * size_of::<usize>()
    }
}

impl Transaction {
    /// Returns the bytes that the queue has allocated.
    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Transaction::Open(queue) => queue.held_bytes(),
            Transaction::Refused => 0,
        }
    }
}

/// Answers any request that is not a `CL.THROTTLE` outside of a transaction. Returns the queue that `EXEC` has to run.
pub(super) async fn answer(
    peer: &mut Peer,
    args: &Args<'_, '_>,
    remembered: &mut RememberedTerms,
    engine: &mut (impl Throttle + Send),
    output: &mut Vec<u8>,
) -> Option<Queue> {
    let Some(spec) = admitted(peer, args, output) else {
        refuse(peer);
        return None;
    };
    match (spec.command, &mut peer.transaction) {
        (Command::Multi, Some(_)) => error(output, &[b"ERR MULTI calls can not be nested"]),
        (Command::Multi, none) => {
            *none = Some(Transaction::Open(Queue::default()));
            peer.transactions += 1;
            simple(output, "OK");
        }
        (Command::Exec, transaction) => match transaction.take() {
            Some(Transaction::Open(queue)) => return Some(queue),
            Some(Transaction::Refused) => error(output, &[ABORTED]),
            None => error(output, &[b"ERR EXEC without MULTI"]),
        },
        (Command::Discard, transaction) => match transaction.take() {
            Some(_) => simple(output, "OK"),
            None => error(output, &[b"ERR DISCARD without MULTI"]),
        },
        (Command::Watch, Some(_)) => error(output, &[b"ERR WATCH inside MULTI is not allowed"]),
        (Command::Watch, None) => {
            error(output, &[b"ERR WATCH is not supported: buckets are not keys, and EXEC runs without it"]);
        }
        (Command::Quit | Command::Reset, _) | (_, None) => run(peer, spec, args, engine, output).await,
        (_, Some(_)) => enqueue(peer, spec, args, remembered, engine, output),
    }
    None
}

/// Appends the error for an `EXEC` with arguments, which ends the transaction.
pub(super) fn wrong_exec(peer: &mut Peer, output: &mut Vec<u8>) {
    if peer.transaction.take().is_none() {
        return wrong_count(&[b"exec"], output);
    }
    let why = b"EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command";
    error(output, &[why]);
}

/// Checks a command as far as that is possible without deciding it, and copies it into the queue.
fn enqueue(
    peer: &mut Peer,
    spec: &Spec,
    args: &Args<'_, '_>,
    remembered: &mut RememberedTerms,
    engine: &impl Throttle,
    output: &mut Vec<u8>,
) {
    let limits = peer.settings.limits;
    let is_valid = match spec.command {
        Command::Throttle => throttle_is_valid(args, remembered, &limits, engine, output),
        Command::Check => check_is_valid(args, engine, output),
        _ => true,
    };
    if !is_valid {
        return refuse(peer);
    }
    if let Some(Transaction::Open(queue)) = &mut peer.transaction
        && queue.push(args, &limits) == Err(Full)
    {
        let why = format!(
            "ERR transaction is full: at most {} commands and {} bytes; send EXEC earlier, or send the commands without MULTI",
            limits.transaction_commands_max, limits.transaction_bytes_max
        );
        error(output, &[why.as_bytes()]);
        return refuse(peer);
    }
    simple(output, "QUEUED");
}

fn throttle_is_valid(
    args: &Args<'_, '_>,
    remembered: &mut RememberedTerms,
    limits: &Limits,
    engine: &impl Throttle,
    output: &mut Vec<u8>,
) -> bool {
    let read = cell::read(args, remembered, limits);
    match read.and_then(|(ask, _)| engine.accept(&ask.limit).map_err(CellError::Refused)) {
        Ok(()) => true,
        Err(fault) => {
            fault.write(output);
            false
        }
    }
}

fn check_is_valid(args: &Args<'_, '_>, engine: &impl Throttle, output: &mut Vec<u8>) -> bool {
    let read = Described::read(args).map_err(|fault| fault.to_string());
    match read.and_then(|request| engine.accept_check(&request)) {
        Ok(()) => true,
        Err(fault) => {
            error(output, &[b"ERR ", fault.as_bytes()]);
            false
        }
    }
}

/// Marks an open transaction as refused and frees its queue.
fn refuse(peer: &mut Peer) {
    if let Some(transaction) = &mut peer.transaction {
        *transaction = Transaction::Refused;
    }
}
