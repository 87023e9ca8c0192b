//! Who the client is, and whose word was taken for it, in a sentence.

use std::net::IpAddr;

use tollgate::policy::{ClientAddress, ClientAddressSettings, Ending, ForwardingHeader, Trust, trust_line};

/// How the client was found, or why it was looked for no further.
pub(super) fn of(settings: &ClientAddressSettings, found: &ClientAddress, peer: IpAddr) -> String {
    let (field, peer) = (settings.header.field_name(), peer.to_canonical());
    let Some(client) = found.address else { return String::new() };
    match found.ending {
        Ending::Peer => {
            let why = match settings.trust {
                Trust::Networks(_) => ", which is no trusted proxy",
                Trust::Nobody | Trust::Hops(_) => ": the policy trusts no proxy",
            };
            let ignored = if found.ignored_forwarding_header {
                format!(
                    "; its `{field}` is ignored. If it is a proxy of yours, write {}",
                    trust_line(settings, peer)
                )
            } else {
                String::new()
            };
            format!("the client is the peer, {peer}{why}{ignored}")
        }
        Ending::Client => {
            let by = found.told_by.unwrap_or(peer);
            let (hop, the_peer) = if by == peer {
                (format!("the peer, {by}"), String::new())
            } else {
                (by.to_string(), format!("; the peer is {peer}"))
            };
            let why = match (&settings.trust, &settings.header) {
                (Trust::Hops(1), _) => format!("{hop} in `{field}`, the one hop that is trusted"),
                (Trust::Hops(hops), _) => {
                    format!("{hop} in `{field}`, the last of the {hops} hops that are trusted")
                }
                (_, ForwardingHeader::Single(_)) => format!("{hop}, a trusted proxy, in `{field}`"),
                _ => format!("{hop}, a trusted proxy, in `{field}`, and {client} is no proxy of ours"),
            };
            format!("the client is {client}: so says {why}{the_peer}")
        }
        Ending::Unreadable => format!(
            "the client is taken to be {client}, a trusted proxy: whom it serves cannot be read from `{field}`, and nothing \
             farther left is believed"
        ),
        Ending::Exhausted => format!(
            "the client is taken to be {client}, a trusted proxy: `{field}` does not say whom it serves"
        ),
        Ending::TooLong => format!(
            "the client is taken to be {client}, a trusted proxy: `{field}` has so many of them that it was read no further"
        ),
    }
}

/// Where the search ended, for machines.
pub(super) fn name_of(ending: Ending) -> &'static str {
    match ending {
        Ending::Peer => "peer",
        Ending::Client => "client",
        Ending::Unreadable => "unreadable",
        Ending::Exhausted => "exhausted",
        Ending::TooLong => "too_long",
    }
}
