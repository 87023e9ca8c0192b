//! The commands that are answered, and `COMMAND`, which lists them.

use super::args::Args;
use super::command::{Command, unknown_subcommand, wrong_count};
use super::peer::Peer;
use super::reply::{array, bulk, integer, simple};

/// One command, as `COMMAND` tells of it.
pub(super) struct Spec {
    /// In lower case.
    pub(super) name: &'static str,
    pub(super) command: Command,
    /// Arguments, the name among them: exactly so many, or at least so many if negative.
    pub(super) arity: i64,
    /// Which argument is a key; 0 if none is.
    key: i64,
    /// Whether it is answered before the password was given.
    pub(super) is_open: bool,
    summary: &'static str,
}

#[rustfmt::skip]
pub(super) const COMMANDS: [Spec; 18] = [
    Spec { name: "auth",           command: Command::Auth,     arity: -2, key: 0, is_open: true,  summary: "Gives the password" },
    Spec { name: "cl.throttle",    command: Command::Throttle, arity: -1, key: 1, is_open: false, summary: "Takes tokens from the bucket of a key, under the limit that is given" },
    Spec { name: "client",         command: Command::Client,   arity: -2, key: 0, is_open: false, summary: "Names this connection and tells of it" },
    Spec { name: "command",        command: Command::Commands, arity: -1, key: 0, is_open: false, summary: "Tells which commands there are" },
    Spec { name: "config",         command: Command::Config,   arity: -2, key: 0, is_open: false, summary: "Tells the settings that benchmarks ask for" },
    Spec { name: "discard",        command: Command::Discard,  arity: 1,  key: 0, is_open: false, summary: "Drops the queued commands" },
    Spec { name: "echo",           command: Command::Echo,     arity: 2,  key: 0, is_open: false, summary: "Answers with its argument" },
    Spec { name: "exec",           command: Command::Exec,     arity: 1,  key: 0, is_open: false, summary: "Runs the queued commands in order" },
    Spec { name: "hello",          command: Command::Hello,    arity: -1, key: 0, is_open: true,  summary: "Chooses the version of the protocol" },
    Spec { name: "info",           command: Command::Info,     arity: -1, key: 0, is_open: false, summary: "Tells of the server" },
    Spec { name: "multi",          command: Command::Multi,    arity: 1,  key: 0, is_open: false, summary: "Queues the commands that follow until EXEC" },
    Spec { name: "ping",           command: Command::Ping,     arity: -1, key: 0, is_open: false, summary: "Answers PONG, or with its argument" },
    Spec { name: "quit",           command: Command::Quit,     arity: -1, key: 0, is_open: true,  summary: "Ends the connection" },
    Spec { name: "reset",          command: Command::Reset,    arity: 1,  key: 0, is_open: true,  summary: "Makes the connection as new" },
    Spec { name: "select",         command: Command::Select,   arity: 2,  key: 0, is_open: false, summary: "Takes 0, the only database" },
    Spec { name: "tollgate.check", command: Command::Check,    arity: -2, key: 0, is_open: false, summary: "Decides a described request by the policy" },
    Spec { name: "unwatch",        command: Command::Unwatch,  arity: 1,  key: 0, is_open: false, summary: "Does nothing: WATCH is not supported" },
    Spec { name: "watch",          command: Command::Watch,    arity: -2, key: 0, is_open: false, summary: "Refused; buckets are not keys" },
];

impl Spec {
    /// The command of that name, in whatever case.
    pub(super) fn of(name: &[u8]) -> Option<&'static Spec> {
        COMMANDS.iter().find(|spec| name.eq_ignore_ascii_case(spec.name.as_bytes()))
    }

    /// Whether it may take tokens.
    fn spends(&self) -> bool {
        matches!(self.command, Command::Check | Command::Throttle)
    }

    /// Returns `true` for the commands of transactions.
    fn is_of_transactions(&self) -> bool {
        use Command::{Discard, Exec, Multi, Unwatch, Watch};
        matches!(self.command, Discard | Exec | Multi | Unwatch | Watch)
    }

    /// Whether it takes so many arguments, the name among them.
    pub(super) fn takes(&self, count: usize) -> bool {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        if self.arity < 0 { count >= -self.arity } else { count == self.arity }
    }
}

/// `COMMAND [COUNT | LIST | INFO [name …] | DOCS [name …]]`.
pub(super) fn commands(peer: &Peer, args: &Args<'_, '_>, output: &mut Vec<u8>) {
    let is = |word| args.is(1, word);
    if args.count() == 1 || (is("INFO") && args.count() == 2) {
        array(output, COMMANDS.len());
        for spec in &COMMANDS {
            write_info(peer, spec, output);
        }
    } else if is("INFO") {
        array(output, args.from(2).count());
        for name in args.from(2) {
            match Spec::of(name) {
                Some(spec) => write_info(peer, spec, output),
                None => peer.protocol.null(output),
            }
        }
    } else if is("DOCS") {
        let is_wanted = |spec: &&Spec| {
            args.count() == 2 || args.from(2).any(|name| name.eq_ignore_ascii_case(spec.name.as_bytes()))
        };
        let wanted: Vec<&Spec> = COMMANDS.iter().filter(is_wanted).collect();
        peer.protocol.map(output, wanted.len());
        for spec in wanted {
            write_docs(peer, spec, output);
        }
    } else if (is("COUNT") || is("LIST")) && args.count() != 2 {
        let subcommand = args.get(1).unwrap_or_default().to_ascii_lowercase();
        wrong_count(&[b"command|", &subcommand], output);
    } else if is("COUNT") {
        integer(output, i64::try_from(COMMANDS.len()).unwrap_or(i64::MAX));
    } else if is("LIST") {
        array(output, COMMANDS.len());
        for spec in &COMMANDS {
            bulk(output, spec.name.as_bytes());
        }
    } else {
        unknown_subcommand(args, "COMMAND", output);
    }
}

/// Name, arity, flags, first key, last key, step, categories, tips, key specifications, subcommands.
fn write_info(peer: &Peer, spec: &Spec, output: &mut Vec<u8>) {
    array(output, 10);
    bulk(output, spec.name.as_bytes());
    integer(output, spec.arity);
    let flags: &[&str] = match (spec.spends(), spec.is_open) {
        (true, _) => &["write", "fast"],
        (false, true) => &["fast", "no_auth"],
        (false, false) => &["fast"],
    };
    let categories: &[&str] = match (spec.spends(), spec.is_of_transactions()) {
        (true, _) => &["@write", "@fast"],
        (false, true) => &["@fast", "@transaction"],
        (false, false) => &["@fast", "@connection"],
    };
    peer.protocol.set(output, flags.len());
    for flag in flags {
        simple(output, flag);
    }
    (0..3).for_each(|_| integer(output, spec.key));
    peer.protocol.set(output, categories.len());
    for category in categories {
        simple(output, category);
    }
    (0..3).for_each(|_| peer.protocol.set(output, 0));
}

fn write_docs(peer: &Peer, spec: &Spec, output: &mut Vec<u8>) {
    bulk(output, spec.name.as_bytes());
    peer.protocol.map(output, 3);
    let group = match (spec.spends(), spec.is_of_transactions()) {
        (true, _) => "module",
        (false, true) => "transactions",
        (false, false) => "connection",
    };
    for (field, value) in [("summary", spec.summary), ("since", "1.0.0"), ("group", group)] {
        bulk(output, field.as_bytes());
        bulk(output, value.as_bytes());
    }
}
