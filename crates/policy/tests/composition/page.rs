//! docs/policy.md, "Rules from a database, and standing orders": its rows, its entry and its orders meet what it says they do.

use std::fs;

use tollgate_policy::{Entry, Facts, Mode, Order, PlainRow, Sources, StandingOrder, Who};

use super::{compose, met, order, override_of, row};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md");

/// The blocks of one kind in the section, in order.
fn blocks(kind: &str) -> Vec<String> {
    let page = fs::read_to_string(PAGE).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with("Rules from a database")).unwrap();
    let fence = format!("```{kind}\n");
    section.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// The columns of a line: two spaces or more are between them.
fn columns(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|column| !column.is_empty()).collect()
}

fn rows() -> Vec<PlainRow> {
    let insert = |(id, line): (i64, &str)| {
        let (columns, values) = line.split_once(" VALUES ").unwrap();
        assert!(
            columns.ends_with("(key_pattern, scope, rate_per_second, burst_capacity, plan)"),
            "{columns}"
        );
        let values: Vec<&str> =
            values.trim_matches(['(', ')', ';']).split(", ").map(|value| value.trim_matches('\'')).collect();
        let [pattern, scope, rate, burst, plan] = values[..] else { panic!("{line}") };
        row(id, pattern, scope, rate, burst, Some(plan).filter(|plan| *plan != "NULL"))
    };
    (1..).zip(blocks("sql").concat().lines()).map(insert).collect()
}

fn who(text: &str) -> Who {
    let (kind, name) = text.split_once(':').unwrap();
    match kind {
        "user" => Who::User(name.to_owned()),
        "network" => Who::Network(name.parse().unwrap()),
        other => panic!("{other}"),
    }
}

fn orders(block: &str) -> Vec<StandingOrder> {
    let read = |line: &str| {
        let columns = columns(line);
        let what = match columns[1..] {
            ["block", client] => Order::Block { who: who(client) },
            ["allow", client] => Order::Allow { who: who(client) },
            ["override", rule, client, rate, burst] => override_of(rule, who(client), rate, burst),
            ["kill", rule] => Order::KillSwitch { rule: Some(rule.to_owned()) },
            ["mode", rule, "shadow"] => Order::Mode { rule: rule.to_owned(), mode: Mode::Shadow },
            _ => panic!("{line}"),
        };
        order(columns[0].parse().unwrap(), what)
    };
    block.lines().map(read).collect()
}

/// Each line is true: who asks, for what, and what is met.
fn is_true(block: &str, sources: Sources<'_>) {
    let policy = compose(sources).policy;
    for line in block.lines() {
        let [client, path, expected] = columns(line)[..] else { panic!("{line}") };
        let (user, rest) = client.split_once(' ').unwrap_or((client, ""));
        let plan = rest.strip_prefix('(').and_then(|plan| plan.strip_suffix(')'));
        let facts = Facts { user: Some(user), plan, address: rest.parse().ok(), ..Facts::new("GET", path) };
        assert_eq!(met(&policy, &facts).join(", "), expected, "{line}");
    }
}

#[test]
fn the_page_says_what_is_met() {
    let rows = rows();
    let text = blocks("text");
    let [by_rows, ordered, by_orders, _] = &text[..] else { panic!("{} blocks", text.len()) };
    assert!(by_rows.lines().count() == 4 && by_orders.lines().count() == 6);
    let sources = Sources { plain_rows: &rows, ..Sources::default() };
    is_true(by_rows, sources);
    is_true(by_orders, Sources { orders: &orders(ordered), ..sources });
}

#[test]
fn the_entry_of_the_page_can_be_stored_as_it_stands() {
    let [text] = &blocks("yaml")[..] else { panic!("one entry") };
    assert_eq!(Entry::parse(text).unwrap().0, "signup");
}
