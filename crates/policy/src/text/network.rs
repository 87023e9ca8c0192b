//! Networks of addresses: `10.0.0.0/8`, or one address.

use std::net::IpAddr;

use ipnet::IpNet;

use super::choice;
use super::found::Found;
use super::tree::{Node, Place};

/// Most networks in one list.
const NETWORKS_MAX: usize = 10_000;

/// One network or a list of them; every one that is none is a mistake.
pub(super) fn read(node: &Node<'_>, field: &str, found: &mut Found) -> Option<Vec<IpNet>> {
    let items = choice::items(node, field, found);
    if items.len() > NETWORKS_MAX {
        found.add(
            node.head(),
            format!("`{field}` lists {} networks", items.len()),
            format!("write at most {NETWORKS_MAX}; join neighbours"),
        );
        return None;
    }
    let networks: Vec<Option<IpNet>> = items.iter().map(|item| one(item, field, found)).collect();
    networks.into_iter().collect::<Option<Vec<_>>>().filter(|networks| !networks.is_empty())
}

fn one(node: &Node<'_>, field: &str, found: &mut Found) -> Option<IpNet> {
    let text = node.scalar().unwrap_or_default();
    let parsed = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    let Some(network) = parsed else {
        found.unfit(
            node,
            field,
            "a network",
            "write an address and its bits, as in `10.0.0.0/8` or `2001:db8::/32`",
        );
        return None;
    };
    sound(network, node.place, found)
}

/// A network without bits of a host, or a mistake; as IPv4 if it can be.
pub(super) fn sound(network: IpNet, place: Place, found: &mut Found) -> Option<IpNet> {
    if network.addr() != network.network() {
        let what = format!("`{network}` has bits set beyond its first {}", network.prefix_len());
        let cure = format!("write `{}`, or `{}` for this one address", network.trunc(), network.addr());
        found.add(place, what, cure);
        return None;
    }
    Some(unmapped(network))
}

/// IPv4 networks that were written as IPv6, as addresses are compared.
fn unmapped(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else { return network };
    let v4 = v6.addr().to_ipv4_mapped().zip(v6.prefix_len().checked_sub(96));
    let v4 = v4.and_then(|(addr, bits)| IpNet::new(addr.into(), bits).ok());
    v4.unwrap_or(network)
}
