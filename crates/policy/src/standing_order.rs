//! What an operator has ordered until further notice, beside all rules: who, what, why and until when.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::Mode;

/// Most orders that stand at a time.
pub const ORDERS_STANDING_MAX: usize = 20_000;

/// Longest reason of an order, in bytes: that of a kill switch is told to everyone who is refused.
pub const ORDER_REASON_BYTES_MAX: usize = 512;

/// An order that stands until it is revoked or expires. Its rule, if it makes one, is called `order-{id}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingOrder {
    /// Its number. Of two orders about the same thing, the one with the higher number counts.
    pub id: i64,
    /// What is ordered.
    pub order: Order,
    /// Why. That of a kill switch is told to those who are refused.
    pub reason: String,
    /// Who has given it.
    pub author: String,
    /// When it ends, in seconds since 1970. At that second it is nothing. `None`: not by itself.
    pub expires: Option<i64>,
}

/// What is ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Refuses every request of a client.
    Block {
        /// Whose.
        who: Who,
    },
    /// Admits every request of a client, whatever rules say and buckets hold.
    Allow {
        /// Whose.
        who: Who,
    },
    /// Another limit under one rule.
    Override {
        /// The rule, a token bucket.
        rule: String,
        /// For whom.
        who: Who,
        /// Tokens per second, a decimal, or with a unit: `600/m`.
        rate: String,
        /// Tokens that a full bucket holds, a decimal.
        burst: String,
    },
    /// Refuses every request that a rule governs, or simply every request.
    KillSwitch {
        /// The rule; `None`: every request.
        rule: Option<String>,
    },
    /// Another mode of one rule.
    Mode {
        /// The rule.
        rule: String,
        /// Its mode for now.
        mode: Mode,
    },
}

/// Whom an order is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// The user of this name, as somebody trustworthy has authenticated it.
    User(String),
    /// Whoever comes from this address. One client of IPv6 has 2^64 of them: order its network of 64 bits.
    Address(IpAddr),
    /// Whoever comes from this network.
    Network(IpNet),
    /// Whoever has this key under a rule, on whatever request: also on those that the rule does not govern.
    Key {
        /// The rule.
        rule: String,
        /// As [`crate::Rule::key_of`] reads it: `user:42`, `header:x-api-key=abc`.
        key: String,
    },
}

impl Order {
    /// Which kind it is, as it is written: `block`, `kill_switch`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Order::Block { .. } => "block",
            Order::Allow { .. } => "allow",
            Order::Override { .. } => "override",
            Order::KillSwitch { .. } => "kill_switch",
            Order::Mode { .. } => "mode",
        }
    }

    /// The rule that it is about, if it is about one: an override's, a mode's, a kill switch's, or that of a key.
    pub fn rule(&self) -> Option<&str> {
        match self {
            Order::Override { rule, .. } | Order::Mode { rule, .. } => Some(rule),
            Order::KillSwitch { rule } => rule.as_deref(),
            Order::Block { who: Who::Key { rule, .. } } | Order::Allow { who: Who::Key { rule, .. } } => {
                Some(rule)
            }
            Order::Block { .. } | Order::Allow { .. } => None,
        }
    }

    /// Whom it is about, if it is about somebody.
    pub const fn who(&self) -> Option<&Who> {
        match self {
            Order::Block { who } | Order::Allow { who } | Order::Override { who, .. } => Some(who),
            Order::KillSwitch { .. } | Order::Mode { .. } => None,
        }
    }
}

impl Who {
    /// Which kind it is, as it is written: `user`, `network`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Who::User(_) => "user",
            Who::Address(_) => "address",
            Who::Network(_) => "network",
            Who::Key { .. } => "key",
        }
    }

    /// Who it is, as it is written.
    pub fn name(&self) -> String {
        match self {
            Who::User(name) | Who::Key { key: name, .. } => name.clone(),
            Who::Address(address) => address.to_string(),
            Who::Network(network) => network.to_string(),
        }
    }
}
