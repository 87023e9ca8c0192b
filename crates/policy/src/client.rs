//! Whom a standing order is about, as it is true.

use std::fmt;
use std::sync::Arc;

use ipnet::IpNet;

use crate::KeySource;
use crate::condition::reading::Reading;
use crate::key::Key;
use crate::request::Request;

/// One client, or the clients of one network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// The user of this name, whom somebody trustworthy has authenticated.
    User(Box<str>),
    /// Whoever has an address in this network, which is IPv4 if it can be.
    Within(IpNet),
    /// Whoever has this key.
    Key {
        /// What the key is made of.
        shape: Arc<KeyShape>,
        /// Its bytes, as [`crate::Hit::key`] has them.
        key: Box<[u8]>,
    },
}

/// What keys are made of: those of all rules of one shape are comparable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyShape {
    /// Its parts, in order.
    pub keys: Vec<KeySource>,
    /// Claims of tokens that nobody verified here count, too.
    pub trusts_upstream_claims: bool,
}

impl Client {
    /// Whether the request is this client's. If a part of the key is ambiguous in the request, the request has every key
    /// that its values spell, and the anonymous one, for orders that restrict; with more keys than
    /// [`crate::key::KEYS_TRIED_MAX`], it has every key. It has no key for orders that favor. If the token that may name
    /// the user is ambiguous, the request is every user's for orders that restrict, and no user's for orders that favor.
    pub(crate) fn is(&self, request: &Request<'_>, reading: Reading) -> bool {
        match self {
            Client::User(_) if request.has_ambiguous_user() => reading.of_ambiguous(|| true),
            Client::User(user) => request.facts.user == Some(user),
            Client::Within(network) => {
                request.facts.address.is_some_and(|address| network.contains(&address.to_canonical()))
            }
            Client::Key { shape, key } => {
                let mut own = Key::new();
                let is_own = own.build_of(shape, request) == &**key;
                if !own.is_ambiguous() {
                    return is_own;
                }
                reading.of_ambiguous(|| {
                    let mut is_spelt = is_own;
                    let spelt = own.each_spelt(shape, request, &mut |spelt| is_spelt |= spelt == &**key);
                    is_spelt || spelt.is_err()
                })
            }
        }
    }
}

/// As sentences need it: the user is 42.
impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Client::User(user) => write!(f, "the user is `{user}`"),
            Client::Within(network) => write!(f, "the address is in `{network}`"),
            Client::Key { shape, key } => match shape.text_of(key) {
                Some(text) => write!(f, "the key is `{text}`"),
                None => f.write_str("the key is the one that was ordered"),
            },
        }
    }
}
