//! The walk along a list of hops, from its right end: the entries nearest to us were written by those nearest to us.
//!
//! Promises to read at most [`ENTRIES_MAX`] entries and [`ENTRY_BYTES_MAX`] bytes of each, however many there are.

use std::net::IpAddr;

use crate::{ClientAddressSettings, ForwardingHeader, Headers, Trust};

use super::{Ending, Named, element, is_in, node};

/// So many entries are read at most, from the right; real chains have fewer than ten. Beyond, the walk has ended.
pub const ENTRIES_MAX: usize = 32;

/// Longest entry that is read, in bytes. An address needs 47 of them, but an element of `Forwarded` may name the host that the
/// client asked for, and a long one must not hide the client.
pub const ENTRY_BYTES_MAX: usize = 8_192;

/// Walks from the right to the first entry that is no trusted hop; the last address it came by, if any, and why it ended.
pub(super) fn walk(settings: &ClientAddressSettings, headers: &dyn Headers) -> (Option<Named>, Ending) {
    let name = settings.header.field_name();
    // Where a line that was left out stood is unknown, so nothing can be said to be on its right.
    let Some(lines) = lines(headers, name) else { return (None, Ending::Unreadable) };
    let mut walk = Walk { settings, entries: 0, nearest: None };
    // Lines are handed out from the left and cannot be kept, so each is asked for anew; a line has at least one entry.
    for wanted in (0..lines).rev() {
        let mut at = 0;
        let mut ending = None;
        headers.each_line(name, &mut |line| {
            if at == wanted {
                ending = walk.along(line);
            }
            at += 1;
        });
        if let Some(ending) = ending {
            return (walk.nearest, ending);
        }
    }
    (walk.nearest, Ending::Exhausted)
}

/// How often the field occurs; `None` if lines of it are kept from us.
pub(super) fn lines(headers: &dyn Headers, name: &str) -> Option<usize> {
    let (mut lines, mut readable) = (0_usize, 0_usize);
    headers.each_line(name, &mut |_| readable += 1);
    headers.each_name(&mut |field| lines += usize::from(field.eq_ignore_ascii_case(name)));
    (lines == readable).then_some(lines)
}

/// The text without the white space that HTTP allows around it. No other is forgiven.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

struct Walk<'a> {
    settings: &'a ClientAddressSettings,
    /// Entries read so far.
    entries: usize,
    /// The last of them.
    nearest: Option<Named>,
}

impl Walk<'_> {
    /// Goes along one line; why the walk ended, if it did.
    fn along(&mut self, line: &[u8]) -> Option<Ending> {
        let mut rest = Some(line);
        while let Some(line) = rest {
            let Some((before, entry)) = self.last_entry(line) else { return Some(Ending::Unreadable) };
            if let Some(ending) = self.step(self.address(entry)) {
                return Some(ending);
            }
            rest = before;
        }
        None
    }

    /// Takes one entry; why the walk ends there, if it does.
    fn step(&mut self, entry: Option<IpAddr>) -> Option<Ending> {
        let Some(address) = entry else { return Some(Ending::Unreadable) };
        self.nearest = Some(Named { address, by: self.nearest.map(|nearer| nearer.address) });
        self.entries += 1;
        let is_trusted = match &self.settings.trust {
            Trust::Nobody => false,
            Trust::Networks(networks) => is_in(networks, address),
            Trust::Hops(hops) => self.entries < usize::from(*hops),
        };
        match (is_trusted, self.entries) {
            (false, _) => Some(Ending::Client),
            (true, ENTRIES_MAX) => Some(Ending::TooLong),
            (true, _) => None,
        }
    }

    /// What precedes the last comma of the line, if there is one, and what follows; `None` if that is too long.
    fn last_entry<'l>(&self, line: &'l [u8]) -> Option<(Option<&'l [u8]>, &'l [u8])> {
        let comma = match self.settings.header {
            ForwardingHeader::Forwarded => element::last_comma(line, ENTRY_BYTES_MAX),
            _ => line.iter().rev().take(ENTRY_BYTES_MAX + 1).position(|byte| *byte == b','),
        };
        match comma {
            Some(behind) => {
                let at = line.len() - behind - 1;
                Some((Some(&line[..at]), &line[at + 1..]))
            }
            None => (line.len() <= ENTRY_BYTES_MAX).then_some((None, line)),
        }
    }

    fn address(&self, entry: &[u8]) -> Option<IpAddr> {
        let entry = trimmed(std::str::from_utf8(entry).ok()?);
        match self.settings.header {
            ForwardingHeader::Forwarded => element::address(entry),
            _ => node::address(entry),
        }
    }
}
