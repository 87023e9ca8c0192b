//! `INFO` and `CONFIG GET`: what clients and benchmarks look for before they begin.

use super::args::Args;
use super::command::{unknown_subcommand, wrong_count};
use super::peer::Peer;
use super::reply::bulk;

/// The Redis whose dialect is spoken here; clients choose what they dare to send by it.
pub(super) const REDIS_VERSION: &str = "7.0.0";
/// Sections of `INFO` that our only one stands for.
const SECTIONS: [&str; 5] = ["server", "persistence", "default", "all", "everything"];
/// Settings that `redis-benchmark` asks for.
const CONFIGURED: [(&str, &str); 2] = [("save", ""), ("appendonly", "no")];

/// `INFO [section …]`.
pub(super) fn info(peer: &Peer, args: &Args<'_, '_>, output: &mut Vec<u8>) {
    let is_asked_for = args.count() == 1
        || args
            .from(1)
            .any(|asked| SECTIONS.iter().any(|section| asked.eq_ignore_ascii_case(section.as_bytes())));
    if !is_asked_for {
        return peer.protocol.text(output, "");
    }
    let version = env!("CARGO_PKG_VERSION");
    let server = format!(
        "# Server\r\nredis_version:{REDIS_VERSION}\r\ntollgate_version:{version}\r\nredis_mode:standalone\r\n\
         \r\n# Persistence\r\nloading:0\r\n"
    );
    peer.protocol.text(output, &server);
}

/// `CONFIG`: has at least a subcommand; only `GET` is known.
pub(super) fn config(peer: &Peer, args: &Args<'_, '_>, output: &mut Vec<u8>) {
    if !args.is(1, "GET") {
        return unknown_subcommand(args, "CONFIG", output);
    }
    if args.count() < 3 {
        return wrong_count(&[b"config|get"], output);
    }
    let is_wanted = |name: &str| args.from(2).any(|asked| asked.eq_ignore_ascii_case(name.as_bytes()));
    let wanted: Vec<_> = CONFIGURED.into_iter().filter(|(name, _)| is_wanted(name)).collect();
    peer.protocol.map(output, wanted.len());
    for (name, value) in wanted {
        bulk(output, name.as_bytes());
        bulk(output, value.as_bytes());
    }
}
