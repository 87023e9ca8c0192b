//! An order as it is stored: columns of text, which somebody may have written by hand.

use std::fmt;

use serde::Serialize;
use tollgate_policy::{Mode, Order, Who};

use super::order::{BURST_CURE, RATE_CURE, is_rate};
use crate::session::Row;
use crate::{RecordsError, Timestamp, decimal_text};

/// An order as it is stored. What it orders is [`OrderRecord::order`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OrderRecord {
    /// Its number.
    pub order_id: i64,
    /// `block`, `allow`, `override`, `kill_switch` or `mode`.
    pub kind: String,
    /// The rule that it is about.
    pub rule: Option<String>,
    /// `user`, `address`, `network` or `key`.
    pub who_kind: Option<String>,
    /// Whom it is about.
    pub who: Option<String>,
    /// Tokens per second, or with a unit as in `600/m`, of an override.
    pub rate: Option<String>,
    /// Tokens, of an override.
    pub burst: Option<String>,
    /// `shadow`, `enforce` or `off`.
    pub mode: Option<String>,
    /// Why it was given.
    pub reason: String,
    /// Who gave it.
    pub author: String,
    /// When it was given.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was ended.
    pub revoked_at: Option<Timestamp>,
    /// Who ended it.
    pub revoked_by: Option<String>,
}

/// What is wrong with an order that was written by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderMistake {
    /// Which order.
    pub order_id: i64,
    /// Which column.
    pub field: &'static str,
    /// What is wrong, and the cure.
    pub why: String,
}

impl OrderRecord {
    /// Whether it stands at a moment: neither revoked nor past its expiry.
    pub fn stands_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires_at| expires_at > now)
    }

    /// What it orders.
    pub fn order(&self) -> Result<Order, OrderMistake> {
        match self.kind.as_str() {
            "block" => Ok(Order::Block { who: self.who()? }),
            "allow" => Ok(Order::Allow { who: self.who()? }),
            "override" => Ok(Order::Override {
                rule: self.needed("rule", self.rule.as_ref())?.clone(),
                who: self.who()?,
                rate: self.rate()?,
                burst: self.burst()?,
            }),
            "kill_switch" => Ok(Order::KillSwitch { rule: self.rule.clone() }),
            "mode" => {
                let mode = self.needed("mode", self.mode.as_ref())?;
                let mode = Mode::parse(mode)
                    .ok_or_else(|| self.mistake("mode", mode, "write shadow, enforce or off"))?;
                Ok(Order::Mode { rule: self.needed("rule", self.rule.as_ref())?.clone(), mode })
            }
            other => Err(self.mistake("kind", other, "write block, allow, override, kill_switch or mode")),
        }
    }

    fn who(&self) -> Result<Who, OrderMistake> {
        let (kind, who) =
            (self.needed("who_kind", self.who_kind.as_ref())?, self.needed("who", self.who.as_ref())?);
        match kind.as_str() {
            "user" => Ok(Who::User(who.clone())),
            "address" => who
                .parse()
                .map(Who::Address)
                .map_err(|_| self.mistake("who", who, "write an address like 192.0.2.7")),
            "network" => who
                .parse()
                .map(Who::Network)
                .map_err(|_| self.mistake("who", who, "write a network like 192.0.2.0/24")),
            "key" => {
                Ok(Who::Key { rule: self.needed("rule", self.rule.as_ref())?.clone(), key: who.clone() })
            }
            other => Err(self.mistake("who_kind", other, "write user, address, network or key")),
        }
    }

    fn needed<'a>(&self, field: &'static str, value: Option<&'a String>) -> Result<&'a String, OrderMistake> {
        value.ok_or_else(|| OrderMistake {
            order_id: self.order_id,
            field,
            why: format!("is missing, and an order of kind `{}` needs it", self.kind),
        })
    }

    /// A decimal in its one spelling; one with a unit as it was typed.
    fn rate(&self) -> Result<String, OrderMistake> {
        let rate = self.needed("rate", self.rate.as_ref())?;
        let number = decimal_text::canonical(rate).unwrap_or_else(|| rate.clone());
        if is_rate(&number) { Ok(number) } else { Err(self.mistake("rate", rate, RATE_CURE)) }
    }

    fn burst(&self) -> Result<String, OrderMistake> {
        let burst = self.needed("burst", self.burst.as_ref())?;
        let number = decimal_text::canonical(burst).filter(|number| number != "0");
        number.ok_or_else(|| self.mistake("burst", burst, BURST_CURE))
    }

    fn mistake(&self, field: &'static str, value: &str, cure: &str) -> OrderMistake {
        OrderMistake {
            order_id: self.order_id,
            field,
            why: format!("is \"{}\"; {cure}", value.escape_debug()),
        }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn read(row: &Row) -> Result<OrderRecord, RecordsError> {
        Ok(OrderRecord {
            order_id: row.get("order_id")?,
            kind: row.text("kind")?.unwrap_or_default(),
            rule: row.text("rule")?,
            who_kind: row.text("who_kind")?,
            who: row.text("who")?,
            rate: row.text("rate")?,
            burst: row.text("burst")?,
            mode: row.text("mode")?,
            reason: row.text("reason")?.unwrap_or_default(),
            author: row.text("author")?.unwrap_or_default(),
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            revoked_at: row.get("revoked_at")?,
            revoked_by: row.text("revoked_by")?,
        })
    }
}

impl fmt::Display for OrderMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "order {}: `{}` {}", self.order_id, self.field, self.why)
    }
}

impl std::error::Error for OrderMistake {}
