//! One client's bucket under one rule: looked at, filled, given tokens.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Number, Value, json};

use super::flags::{ClientOfRule, GetFlags, GrantFlags, ResetFlags};
use crate::admin::{self, AdminDoor, Asking, Target};
use crate::format::{self, Format};
use crate::orders::OrderTold;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::{Ink, Screen};
use crate::visible::visible;

/// What the server says of a client.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Client {
    rule: String,
    key: String,
    /// Of an operation: whether it was done on this instance already.
    done: Option<bool>,
    buckets: Vec<Bucket>,
    /// Those that are about this client.
    orders: Vec<OrderTold>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Bucket {
    shadow: bool,
    limit: String,
    balance: Option<Number>,
    full: Option<Number>,
    next_admit_ms: Option<u64>,
    full_in_ms: u64,
    exists: bool,
    mode: String,
}

pub(super) fn get(flags: &GetFlags, screen: &Screen) -> Result<Page, Problem> {
    let ClientOfRule { rule, key } = &flags.client;
    let target = Target::new(&["buckets"]).with("rule", Some(rule)).with("key", Some(key));
    let answer = AdminDoor::of(&flags.asking.admin)?.get(&target.with("cost", flags.cost.as_ref()))?;
    shown(&answer, &flags.asking, screen)
}

pub(super) fn reset(flags: &ResetFlags, screen: &Screen) -> Result<Page, Problem> {
    let ClientOfRule { rule, key } = &flags.client;
    let body = json!({ "rule": rule, "key": key, "reason": flags.reason });
    let answer = AdminDoor::of(&flags.asking.admin)?.post(&Target::new(&["buckets", "reset"]), &body)?;
    shown(&answer, &flags.asking, screen)
}

pub(super) fn grant(flags: &GrantFlags, screen: &Screen) -> Result<Page, Problem> {
    let ClientOfRule { rule, key } = &flags.client;
    let body = json!({ "rule": rule, "key": key, "tokens": flags.tokens, "reason": flags.reason });
    let answer = AdminDoor::of(&flags.asking.admin)?.post(&Target::new(&["buckets", "grant"]), &body)?;
    shown(&answer, &flags.asking, screen)
}

fn shown(answer: &Value, asking: &Asking, screen: &Screen) -> Result<Page, Problem> {
    Ok(Page::good(match asking.format.chosen() {
        Format::Table => text(&admin::read(answer)?, screen.ink),
        Format::Json => format::json(answer),
    }))
}

fn text(client: &Client, ink: Ink) -> String {
    let heading = format!("{} under {}", visible(&client.key), visible(&client.rule));
    let mut text = format!("{}\n", ink.heading(&heading));
    if client.done == Some(false) {
        text.push_str("  told to every instance, and not yet done by the one that was asked\n");
    }
    for order in &client.orders {
        let line = order.about_client();
        let line = if order.kind == "block" { ink.denied(&line) } else { line };
        let _ = writeln!(text, "  {line}");
    }
    for bucket in &client.buckets {
        let number =
            |number: &Option<Number>| number.as_ref().map_or_else(|| "-".to_owned(), Number::to_string);
        let (balance, full) = (number(&bucket.balance), number(&bucket.full));
        let balance = ink.balance(&format!("{balance} of {full} tokens"));
        let next = match bucket.next_admit_ms {
            Some(0) => ink.admitted("now"),
            Some(ms) => ink.denied(&format!("in {}", seconds(ms))),
            None => ink.denied("never: it costs more than the bucket holds"),
        };
        let watches = if bucket.shadow { " (only watches)" } else { "" };
        let _ = writeln!(text, "  limit       {}{watches}", visible(&bucket.limit));
        let _ = writeln!(text, "  balance     {balance}");
        let _ = writeln!(text, "  next admit  {next}");
        let full_in = if bucket.full_in_ms == 0 {
            "it is".to_owned()
        } else {
            format!("in {}", seconds(bucket.full_in_ms))
        };
        let _ = writeln!(text, "  full        {full_in}");
        let seen = if bucket.exists { "" } else { "; nothing is kept of a full bucket" };
        let _ = writeln!(text, "  answered    {}{seen}", visible(&bucket.mode));
    }
    text
}

/// Milliseconds in seconds.
fn seconds(ms: u64) -> String {
    match (ms / 1_000, ms % 1_000) {
        (s, 0) => format!("{s} s"),
        (s, rest) => format!("{s}.{rest:03} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_says_what_is_left_and_when_the_next_request_is_admitted() {
        let client: Client = serde_json::from_value(json!({
            "rule": "api", "key": "user:42\n", "buckets": [{
                "shadow": false, "algorithm": "token_bucket", "limit": "10 per second, burst 50", "balance": 0.5, "full": 50,
                "next_admit_ms": 50, "full_in_ms": 4_950, "exists": true, "mode": "exact"
            }],
            "orders": [
                { "order_id": 3, "kind": "block", "reason": "too\nloud", "expires_at": "2026-11-20T10:00:00.000000Z" },
                { "order_id": 2, "kind": "override", "reason": "a launch", "expires_at": null }
            ]
        }))
        .unwrap();
        let expected = "\
user:42\\n under api
  blocked by order 3: too\\nloud, until 2026-11-20T10:00:00Z
  another limit by order 2: a launch, until released
  limit       10 per second, burst 50
  balance     0.5 of 50 tokens
  next admit  in 0.050 s
  full        in 4.950 s
  answered    exact
";
        assert_eq!(text(&client, Ink::Plain), expected);
    }
}
