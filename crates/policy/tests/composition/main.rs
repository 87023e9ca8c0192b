//! Policies put together from a file, entries, plain rows and standing orders: what stands in for what, and what wins.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

mod against_the_naive;
mod entries;
mod file_alone;
mod keys;
mod many_orders;
mod mistakes;
mod orders;
mod page;
mod rows;

use tollgate_policy::{
    Composition, Entry, Facts, Order, PlainRow, Policy, RuleBook, Ruling, Sources, StandingOrder, Who,
};

/// The time of all these tests, in seconds since 1970.
const NOW_UNIX_S: i64 = 1_800_000_000;

fn entry(name: &str, text: &str) -> Entry {
    Entry { name: name.to_owned(), text: text.to_owned(), is_active: true }
}

fn inactive(entry: Entry) -> Entry {
    Entry { is_active: false, ..entry }
}

fn row(
    rule_id: i64,
    key_pattern: &str,
    scope: &str,
    rate: &str,
    burst: &str,
    plan: Option<&str>,
) -> PlainRow {
    PlainRow {
        rule_id,
        key_pattern: key_pattern.to_owned(),
        scope: scope.to_owned(),
        rate_per_second: rate.to_owned(),
        burst_capacity: burst.to_owned(),
        plan: plan.map(str::to_owned),
        is_active: true,
        description: None,
    }
}

fn order(id: i64, order: Order) -> StandingOrder {
    StandingOrder { id, order, reason: "abuse".to_owned(), author: "ann".to_owned(), expires: None }
}

fn user(name: &str) -> Who {
    Who::User(name.to_owned())
}

fn override_of(rule: &str, who: Who, rate: &str, burst: &str) -> Order {
    Order::Override { rule: rule.to_owned(), who, rate: rate.to_owned(), burst: burst.to_owned() }
}

fn compose(sources: Sources<'_>) -> Composition {
    let sources = Sources { now_unix_s: NOW_UNIX_S, ..sources };
    Policy::compose(&sources).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn refused(sources: Sources<'_>) -> String {
    let sources = Sources { now_unix_s: NOW_UNIX_S, ..sources };
    Policy::compose(&sources).expect_err("it has mistakes").to_string()
}

/// The names of the rules whose buckets a request is charged to, those that only watch in brackets; or how it is ruled on.
fn met(policy: &Policy, facts: &Facts<'_>) -> Vec<String> {
    let book = RuleBook::new(policy.clone());
    let name = |rule: usize| policy.rules[rule].name.to_string();
    let mut met = Vec::new();
    let ruling = book.rule_on(facts, NOW_UNIX_S.unsigned_abs(), |hit| {
        met.push(if hit.is_enforced { name(hit.rule) } else { format!("({})", name(hit.rule)) });
    });
    match ruling {
        Ruling::ByBuckets => met,
        Ruling::Blocked { rule } => vec![format!("blocked by {}", name(rule))],
        Ruling::Allowed { rule } => vec![format!("allowed by {}", name(rule))],
        Ruling::Killed { switch } => vec![format!("killed by {}", policy.kill_switches[switch].name)],
        other => vec![format!("{other:?}")],
    }
}

fn get<'f>(user: &'f str, plan: Option<&'f str>, path: &'f str) -> Facts<'f> {
    Facts { user: Some(user), plan, address: Some([192, 0, 2, 7].into()), ..Facts::new("GET", path) }
}

/// The burst of a rule, in tokens.
fn burst_of(policy: &Policy, name: &str) -> u64 {
    let rule = policy.rules.iter().find(|rule| *rule.name == *name).unwrap();
    let tollgate_policy::Action::Limit(algorithm) = rule.action else { panic!("{name} limits nothing") };
    algorithm.full().as_micros() / 1_000_000
}
