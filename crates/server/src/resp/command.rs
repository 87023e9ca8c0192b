//! Every command but `CL.THROTTLE`. Only `TOLLGATE.CHECK` asks the engine.

use super::args::Args;
use super::cell::NAME;
use super::cell_error::ECHO_BYTES_MAX;
use super::check::check;
use super::client::client;
use super::command_table::{Spec, commands};
use super::hello::{auth, hello};
use super::info::{config, info};
use super::number;
use super::peer::Peer;
use super::reply::{bulk, error, simple};
use super::throttle::Throttle;
use super::transaction::wrong_exec;

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Auth,
    Check,
    Client,
    Commands,
    Config,
    Discard,
    Echo,
    Exec,
    Hello,
    Info,
    Multi,
    Ping,
    Quit,
    Reset,
    Select,
    Throttle,
    Unwatch,
    Watch,
}

/// Words that only HTTP begins a line with. A page in somebody's browser can make it send any text here in the body of a POST, so
/// nothing behind them is looked at. Redis closes on the same two.
const HTTP: [&str; 2] = ["POST", "Host:"];

/// Returns `true` if the request is a `CL.THROTTLE` that is to be decided now: the client is authenticated, and no transaction is open.
#[inline]
pub(super) fn is_throttle(peer: &Peer, args: &Args<'_, '_>) -> bool {
    let name = args.name();
    // Nearly everybody writes it in one of two ways.
    peer.is_authenticated
        && peer.transaction.is_none()
        && (name == NAME.as_bytes() || name == b"cl.throttle" || name.eq_ignore_ascii_case(NAME.as_bytes()))
}

/// Returns the command of a request that the client may send now, with the right number of arguments. Otherwise appends the error.
pub(super) fn admitted(peer: &mut Peer, args: &Args<'_, '_>, output: &mut Vec<u8>) -> Option<&'static Spec> {
    if HTTP.iter().any(|word| args.is(0, word)) {
        peer.is_closing = true;
        error(output, &[b"ERR this listener speaks the Redis protocol, not HTTP"]);
        return None;
    }
    let spec = Spec::of(args.name());
    if !peer.is_authenticated && !spec.is_some_and(|spec| spec.is_open) {
        error(output, &[b"NOAUTH Authentication required."]);
        return None;
    }
    let Some(spec) = spec else {
        unknown(args, output);
        return None;
    };
    let takes_one = matches!(spec.command, Command::Ping) && args.count() > 2;
    if !takes_one && spec.takes(args.count()) {
        return Some(spec);
    }
    match spec.command {
        Command::Exec => wrong_exec(peer, output),
        _ => wrong_count(&[spec.name.as_bytes()], output),
    }
    None
}

/// Runs a command that [`admitted`] returned and appends its one reply.
pub(super) async fn run(
    peer: &mut Peer,
    spec: &Spec,
    args: &Args<'_, '_>,
    engine: &mut (impl Throttle + Send),
    output: &mut Vec<u8>,
) {
    let argument = args.get(1);
    match spec.command {
        Command::Auth => auth(peer, args, output),
        Command::Check => check(peer, args, engine, output).await,
        Command::Client => client(peer, args, output),
        Command::Commands => commands(peer, args, output),
        Command::Config => config(peer, args, output),
        Command::Hello => hello(peer, args, output),
        Command::Info => info(peer, args, output),
        Command::Echo | Command::Ping => match argument {
            Some(message) => bulk(output, message),
            None => simple(output, "PONG"),
        },
        Command::Quit => {
            peer.is_closing = true;
            simple(output, "OK");
        }
        Command::Reset => {
            peer.reset();
            simple(output, "RESET");
        }
        Command::Select => match argument.and_then(number::parse) {
            Some(0) => simple(output, "OK"),
            Some(_) => error(output, &[b"ERR DB index is out of range"]),
            None => error(output, &[b"ERR value is not an integer or out of range"]),
        },
        Command::Unwatch => simple(output, "OK"),
        // The batch or the transaction took these before.
        Command::Discard | Command::Exec | Command::Multi | Command::Throttle | Command::Watch => {
            unknown(args, output);
        }
    }
}

/// Appends Redis' words for a wrong number of arguments; `name` in parts, in lower case.
pub(super) fn wrong_count(name: &[&[u8]], output: &mut Vec<u8>) {
    error(output, &[b"ERR wrong number of arguments for '", &name.concat(), b"' command"]);
}

/// Appends Redis' words for a subcommand that a command does not have.
pub(super) fn unknown_subcommand(args: &Args<'_, '_>, command: &str, output: &mut Vec<u8>) {
    let subcommand = first_bytes(args.get(1).unwrap_or_default(), ECHO_BYTES_MAX);
    error(output, &[b"ERR unknown subcommand '", subcommand, b"'. Try ", command.as_bytes(), b" HELP."]);
}

/// Appends Redis' words for a command that there is none of: its name and its first arguments, 128 bytes of each kind.
fn unknown(args: &Args<'_, '_>, output: &mut Vec<u8>) {
    let mut beginning = Vec::new();
    for argument in args.from(1) {
        if beginning.len() >= ECHO_BYTES_MAX {
            break;
        }
        let room = ECHO_BYTES_MAX - beginning.len();
        beginning.push(b'\'');
        beginning.extend_from_slice(first_bytes(argument, room));
        beginning.extend_from_slice(b"' ");
    }
    let name = first_bytes(args.name(), ECHO_BYTES_MAX);
    error(output, &[b"ERR unknown command '", name, b"', with args beginning with: ", &beginning]);
}

/// As much of an argument as is shown in an error.
pub(super) fn first_bytes(bytes: &[u8], bytes_max: usize) -> &[u8] {
    bytes.get(..bytes_max).unwrap_or(bytes)
}
