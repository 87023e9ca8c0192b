//! Every mistake is told with its source: the file and its line, the entry and its line, the row or order and its field.
//!
//! `TOLLGATE_BLESS=1` writes the messages anew, in `mistakes.txt`; read them as a user would before committing.

use std::fs;

use tollgate_policy::{Mode, Order, PlainRow, Policy, Source, Sources, StandingOrder, Who};

use super::{entry, order, override_of, refused, row, user};

const MESSAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/composition/mistakes.txt");

#[test]
fn every_mistake_is_told_with_its_message() {
    let told =
        [every_source(), names_that_are_taken(), rows(), orders()].concat().join("\n\n----\n\n") + "\n";
    if std::env::var_os("TOLLGATE_BLESS").is_some() {
        fs::write(MESSAGES, &told).unwrap();
    }
    let expected = fs::read_to_string(MESSAGES).unwrap();
    assert!(told == expected, "the messages are not those of mistakes.txt:\n{told}");
}

#[test]
fn a_mistake_names_its_source() {
    let rows = [row(7, "users", "user", "1", "1", None)];
    let sources = Sources { entries: &[entry("x", "{name: x}")], plain_rows: &rows, ..Sources::default() };
    let mistakes = Policy::compose(&sources).unwrap_err();
    let told: Vec<_> =
        mistakes.iter().map(|mistake| (mistake.source.clone(), mistake.line, &*mistake.field)).collect();
    let of_entry = (Source::Entry("x".into()), 1, "");
    assert_eq!(told.first(), Some(&of_entry), "{mistakes}");
    assert_eq!(told.last(), Some(&(Source::Row(7), 0, "key_pattern")), "{mistakes}");
}

#[test]
fn of_more_than_a_hundred_mistakes_of_all_sources_the_rest_are_counted() {
    let rows: Vec<_> = (0..150).map(|id| row(id, &format!("none {id}"), "user", "1", "1", None)).collect();
    let mistakes = Policy::compose(&Sources { plain_rows: &rows, ..Sources::default() }).unwrap_err();
    assert_eq!((mistakes.iter().count(), mistakes.count()), (100, 150));
}

/// One mistake or more of each; an order that may name a rule with a mistake has none.
fn every_source() -> Vec<String> {
    let text = "- {name: a, scope: user, rate: 1, burst: 1}\n- {name: b, scope: usr, rate: 1, burst: 1}\n";
    let entries = [
        entry("x", "name: x\nscope: user\nrate: 0\nburst: 5\n"),
        entry("c", "{name: d, scope: user, rate: 1, burst: 1}"),
        entry("c", "{name: c, scope: user, rate: 1, burst: 1}"),
    ];
    let rows = [row(7, "user:{user_id}", "ip", "10", "0", Some("free"))];
    let orders = [
        order(12, override_of("a", user(""), "fast", "5")),
        order(13, Order::Mode { rule: "b".to_owned(), mode: Mode::Off }),
    ];
    let file = Some(("policy.yaml", text));
    vec![refused(Sources {
        file,
        entries: &entries,
        plain_rows: &rows,
        orders: &orders,
        ..Sources::default()
    })]
}

fn names_that_are_taken() -> Vec<String> {
    let text =
        "- {name: user-1, scope: user, rate: 1, burst: 1}\n- {name: search, scope: ip, rate: 1, burst: 1}\n";
    let rule = |name: &str| format!("{{name: {name}, scope: ip, rate: 1, burst: 1}}");
    let entries = [
        entry("g", &format!("group: g\ncombine: all\nrules:\n  - {}\n", rule("search"))),
        entry("order-3", &rule("order-3")),
    ];
    let rows = [
        row(1, "user:{user_id}", "user", "1", "1", None),
        row(2, "user:{id}", "user", "1", "1", None),
        row(2, "global", "global", "1", "1", None),
    ];
    let orders = [order(3, Order::Block { who: user("ann") }), order(3, Order::Block { who: user("bob") })];
    let file = Some(("policy.yaml", text));
    vec![refused(Sources {
        file,
        entries: &entries,
        plain_rows: &rows,
        orders: &orders,
        ..Sources::default()
    })]
}

fn rows() -> Vec<String> {
    let good = || row(7, "user:{user_id}", "user", "10", "50", None);
    let pattern = |key_pattern: &str, scope: &str| PlainRow {
        key_pattern: key_pattern.to_owned(),
        scope: scope.to_owned(),
        ..good()
    };
    let rows = [
        pattern("user:42", "user"),
        pattern("users", "user"),
        pattern("", "user"),
        pattern("endpoint:/a/../b", "endpoint"),
        pattern("ip:{header:x}", "ip"),
        pattern("org:{tenant}", "organisation"),
        pattern("global", "tenant"),
        PlainRow { rate_per_second: "10/s".to_owned(), ..good() },
        PlainRow { rate_per_second: "0".to_owned(), ..good() },
        PlainRow { rate_per_second: String::new(), ..good() },
        PlainRow { burst_capacity: "-1".to_owned(), ..good() },
        PlainRow { burst_capacity: "0.5".to_owned(), is_active: false, ..good() },
        PlainRow { plan: Some(" ".to_owned()), ..good() },
    ];
    rows.into_iter().map(|row| refused(Sources { plain_rows: &[row], ..Sources::default() })).collect()
}

fn orders() -> Vec<String> {
    let text = "- {name: a, scope: user, rate: 1, burst: 1}
- {name: w, scope: user, algorithm: fixed_window, quota: 5, window: 1h}
- {name: g, scope: global, rate: 1, burst: 1}
";
    let key = |rule: &str, key: &str| Who::Key { rule: rule.to_owned(), key: key.to_owned() };
    let network = |text: &str| Who::Network(text.parse().unwrap());
    let orders = [
        Order::Block { who: network("10.0.0.1/8") },
        Order::Block { who: network("0.0.0.0/0") },
        Order::Allow { who: key("g", "all") },
        override_of("a", network("::/0"), "1000000", "1000000"),
        override_of("g", key("g", "all"), "1000000", "1000000"),
        Order::Block { who: key("aa", "42") },
        Order::Block { who: key("a", "") },
        Order::KillSwitch { rule: Some("elsewhere".to_owned()) },
        override_of("w", user("ann"), "1", "1"),
        override_of("a", user("ann"), "1", "0.5"),
        override_of("a", user("ann"), "0", "5"),
    ];
    let told = |orders: &[StandingOrder]| {
        refused(Sources { file: Some(("policy.yaml", text)), orders, ..Sources::default() })
    };
    let unexplained = StandingOrder { reason: String::new(), ..order(12, Order::Block { who: user("ann") }) };
    let overexplained = StandingOrder { reason: "x".repeat(513), ..unexplained.clone() };
    let told_alone = orders.into_iter().map(|what| told(&[order(12, what)]));
    told_alone.chain([told(&[unexplained]), told(&[overexplained])]).collect()
}
