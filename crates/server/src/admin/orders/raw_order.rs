//! An order as it was typed, and what it means.

use serde::Deserialize;
use tollgate::policy::{Mode, ORDER_REASON_BYTES_MAX, Order, Who};
use tollgate_records::NewOrder;

use crate::admin::moment;
use crate::http::{Problem, shown};

/// An order as it was typed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawOrder {
    kind: String,
    rule: Option<String>,
    who: Option<String>,
    rate: Option<NumberOrText>,
    burst: Option<NumberOrText>,
    mode: Option<String>,
    reason: String,
    expires: Option<String>,
}

/// `10` or `"10"`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(serde_json::Number),
    Text(String),
}

impl RawOrder {
    /// What it means, if it is now so many seconds after 1970.
    pub(super) fn read(mut self, unix_s: u64) -> Result<NewOrder, Problem> {
        if self.reason.trim().is_empty() {
            let detail = "`reason` is missing; say why, for the audit trail".to_owned();
            return Err(Problem::field("reason", detail).because("bad_body"));
        }
        let bytes = self.reason.len();
        if bytes > ORDER_REASON_BYTES_MAX {
            let detail = format!("`reason` has {bytes} bytes, {ORDER_REASON_BYTES_MAX} at most; shorten it");
            return Err(Problem::field("reason", detail).because("bad_body"));
        }
        let order = match std::mem::take(&mut self.kind).as_str() {
            "block" => Order::Block { who: self.who()? },
            "allow" => Order::Allow { who: self.who()? },
            "override" => Order::Override {
                who: self.who()?,
                rule: self.rule()?,
                rate: number("rate", self.rate.take())?,
                burst: number("burst", self.burst.take())?,
            },
            "kill_switch" => Order::KillSwitch { rule: self.rule.take() },
            "mode" => {
                let mode = self.mode.take().unwrap_or_default();
                let known = Mode::parse(&mode);
                let mode = known.ok_or_else(|| bad("mode", &mode, "use shadow, enforce or off"))?;
                Order::Mode { rule: self.rule()?, mode }
            }
            kind => {
                return Err(bad("kind", kind, "use block, allow, override, kill_switch or mode"));
            }
        };
        self.check_nothing_left(&order)?;
        let expires_at = self.expires.as_deref().map(|text| moment::read(text, unix_s)).transpose()?;
        Ok(NewOrder { order, reason: self.reason, expires_at })
    }

    /// Refuses fields that an order of this kind does not have.
    fn check_nothing_left(&self, order: &Order) -> Result<(), Problem> {
        let is_of_key = matches!(order.who(), Some(Who::Key { .. }));
        let left = [
            ("rule", self.rule.is_some() && !is_of_key),
            ("who", self.who.is_some()),
            ("rate", self.rate.is_some()),
            ("burst", self.burst.is_some()),
            ("mode", self.mode.is_some()),
        ];
        match left.iter().find(|(_, is_left)| *is_left) {
            None => Ok(()),
            Some((field, _)) => {
                let detail =
                    format!("`{field}` is nothing that an order of the kind {} has; drop it", order.kind());
                Err(Problem::field(*field, detail).because("bad_body"))
            }
        }
    }

    fn rule(&mut self) -> Result<String, Problem> {
        let rule = self.rule.take().filter(|rule| !rule.is_empty());
        rule.ok_or_else(|| {
            Problem::field("rule", "`rule` is missing; name the rule".to_owned()).because("bad_body")
        })
    }

    /// `user:NAME`, `address:192.0.2.7`, `network:192.0.2.0/24`, or `key:…` of the rule that `rule` names.
    fn who(&mut self) -> Result<Who, Problem> {
        const CURE: &str = "use user:NAME, address:192.0.2.7, network:192.0.2.0/24, or key:KEY with a `rule`";
        let text = self.who.take().unwrap_or_default();
        let Some((kind, who)) = text.split_once(':').filter(|(_, who)| !who.is_empty()) else {
            return Err(bad("who", &text, CURE));
        };
        Ok(match kind {
            "user" => Who::User(who.to_owned()),
            "address" | "ip" => Who::Address(who.parse().map_err(|_| bad("who", &text, CURE))?),
            "network" => Who::Network(who.parse().map_err(|_| bad("who", &text, CURE))?),
            "key" => Who::Key { rule: self.rule.clone().unwrap_or_default(), key: who.to_owned() },
            _ => return Err(bad("who", &text, CURE)),
        })
    }
}

