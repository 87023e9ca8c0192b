//! Entries by the one client or network that they are about: standing orders, of which there may be thousands.
//!
//! Promises work that does not grow with their number: one look-up for the user, one for each length of network that is
//! ordered (at most 33 of IPv4, 129 of IPv6), one for each shape of key, and at most [`crate::key::KEYS_TRIED_MAX`] for each shape
//! whose parts are ambiguous in the request. If the user is ambiguous, or a request spells more keys than are tried, all entries that
//! restrict count, up to the first order that blocks.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use super::{Entry, Weight};
use crate::condition::reading::Reading;
use crate::key::Key;
use crate::request::Request;
use crate::{Client, KeyShape};

/// Entries that are about one client each.
#[derive(Debug, Default)]
pub(super) struct Clients {
    users: HashMap<Box<str>, Vec<Entry>>,
    /// Those about a user that restrict: they count where the user is ambiguous.
    wide_users: WideEntries,
    networks: HashMap<IpNet, Vec<Entry>>,
    /// The lengths of those networks, in bits, each once.
    bits_v4: Vec<u8>,
    bits_v6: Vec<u8>,
    keys: Vec<OfShape>,
}

/// Those that are about a key of one shape.
#[derive(Debug)]
struct OfShape {
    shape: Arc<KeyShape>,
    keys: HashMap<Box<[u8]>, Vec<Entry>>,
    /// Those that restrict: they count where a request spells more keys than are tried.
    wide: WideEntries,
}

/// Entries that restrict, up to the first that refuses whatever it is about: no later one counts.
#[derive(Debug, Default)]
struct WideEntries {
    entries: Vec<Entry>,
    is_complete: bool,
}

impl WideEntries {
    fn file(&mut self, entry: Entry, weight: Weight) {
        if self.is_complete || weight.reading != Reading::Wide {
            return;
        }
        self.entries.push(entry);
        self.is_complete = weight.is_decisive;
    }
}

impl Clients {
    /// Whether there are none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.users.is_empty() && self.networks.is_empty() && self.keys.is_empty()
    }

    pub(super) fn file(&mut self, entry: Entry, client: &Client, weight: Weight) {
        let entries = match client {
            Client::User(user) => {
                self.wide_users.file(entry, weight);
                self.users.entry(user.clone()).or_default()
            }
            Client::Within(network) => {
                let bits = if network.addr().is_ipv4() { &mut self.bits_v4 } else { &mut self.bits_v6 };
                if !bits.contains(&network.prefix_len()) {
                    bits.push(network.prefix_len());
                }
                self.networks.entry(network.trunc()).or_default()
            }
            Client::Key { shape, key } => {
                let at = self.keys.iter().position(|of| of.shape == *shape).unwrap_or_else(|| {
                    let shape = Arc::clone(shape);
                    self.keys.push(OfShape { shape, keys: HashMap::new(), wide: WideEntries::default() });
                    self.keys.len() - 1
                });
                self.keys[at].wide.file(entry, weight);
                self.keys[at].keys.entry(key.clone()).or_default()
            }
        };
        entries.push(entry);
    }

    /// Shows every entry that is about whoever sent the request.
    pub(super) fn visit(&self, request: &Request<'_>, visit: &mut impl FnMut(&Entry)) {
        if let Some(entries) = request.facts.user.and_then(|user| self.users.get(user)) {
            entries.iter().for_each(&mut *visit);
        }
        if !self.wide_users.entries.is_empty() && request.has_ambiguous_user() {
            self.wide_users.entries.iter().for_each(&mut *visit);
        }
        if let Some(address) = request.facts.address.map(|address| address.to_canonical()) {
            self.visit_networks(address, visit);
        }
        for OfShape { shape, keys, wide } in &self.keys {
            let mut key = Key::new();
            if let Some(entries) = keys.get(key.build_of(shape, request)) {
                entries.iter().for_each(&mut *visit);
            }
            if key.is_ambiguous() {
                let spelt = key.each_spelt(shape, request, &mut |key| {
                    keys.get(key).into_iter().flatten().for_each(&mut *visit);
                });
                if spelt.is_err() {
                    wide.entries.iter().for_each(&mut *visit);
                }
            }
        }
    }

    fn visit_networks(&self, address: IpAddr, visit: &mut impl FnMut(&Entry)) {
        let lengths = if address.is_ipv4() { &self.bits_v4 } else { &self.bits_v6 };
        for bits in lengths {
            let network = IpNet::new(address, *bits).ok().map(|network| network.trunc());
            if let Some(entries) = network.and_then(|network| self.networks.get(&network)) {
                entries.iter().for_each(&mut *visit);
            }
        }
    }
}
