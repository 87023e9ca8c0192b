//! Who the client is, when proxies of ours stand before us (K3).
//!
//! Promises: a client chooses its address by nothing it sends, as long as every trusted proxy adds the address of its own
//! peer at the right end of the one configured header field. Work and memory do not grow with what it sends.
//! It does not know sockets, nor the PROXY protocol: the door says who the peer is.
//!
//! ```text
//!   client ──► proxy 2 ──► proxy 1 ──► here            X-Forwarded-For: forged, forged, client, proxy 2
//!                                                       the walk:                      ◄────── ◄───── from proxy 1, the peer
//! ```

mod advice;
mod chain;
mod element;
mod node;

#[cfg(test)]
mod honest_proxies;
#[cfg(test)]
mod spoofing;

use std::net::IpAddr;

use ipnet::IpNet;

use crate::{ClientAddressSettings, ForwardingHeader, Headers, Trust};

pub use advice::trust_line;
pub use chain::{ENTRIES_MAX, ENTRY_BYTES_MAX};

/// The client's address, and how it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress {
    /// The client's, or that of the trusted hop beyond which nothing is known. An IPv4-mapped one is IPv4. `None` only if the
    /// peer has no address (a Unix socket) and no trusted hop named one.
    pub address: Option<IpAddr>,
    /// The trusted hop that named this address; `None` if it is the peer's own.
    pub told_by: Option<IpAddr>,
    /// Where the search ended.
    pub ending: Ending,
    /// The peer is no proxy of ours and sent the field all the same: worth a count, and one warning with [`trust_line`].
    pub ignored_forwarding_header: bool,
}

/// Where the search for the client ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// At the peer, which is no proxy of ours.
    Peer,
    /// At an entry that a trusted hop wrote and that is no proxy of ours: the client.
    Client,
    /// At a trusted hop that named nobody: an entry that is no address, is empty, `unknown` or hidden, or is longer than
    /// [`ENTRY_BYTES_MAX`]; a single-value field that occurs twice; a line that [`Headers::each_line`] left out.
    Unreadable,
    /// At a trusted hop, because the field has no more entries: fewer than there are hops, or all of them proxies of ours.
    Exhausted,
    /// At the last of [`ENTRIES_MAX`] trusted hops.
    TooLong,
}

/// Finds the client's address. Allocates nothing.
///
/// - The peer, unless it is trusted: in one of the networks, or any peer at all if a number of hops is trusted.
/// - Then the right-most entry of the field that is not trusted. Several lines of the field are one list, in order.
/// - An entry that names no address ends the walk at the last trusted hop. Nothing is ever skipped leftward.
///
/// A number of hops trusts whoever reaches the port, and one above the true number lets clients choose their address: use it
/// only where nobody can pass by the proxies. One that is too low finds a proxy's address.
#[inline]
pub fn client_address(
    settings: &ClientAddressSettings,
    peer: Option<IpAddr>,
    headers: &dyn Headers,
) -> ClientAddress {
    let peer = peer.map(|address| address.to_canonical());
    let is_trusted = match &settings.trust {
        Trust::Nobody => false,
        Trust::Networks(networks) => peer.is_some_and(|address| is_in(networks, address)),
        Trust::Hops(hops) => *hops > 0,
    };
    if !is_trusted {
        return ClientAddress {
            address: peer,
            told_by: None,
            ending: Ending::Peer,
            ignored_forwarding_header: headers.is_present(settings.header.field_name()),
        };
    }
    named_by_proxies(settings, peer, headers)
}

/// The client's address, if the peer is trusted.
fn named_by_proxies(
    settings: &ClientAddressSettings,
    peer: Option<IpAddr>,
    headers: &dyn Headers,
) -> ClientAddress {
    let (named, ending) = match &settings.header {
        ForwardingHeader::Single(name) => only_entry(headers, name),
        ForwardingHeader::XForwardedFor | ForwardingHeader::Forwarded => chain::walk(settings, headers),
    };
    ClientAddress {
        address: named.map(|named| named.address).or(peer),
        told_by: named.and_then(|named| named.by.or(peer)),
        ending,
        ignored_forwarding_header: false,
    }
}

/// An address that a trusted hop named.
#[derive(Debug, Clone, Copy)]
struct Named {
    address: IpAddr,
    /// That hop; `None` if it is the peer.
    by: Option<IpAddr>,
}

/// The address in a field that holds one. Two of them, or a list, name nobody: one of the two may be the client's own.
fn only_entry(headers: &dyn Headers, name: &str) -> (Option<Named>, Ending) {
    let text = match chain::lines(headers, name) {
        Some(0) => return (None, Ending::Exhausted),
        Some(1) => headers.get(name).filter(|text| text.len() <= ENTRY_BYTES_MAX),
        _ => None,
    };
    match text.and_then(|text| node::address(chain::trimmed(text))) {
        Some(address) => (Some(Named { address, by: None }), Ending::Client),
        None => (None, Ending::Unreadable),
    }
}

/// Whether the address, which is canonical, lies in one of the networks. `::ffff:10.0.0.0/104` means `10.0.0.0/8`, but `::/0`
/// means IPv6 alone.
fn is_in(networks: &[IpNet], address: IpAddr) -> bool {
    let mapped = match address {
        IpAddr::V4(address) => IpAddr::V6(address.to_ipv6_mapped()),
        IpAddr::V6(_) => address,
    };
    networks.iter().any(|network| match network {
        IpNet::V6(v6) if v6.prefix_len() >= 96 => network.contains(&mapped),
        _ => network.contains(&address),
    })
}

impl ForwardingHeader {
    /// The field's name, in lower case.
    pub fn field_name(&self) -> &str {
        match self {
            ForwardingHeader::XForwardedFor => "x-forwarded-for",
            ForwardingHeader::Forwarded => "forwarded",
            ForwardingHeader::Single(name) => name,
        }
    }
}
