//! `CLIENT …`: what client libraries say of themselves when they connect, answered and mostly forgotten.

use super::args::Args;
use super::command::{unknown_subcommand, wrong_count};
use super::peer::Peer;
use super::reply::{array, bulk, error, integer, simple};

const HELP: [&str; 17] = [
    "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "GETNAME",
    "    Return the name of the current connection.",
    "ID",
    "    Return the ID of the current connection.",
    "INFO",
    "    Return information about the current client connection.",
    "NO-EVICT (ON|OFF)",
    "NO-TOUCH (ON|OFF)",
    "    Accepted; there is nothing to switch.",
    "REPLY ON",
    "SETINFO (LIB-NAME|LIB-VER) <value>",
    "    Accepted and forgotten.",
    "SETNAME <name>",
    "    Assign the name <name> to the current connection.",
    "TRACKING OFF",
    "HELP",
];

/// `CLIENT`: has at least a subcommand.
pub(super) fn client(peer: &mut Peer, args: &Args<'_, '_>, output: &mut Vec<u8>) {
    let subcommand = args.get(1).unwrap_or_default().to_ascii_lowercase();
    let expected = match subcommand.as_slice() {
        b"getname" | b"help" | b"id" | b"info" | b"list" => 2..=2,
        b"no-evict" | b"no-touch" | b"reply" | b"setname" => 3..=3,
        b"setinfo" => 4..=4,
        b"tracking" => 3..=usize::MAX,
        _ => return unknown_subcommand(args, "CLIENT", output),
    };
    if !expected.contains(&args.count()) {
        return wrong_count(&[b"client|", &subcommand], output);
    }
    let is = |word| args.is(2, word);
    match subcommand.as_slice() {
        b"getname" if peer.name.is_empty() => peer.protocol.null(output),
        b"getname" => bulk(output, &peer.name),
        b"id" => integer(output, i64::try_from(peer.id).unwrap_or(i64::MAX)),
        b"info" | b"list" => describe(peer, output),
        b"setname" => match peer.rename(args.get(2).unwrap_or_default()) {
            Ok(()) => simple(output, "OK"),
            Err(refusal) => error(output, &[refusal.as_bytes()]),
        },
        b"setinfo" => simple(output, "OK"),
        b"no-evict" | b"no-touch" if is("ON") || is("OFF") => simple(output, "OK"),
        b"reply" if is("ON") => simple(output, "OK"),
        b"reply" if is("OFF") || is("SKIP") => {
            error(output, &[b"ERR every command has a reply here; leave CLIENT REPLY ON"]);
        }
        b"tracking" if is("OFF") => simple(output, "OK"),
        b"tracking" if is("ON") => {
            error(output, &[b"ERR there is nothing to track here; leave CLIENT TRACKING OFF"]);
        }
        b"help" => {
            array(output, HELP.len());
            for line in HELP {
                simple(output, line);
            }
        }
        _ => error(output, &[b"ERR syntax error"]),
    }
}

/// One line about this connection; of others nothing is known here.
fn describe(peer: &Peer, output: &mut Vec<u8>) {
    let name = String::from_utf8_lossy(&peer.name);
    let line = format!("id={} name={name} db=0 user=default resp={}\n", peer.id, peer.protocol.number());
    peer.protocol.text(output, &line);
}
