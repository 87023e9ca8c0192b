//! Which node has which slot: what `CLUSTER SLOTS` says.

use super::Address;
use super::slot::SLOTS;
use crate::Reply;

/// Most nodes of a cluster, as its makers recommend.
pub(crate) const NODES_MAX: usize = 1_000;
/// No node.
const NOBODY: u16 = u16::MAX;

/// The master of each slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlotMap {
    /// Index into the masters.
    owners: Vec<u16>,
    masters: Vec<Address>,
}

impl SlotMap {
    /// Reads the answer of `asked`. `None` if it is no such answer.
    pub(crate) fn read(reply: &Reply, asked: &Address) -> Option<SlotMap> {
        let Reply::List(ranges) = reply else { return None };
        let mut map = SlotMap { owners: vec![NOBODY; usize::from(SLOTS)], masters: Vec::new() };
        for range in ranges {
            let Reply::List(range) = range else { return None };
            let [Reply::Integer(first), Reply::Integer(last), Reply::List(master), ..] = &range[..] else {
                return None;
            };
            let (first, last) = (usize::try_from(*first).ok()?, usize::try_from(*last).ok()?);
            let Some(address) = read_node(master, asked) else { continue };
            let owner = map.number(address)?;
            map.owners.get_mut(first..=last)?.fill(owner);
        }
        Some(map)
    }

    fn number(&mut self, address: Address) -> Option<u16> {
        let at = self.masters.iter().position(|known| *known == address).or_else(|| {
            self.masters.push(address);
            (self.masters.len() <= NODES_MAX).then(|| self.masters.len() - 1)
        });
        u16::try_from(at?).ok()
    }

    /// Who has a slot.
    pub(crate) fn owner(&self, slot: u16) -> Option<&Address> {
        let owner = self.owners.get(usize::from(slot))?;
        self.masters.get(usize::from(*owner))
    }

    /// The number of who has a slot, among the masters.
    pub(crate) fn owner_number(&self, slot: u16) -> Option<usize> {
        let owner = usize::from(*self.owners.get(usize::from(slot))?);
        (owner < self.masters.len()).then_some(owner)
    }

    /// All who have one.
    pub(crate) fn masters(&self) -> &[Address] {
        &self.masters
    }
}

/// A node that does not know its own name is where we asked.
fn read_node(node: &[Reply], asked: &Address) -> Option<Address> {
    let [host, Reply::Integer(port), ..] = node else { return None };
    let port = u16::try_from(*port).ok().filter(|port| *port != 0)?;
    match (host, asked) {
        (Reply::Bytes(host), _) if !host.is_empty() => {
            let host = std::str::from_utf8(host).ok().filter(|host| *host != "?")?;
            Some(Address::Tcp(host.to_owned(), port))
        }
        (_, Address::Tcp(host, _)) => Some(Address::Tcp(host.clone(), port)),
        _ => None,
    }
}

/// Where a server sends us: `MOVED slot host:port` or `ASK slot host:port`. An empty host is that of whoever says so.
pub(crate) fn read_redirect(said: &str, sayer: &Address) -> Option<(bool, Address)> {
    let mut words = said.split(' ');
    let is_ask = match words.next() {
        Some("MOVED") => false,
        Some("ASK") => true,
        _ => return None,
    };
    let place = words.nth(1)?;
    let address = match (place.strip_prefix(':'), sayer) {
        // More colons are an IPv6 address.
        (Some(port), Address::Tcp(host, _)) if !port.contains(':') => {
            Address::told(&format!("{host}:{port}"))
        }
        _ => Address::told(place),
    };
    address.map(|address| (is_ask, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp(host.to_owned(), port)
    }

    fn range(first: i64, last: i64, host: Reply, port: i64) -> Reply {
        let master = Reply::List(vec![host, Reply::Integer(port), Reply::Bytes(b"id".to_vec())]);
        Reply::List(vec![Reply::Integer(first), Reply::Integer(last), master])
    }

    #[test]
    fn every_slot_knows_its_master_and_gaps_know_none() {
        let ranges = vec![
            range(0, 99, Reply::Bytes(b"10.0.0.1".to_vec()), 7000),
            range(200, 16_383, Reply::Bytes(Vec::new()), 7001),
            range(100, 100, Reply::Nothing, 7002),
            range(101, 101, Reply::Bytes(b"?".to_vec()), 7003),
        ];
        let map = SlotMap::read(&Reply::List(ranges), &tcp("seed", 1)).unwrap();
        assert_eq!(map.owner(99), Some(&tcp("10.0.0.1", 7000)));
        assert_eq!(map.owner(16_383), Some(&tcp("seed", 7001)));
        assert_eq!(map.owner(100), Some(&tcp("seed", 7002)));
        assert_eq!(map.owner(101), None);
        assert_eq!(map.owner(150), None);
        assert_eq!(map.masters().len(), 3);
    }

    #[test]
    fn nonsense_is_no_map() {
        let host = || Reply::Bytes(b"h".to_vec());
        for reply in [
            Reply::Nothing,
            Reply::List(vec![Reply::Integer(1)]),
            Reply::List(vec![range(0, 16_384, host(), 1)]),
            Reply::List(vec![range(-1, 5, host(), 1)]),
            Reply::List(vec![range(5, 4, host(), 1), range(1 << 40, 1 << 41, host(), 1)]),
        ] {
            assert_eq!(SlotMap::read(&reply, &tcp("h", 1)), None, "{reply:?}");
        }
    }

    #[test]
    fn redirects_are_read_whoever_words_them() {
        let sayer = tcp("10.0.0.9", 1);
        let read = |said| read_redirect(said, &sayer);
        assert_eq!(read("MOVED 3999 127.0.0.1:6381"), Some((false, tcp("127.0.0.1", 6381))));
        assert_eq!(read("ASK 3999 ::1:6381"), Some((true, tcp("::1", 6381))));
        assert_eq!(read("MOVED 3999 :6381"), Some((false, tcp("10.0.0.9", 6381))));
        for other in ["MOVED", "MOVED 1", "MOVED 1 h", "MOVED 1 h:0", "ERR no", ""] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
