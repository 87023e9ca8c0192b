//! Orders about single clients.

use serde_json::{Value, json};

use super::flags::{OrdersFlags, OverrideFlags, ReleaseFlags, UnblockFlags, WhoFlags};
use super::who;
use crate::admin::AdminDoor;
use crate::format::{self, Format};
use crate::orders;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::Screen;
use crate::visible::visible;

/// `block` or `allow`.
pub(super) fn give(flags: &WhoFlags, kind: &str, screen: &Screen) -> Result<Page, Problem> {
    let who = who::sent(&flags.who, flags.rule.is_some()).map_err(Problem::Usage)?;
    let mut order = json!({ "kind": kind, "who": who });
    if let (Some(rule), Some(fields)) = (&flags.rule, order.as_object_mut()) {
        fields.insert("rule".to_owned(), json!(rule));
    }
    let format = flags.asking.format.chosen();
    orders::give(&AdminDoor::of(&flags.asking.admin)?, order, &flags.why, format, screen)
}

pub(super) fn give_override(flags: &OverrideFlags, screen: &Screen) -> Result<Page, Problem> {
    let order = json!({
        "kind": "override",
        "rule": flags.client.rule,
        "who": format!("key:{}", flags.client.key),
        "rate": flags.rate,
        "burst": flags.burst,
    });
    let format = flags.asking.format.chosen();
    orders::give(&AdminDoor::of(&flags.asking.admin)?, order, &flags.why, format, screen)
}

pub(super) fn list(flags: &OrdersFlags, screen: &Screen) -> Result<Page, Problem> {
    let (answer, orders) = orders::told(&AdminDoor::of(&flags.asking.admin)?, flags.past)?;
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => orders::table(&orders, screen.ink),
        Format::Json => format::json(&answer),
    }))
}

pub(super) fn release(flags: &ReleaseFlags, screen: &Screen) -> Result<Page, Problem> {
    let answer = orders::release(&AdminDoor::of(&flags.asking.admin)?, flags.order, &flags.reason)?;
    orders::shown(&answer, flags.asking.format.chosen(), screen)
}

/// Ends every block of a client, however it is spelt.
pub(super) fn unblock(flags: &UnblockFlags, screen: &Screen) -> Result<Page, Problem> {
    let sent = who::sent(&flags.who, flags.rule.is_some()).map_err(Problem::Usage)?;
    let wanted = who::meant(sent.strip_prefix("key:").unwrap_or(&sent));
    let door = AdminDoor::of(&flags.asking.admin)?;
    let (_, orders) = orders::told(&door, false)?;
    let blocks = orders.iter().filter(|order| {
        order.kind == "block"
            && who::meant(&order.client()) == wanted
            && (flags.rule.is_none() || order.rule == flags.rule)
    });
    let mut ended: Vec<Value> = Vec::new();
    for block in blocks {
        ended.push(orders::release(&door, block.order_id, &flags.reason)?);
    }
    if ended.is_empty() {
        let who = visible(&flags.who);
        return Err(Problem::Nothing(format!(
            "no block of {who} stands; `tollgate keys orders` lists those that do"
        )));
    }
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => {
            let told: Result<Vec<orders::OrderTold>, _> = ended.iter().map(crate::admin::read).collect();
            orders::table(&told?, screen.ink)
        }
        Format::Json => format::json(&json!({ "orders": ended })),
    }))
}
