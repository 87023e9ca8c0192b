//! An order as columns, and whether it can be stored.

use tollgate_policy::{Order, Who};

use crate::limits;
use crate::{DECIMAL_BYTES_MAX, KEY_BYTES_MAX, NAME_BYTES_MAX, RecordsError, decimal_text};

/// What to write as the rate of an override.
pub(super) const RATE_CURE: &str = "write tokens per second above 0, or with a unit, as in 600/m";
/// What to write as its burst.
pub(super) const BURST_CURE: &str = "write a number above 0";

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

/// The columns of an order, if it can be stored.
pub(super) fn columns(order: &Order) -> Result<Columns<'_>, RecordsError> {
    if let Some(rule) = order.rule() {
        limits::text("rule", rule, NAME_BYTES_MAX)?;
    }
    if let Some(who) = order.who() {
        if let Who::Key { rule, .. } = who {
            limits::text("rule", rule, NAME_BYTES_MAX)?;
        }
        limits::text("who", &who.name(), KEY_BYTES_MAX)?;
    }
    let (mut rate, mut burst, mut mode) = (None, None, None);
    match order {
        Order::Override { rule, who, rate: tokens, burst: most } => {
            if let Who::Key { rule: other, .. } = who
                && other != rule
            {
                let why = format!("is a key of `{other}`, and the override is of `{rule}`; name one rule");
                return Err(RecordsError::Invalid { field: "who", why });
            }
            fit("rate", tokens, is_rate, RATE_CURE)?;
            fit("burst", most, is_above_zero, BURST_CURE)?;
            (rate, burst) = (Some(tokens.as_str()), Some(most.as_str()));
        }
        Order::Mode { mode: other, .. } => mode = Some(other.name()),
        Order::Block { .. } | Order::Allow { .. } | Order::KillSwitch { .. } => {}
    }
    let who = order.who();
    Ok(Columns {
        kind: order.kind(),
        rule: order.rule(),
        who_kind: who.map(Who::kind),
        who: who.map(Who::name),
        rate,
        burst,
        mode,
    })
}

fn fit(field: &'static str, text: &str, is_fit: fn(&str) -> bool, cure: &str) -> Result<(), RecordsError> {
    limits::text(field, text, DECIMAL_BYTES_MAX)?;
    if is_fit(text) {
        return Ok(());
    }
    Err(RecordsError::Invalid { field, why: format!("is \"{}\"; {cure}", text.escape_debug()) })
}

/// Whether it is a decimal above 0, or what a rule has as its rate: `600/m`.
pub(super) fn is_rate(text: &str) -> bool {
    is_above_zero(text) || tollgate_policy::is_rate(text)
}

fn is_above_zero(text: &str) -> bool {
    decimal_text::canonical(text).is_some_and(|number| number != "0")
}
