//! What can be ordered.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::limits;
use crate::{DECIMAL_BYTES_MAX, KEY_BYTES_MAX, NAME_BYTES_MAX, RecordsError, decimal_text};

/// What is ordered. It comes before every rule of file and database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// The client is denied.
    Block {
        /// Which client.
        who: Who,
    },
    /// The client is admitted, whatever its buckets hold.
    Allow {
        /// Which client.
        who: Who,
    },
    /// The client has another limit under one rule.
    Override {
        /// Which rule.
        rule: String,
        /// Which client.
        who: Who,
        /// Tokens per second, as decimal text above 0.
        rate: String,
        /// Tokens, as decimal text above 0.
        burst: String,
    },
    /// One rule, or all of them, are switched off as the policy says.
    KillSwitch {
        /// Which rule; `None` is all.
        rule: Option<String>,
    },
    /// One rule watches, is enforced, or is off.
    Mode {
        /// Which rule.
        rule: String,
        /// What it does.
        mode: OrderMode,
    },
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderMode {
    /// It watches, and denies nobody.
    Shadow,
    /// It is enforced.
    Enforce,
    /// It is as if it were not there.
    Off,
}

/// Whom an order is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// A user by name.
    User(String),
    /// One address.
    Address(IpAddr),
    /// Every address of a network.
    Network(IpNet),
    /// Whoever has this key under a rule, as an operator types it.
    Key {
        /// Which rule.
        rule: String,
        /// Which key.
        key: String,
    },
}

/// An order as columns.
pub(super) struct Columns<'a> {
    pub(super) kind: &'static str,
    pub(super) rule: Option<&'a str>,
    pub(super) who_kind: Option<&'static str>,
    pub(super) who: Option<String>,
    pub(super) rate: Option<&'a str>,
    pub(super) burst: Option<&'a str>,
    pub(super) mode: Option<&'static str>,
}

impl OrderMode {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shadow => "shadow",
            Self::Enforce => "enforce",
            Self::Off => "off",
        }
    }

    /// As it was written.
    pub fn parse(text: &str) -> Option<OrderMode> {
        [Self::Shadow, Self::Enforce, Self::Off].into_iter().find(|mode| mode.as_str() == text)
    }
}

impl Who {
    /// Which kind it is, as it is written.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Address(_) => "address",
            Self::Network(_) => "network",
            Self::Key { .. } => "key",
        }
    }

    /// Who it is, as it is written.
    pub fn name(&self) -> String {
        match self {
            Self::User(name) | Self::Key { key: name, .. } => name.clone(),
            Self::Address(address) => address.to_string(),
            Self::Network(network) => network.to_string(),
        }
    }

    fn check(&self) -> Result<(), RecordsError> {
        if let Who::Key { rule, .. } = self {
            limits::text("rule", rule, NAME_BYTES_MAX)?;
        }
        limits::text("who", &self.name(), KEY_BYTES_MAX)
    }
}

impl Order {
    /// Which kind it is, as it is written.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Block { .. } => "block",
            Self::Allow { .. } => "allow",
            Self::Override { .. } => "override",
            Self::KillSwitch { .. } => "kill_switch",
            Self::Mode { .. } => "mode",
        }
    }

    /// The rule that it is about, if it is about one: an override's, a mode's, a kill switch's, or that of a key.
    pub fn rule(&self) -> Option<&str> {
        match self {
            Self::Override { rule, .. } | Self::Mode { rule, .. } => Some(rule),
            Self::KillSwitch { rule } => rule.as_deref(),
            Self::Block { who: Who::Key { rule, .. } } | Self::Allow { who: Who::Key { rule, .. } } => {
                Some(rule)
            }
            Self::Block { .. } | Self::Allow { .. } => None,
        }
    }

    /// Whom it is about, if it is about somebody.
    pub fn who(&self) -> Option<&Who> {
        match self {
            Self::Block { who } | Self::Allow { who } | Self::Override { who, .. } => Some(who),
            Self::KillSwitch { .. } | Self::Mode { .. } => None,
        }
    }

    pub(super) fn check(&self) -> Result<(), RecordsError> {
        if let Some(rule) = self.rule() {
            limits::text("rule", rule, NAME_BYTES_MAX)?;
        }
        if let Some(who) = self.who() {
            who.check()?;
        }
        if let Self::Override { rule, who, rate, burst } = self {
            if let Who::Key { rule: other, .. } = who
                && other != rule
            {
                let why = format!("is a key of `{other}`, and the override is of `{rule}`; name one rule");
                return Err(RecordsError::Invalid { field: "who", why });
            }
            above_zero("rate", rate)?;
            above_zero("burst", burst)?;
        }
        Ok(())
    }

    pub(super) fn columns(&self) -> Columns<'_> {
        let (rate, burst) = match self {
            Self::Override { rate, burst, .. } => (Some(rate.as_str()), Some(burst.as_str())),
            _ => (None, None),
        };
        let mode = match self {
            Self::Mode { mode, .. } => Some(mode.as_str()),
            _ => None,
        };
        let who = self.who();
        Columns {
            kind: self.kind(),
            rule: self.rule(),
            who_kind: who.map(Who::kind),
            who: who.map(Who::name),
            rate,
            burst,
            mode,
        }
    }
}

fn above_zero(field: &'static str, number: &str) -> Result<(), RecordsError> {
    limits::text(field, number, DECIMAL_BYTES_MAX)?;
    match decimal_text::canonical(number) {
        Some(number) if number != "0" => Ok(()),
        _ => Err(RecordsError::Invalid {
            field,
            why: format!("is \"{}\"; write a number above 0", number.escape_debug()),
        }),
    }
}
