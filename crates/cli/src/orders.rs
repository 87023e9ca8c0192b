//! Standing orders of operators: given, listed, ended.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::admin::{self, AdminDoor, AdminError, Target};
use crate::format::{self, Format};
use crate::listing::Listing;
use crate::order_flags::WhyAndHowLong;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::{Ink, Screen};
use crate::visible::visible;
use crate::when;

/// Orders that are asked for at a time: as many as the server tells.
const PAGE_ORDERS: u32 = 1_000;
/// Most pages that are asked for: what the server lets somebody ask at once.
const PAGES_MAX: usize = 100;

/// An order, as the server tells it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OrderTold {
    pub(crate) order_id: i64,
    pub(crate) kind: String,
    pub(crate) rule: Option<String>,
    pub(crate) who_kind: Option<String>,
    pub(crate) who: Option<String>,
    rate: Option<String>,
    burst: Option<String>,
    mode: Option<String>,
    reason: String,
    author: String,
    expires_at: Option<String>,
    revoked_at: Option<String>,
    revoked_by: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OrdersTold {
    /// As they were told, whatever else stands in them.
    orders: Vec<Value>,
    cursor: Option<i64>,
}

/// Gives an order; `fields` says what is ordered.
pub(crate) fn give(
    door: &AdminDoor,
    fields: Value,
    why: &WhyAndHowLong,
    format: Format,
    screen: &Screen,
) -> Result<Page, Problem> {
    let mut body = fields;
    if let Some(fields) = body.as_object_mut() {
        fields.insert("reason".to_owned(), json!(why.reason));
        if let Some(expires) = why.expires() {
            fields.insert("expires".to_owned(), json!(expires));
        }
    }
    let answer = door.post(&Target::new(&["orders"]), &body)?;
    shown(&answer, format, screen)
}

/// Every order that stands, oldest first; with `past` those that ended as well, newest first.
pub(crate) fn told(door: &AdminDoor, past: bool) -> Result<(Value, Vec<OrderTold>), AdminError> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let target = Target::new(&["orders"]).with("past", past.then_some(true));
        let answer = door.get(&target.with("limit", Some(PAGE_ORDERS)).with("cursor", cursor))?;
        let OrdersTold { orders, cursor: next } = admin::read(&answer)?;
        all.extend(orders);
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    if !past {
        all.reverse();
    }
    let orders = all.iter().map(admin::read).collect::<Result<_, _>>()?;
    Ok((json!({ "orders": all }), orders))
}

/// Ends an order.
pub(crate) fn release(door: &AdminDoor, order_id: i64, reason: &str) -> Result<Value, AdminError> {
    door.delete(&Target::new(&["orders", &order_id.to_string()]), &json!({ "reason": reason }))
}

/// One order.
pub(crate) fn shown(answer: &Value, format: Format, screen: &Screen) -> Result<Page, Problem> {
    Ok(Page::good(match format {
        Format::Table => table(&[admin::read(answer)?], screen.ink),
        Format::Json => format::json(answer),
    }))
}

/// Orders as lines.
pub(crate) fn table(orders: &[OrderTold], ink: Ink) -> String {
    let mut listing = Listing::new(&["ORDER#", "KIND", "RULE", "WHO", "TERMS", "UNTIL", "BY", "WHY"]);
    for order in orders {
        let cells = [
            order.order_id.to_string(),
            order.kind.clone(),
            order.rule.clone().unwrap_or_default(),
            order.client(),
            order.terms(),
            order.until(),
            order.author.clone(),
            order.reason.clone(),
        ];
        listing.push(cells.iter().map(String::as_str));
    }
    if listing.is_empty() { "No order stands.\n".to_owned() } else { listing.text(ink) }
}

impl OrderTold {
    /// Whom it is about, as it is typed.
    pub(crate) fn client(&self) -> String {
        match (self.who_kind.as_deref(), &self.who) {
            (Some("key"), Some(key)) => key.clone(),
            (Some("address"), Some(address)) => format!("ip:{address}"),
            (Some(kind), Some(who)) => format!("{kind}:{who}"),
            _ => String::new(),
        }
    }

    /// What it is to the client that somebody looks at.
    pub(crate) fn about_client(&self) -> String {
        let what = match self.kind.as_str() {
            "block" => "blocked",
            "allow" => "always admitted",
            "override" => "another limit",
            other => other,
        };
        let until = if self.expires_at.is_some() { format!("until {}", self.until()) } else { self.until() };
        format!(
            "{} by order {}: {}, {}",
            visible(what),
            self.order_id,
            visible(&self.reason),
            visible(&until)
        )
    }

    fn terms(&self) -> String {
        match (&self.rate, &self.burst, &self.mode) {
            (Some(rate), Some(burst), _) if rate.contains('/') => format!("{rate}, burst {burst}"),
            (Some(rate), Some(burst), _) => format!("{rate}/s, burst {burst}"),
            (_, _, Some(mode)) => mode.clone(),
            _ => String::new(),
        }
    }

    fn until(&self) -> String {
        match (&self.revoked_at, &self.expires_at) {
            (Some(at), _) => {
                format!("ended {} by {}", when::shown(at), self.revoked_by.as_deref().unwrap_or_default())
            }
            (None, Some(at)) => when::shown(at),
            (None, None) => "until released".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_says_what_whom_until_when_and_why() {
        let order: OrderTold = serde_json::from_value(json!({
            "order_id": 12, "kind": "override", "rule": "api", "who_kind": "key", "who": "user:42", "rate": "100", "burst": "200",
            "mode": null, "reason": "launch\u{1b}[2J", "author": "ann", "created_at": "2026-11-16T05:00:00.000000Z",
            "expires_at": "2026-11-20T10:00:00.000000Z", "revoked_at": null, "revoked_by": null,
        }))
        .unwrap();
        let expected = "\
ORDER  KIND      RULE  WHO      TERMS             UNTIL                 BY   WHY
   12  override  api   user:42  100/s, burst 200  2026-11-20T10:00:00Z  ann  launch\\x1b[2J
";
        assert_eq!(table(&[order], Ink::Plain), expected);
    }

    #[test]
    fn a_rate_is_shown_as_it_was_typed() {
        let terms = |rate: &str| {
            let order = OrderTold {
                rate: Some(rate.to_owned()),
                burst: Some("5".to_owned()),
                ..OrderTold::default()
            };
            order.terms()
        };
        assert_eq!([terms("0.1"), terms("5/m")], ["0.1/s, burst 5", "5/m, burst 5"]);
    }
}
