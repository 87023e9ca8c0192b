//! `HELLO [2|3 [AUTH user password] [SETNAME name]]` and `AUTH [user] password`.

use super::args::Args;
use super::info::REDIS_VERSION;
use super::number;
use super::peer::Peer;
use super::reply::{Protocol, array, bulk, error, integer, simple};

const WRONG_PASSWORD: &[u8] = b"WRONGPASS invalid username-password pair or user is disabled.";
const HELLO_NEEDS_PASSWORD: &[u8] = b"NOAUTH HELLO must be called with the client already authenticated, otherwise the \
    HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time";
const NO_PASSWORD_CONFIGURED: &[u8] =
    b"ERR AUTH <password> called without any password configured for the default user. \
    Are you sure your configuration is correct?";

/// `AUTH`: has at least one argument.
pub(super) fn auth(peer: &mut Peer, args: &Args<'_, '_>, output: &mut Vec<u8>) {
    let is_right = match (args.count(), args.get(1), args.get(2)) {
        (2, Some(_), _) if peer.settings.password.is_none() => {
            return error(output, &[NO_PASSWORD_CONFIGURED]);
        }
        (2, Some(password), _) => peer.authenticate_default(password),
        (3, Some(user), Some(password)) => peer.authenticate(user, password),
        _ => return error(output, &[b"ERR syntax error"]),
    };
    if is_right { simple(output, "OK") } else { error(output, &[WRONG_PASSWORD]) }
}

/// `HELLO`: changes the protocol, and says what is at this end. Nothing changes if anything is wrong, but that a right password
/// stays given, as in Redis.
pub(super) fn hello(peer: &mut Peer, args: &Args<'_, '_>, output: &mut Vec<u8>) {
    let protocol = match args.get(1).map(number::parse) {
        None => peer.protocol,
        Some(Some(2)) => Protocol::Resp2,
        Some(Some(3)) => Protocol::Resp3,
        Some(Some(_)) => return error(output, &[b"NOPROTO unsupported protocol version"]),
        Some(None) => {
            return error(output, &[b"ERR Protocol version is not an integer or out of range"]);
        }
    };
    let mut name = None;
    let mut at = 2;
    while at < args.count() {
        let (first, second) = (args.get(at + 1), args.get(at + 2));
        match (first, second) {
            (Some(user), Some(password)) if args.is(at, "AUTH") => {
                if !peer.authenticate(user, password) {
                    return error(output, &[WRONG_PASSWORD]);
                }
                at += 3;
            }
            (Some(given), _) if args.is(at, "SETNAME") => {
                name = Some(given);
                at += 2;
            }
            _ => {
                let option = args.get(at).unwrap_or_default();
                return error(output, &[b"ERR Syntax error in HELLO option '", option, b"'"]);
            }
        }
    }
    if !peer.is_authenticated {
        return error(output, &[HELLO_NEEDS_PASSWORD]);
    }
    if let Some(Err(refusal)) = name.map(|name| peer.rename(name)) {
        return error(output, &[refusal.as_bytes()]);
    }
    peer.protocol = protocol;
    introduce(peer, output);
}

/// What Redis says of itself here, with our name.
fn introduce(peer: &Peer, output: &mut Vec<u8>) {
    peer.protocol.map(output, 7);
    for (field, value) in [("server", "tollgate"), ("version", REDIS_VERSION)] {
        bulk(output, field.as_bytes());
        bulk(output, value.as_bytes());
    }
    bulk(output, b"proto");
    integer(output, peer.protocol.number());
    bulk(output, b"id");
    integer(output, i64::try_from(peer.id).unwrap_or(i64::MAX));
    for (field, value) in [("mode", "standalone"), ("role", "master")] {
        bulk(output, field.as_bytes());
        bulk(output, value.as_bytes());
    }
    bulk(output, b"modules");
    array(output, 0);
}