fn number(field: &'static str, value: Option<NumberOrText>) -> Result<String, Problem> {
    match value {
        Some(NumberOrText::Number(number)) => Ok(number.to_string()),
        Some(NumberOrText::Text(text)) => Ok(text),
        None => {
            let detail = format!("`{field}` is missing; an override has a rate and a burst");
            Err(Problem::field(field, detail).because("bad_body"))
        }
    }
}

fn bad(field: &'static str, value: &str, cure: &str) -> Problem {
    Problem::field(field, format!("`{field}` is '{}'; {cure}", shown(value))).because("bad_body")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<NewOrder, String> {
        let raw: RawOrder = serde_json::from_str(json).unwrap();
        raw.read(0).map_err(|problem| problem.detail().to_owned())
    }

    #[test]
    fn every_kind_is_read_as_it_is_meant() {
        let order = |json: &str| read(json).unwrap().order;
        let user = || Who::User("42".to_owned());
        assert_eq!(order(r#"{"kind":"block","who":"user:42","reason":"x"}"#), Order::Block { who: user() });
        assert_eq!(
            order(r#"{"kind":"allow","who":"network:192.0.2.0/24","reason":"x"}"#),
            Order::Allow { who: Who::Network("192.0.2.0/24".parse().unwrap()) }
        );
        assert_eq!(
            order(r#"{"kind":"block","who":"ip:2001:db8::1","reason":"x"}"#),
            Order::Block { who: Who::Address("2001:db8::1".parse().unwrap()) }
        );
        assert_eq!(
            order(r#"{"kind":"block","rule":"api","who":"key:user:42","reason":"x"}"#),
            Order::Block { who: Who::Key { rule: "api".to_owned(), key: "user:42".to_owned() } }
        );
        let (rule, rate, burst) = ("api".to_owned(), "0.5".to_owned(), "20".to_owned());
        assert_eq!(
            order(r#"{"kind":"override","rule":"api","who":"user:42","rate":0.5,"burst":"20","reason":"x"}"#),
            Order::Override { rule, who: user(), rate, burst }
        );
        assert_eq!(order(r#"{"kind":"kill_switch","reason":"x"}"#), Order::KillSwitch { rule: None });
        assert_eq!(
            order(r#"{"kind":"mode","rule":"api","mode":"shadow","reason":"x"}"#),
            Order::Mode { rule: "api".to_owned(), mode: Mode::Shadow }
        );
    }

    #[test]
    fn what_an_order_lacks_or_has_too_much_is_named() {
        for (json, field) in [
            (r#"{"kind":"block","who":"user:42"}"#, "`reason`"),
            (r#"{"kind":"ban","who":"user:42","reason":"x"}"#, "`kind`"),
            (r#"{"kind":"block","reason":"x"}"#, "`who`"),
            (r#"{"kind":"block","who":"user:","reason":"x"}"#, "`who`"),
            (r#"{"kind":"block","who":"address:1.2.3","reason":"x"}"#, "`who`"),
            (r#"{"kind":"block","who":"user:42","rate":1,"reason":"x"}"#, "`rate`"),
            (r#"{"kind":"block","who":"user:42","rule":"api","reason":"x"}"#, "`rule`"),
            (r#"{"kind":"override","rule":"api","who":"user:42","burst":1,"reason":"x"}"#, "`rate`"),
            (r#"{"kind":"override","who":"user:42","rate":1,"burst":1,"reason":"x"}"#, "`rule`"),
            (r#"{"kind":"mode","rule":"api","reason":"x"}"#, "`mode`"),
            (r#"{"kind":"mode","rule":"api","mode":"loud","reason":"x"}"#, "`mode`"),
            (r#"{"kind":"kill_switch","who":"user:42","reason":"x"}"#, "`who`"),
            (r#"{"kind":"kill_switch","reason":"x","expires":"soon"}"#, "`expires`"),
        ] {
            let told = read(json).unwrap_err();
            assert!(told.starts_with(field), "{json}: {told}");
        }
    }
}
