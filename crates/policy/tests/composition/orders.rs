//! Standing orders: whom they are about, what they win over, when they are nothing.

use tollgate_policy::{Facts, Mode, Order, Policy, Source, Sources, StandingOrder, Who};

use super::{NOW_UNIX_S, burst_of, compose, entry, get, inactive, met, order, override_of, row, user};

const FILE: (&str, &str) = (
    "policy.yaml",
    "rules:
  - {name: staff, action: allow, match: {user: root}}
  - {name: banned, action: block, match: {user: [eve, mallory]}}
  - group: tiers
    combine: first
    rules:
      - {name: pro, scope: user, plan: pro, rate: 2, burst: 20}
      - {name: free, scope: user, rate: 1, burst: 10}
  - {name: by-key, limit_keys: ['header:x-api-key'], path: /api/*, rate: 5, burst: 50}
  - {name: search, scope: endpoint, path: /search, rate: 5, burst: 50}
",
);

fn with(orders: &[StandingOrder]) -> Policy {
    compose(Sources { file: Some(FILE), orders, ..Sources::default() }).policy
}

fn block(who: Who) -> Order {
    Order::Block { who }
}

fn allow(who: Who) -> Order {
    Order::Allow { who }
}

fn from(address: &str) -> Facts<'static> {
    Facts { address: Some(address.parse().unwrap()), ..Facts::new("GET", "/") }
}

#[test]
fn a_block_is_about_its_client_and_nobody_else() {
    let policy = with(&[
        order(1, block(user("ann"))),
        order(2, block(Who::Address("192.0.2.1".parse().unwrap()))),
        order(3, block(Who::Network("198.51.100.0/24".parse().unwrap()))),
        order(4, block(Who::Network("2001:db8::/64".parse().unwrap()))),
    ]);
    assert_eq!(met(&policy, &get("ann", None, "/")), ["blocked by order-1"]);
    assert_eq!(met(&policy, &get("Ann", None, "/")), ["free"]);
    for (address, by) in [
        ("192.0.2.1", Some(2)),
        ("::ffff:192.0.2.1", Some(2)),
        ("192.0.2.2", None),
        ("198.51.100.255", Some(3)),
        ("198.51.101.0", None),
        ("2001:db8::1:2:3:4", Some(4)),
        ("2001:db8:0:1::", None),
    ] {
        let expected = by.map_or("free".to_owned(), |order| format!("blocked by order-{order}"));
        assert_eq!(met(&policy, &from(address)), [expected], "{address}");
    }
}

/// K1: a user called like an address is not that address.
#[test]
fn an_order_about_a_user_is_not_about_an_address_of_that_name() {
    let policy = with(&[order(1, block(user("192.0.2.1")))]);
    assert_eq!(met(&policy, &from("192.0.2.1")), ["free"]);
    assert_eq!(met(&policy, &get("192.0.2.1", None, "/")), ["blocked by order-1"]);
}

#[test]
fn a_client_can_be_named_by_its_key_under_a_rule_and_is_meant_on_every_request() {
    let key = |key: &str| Who::Key { rule: "by-key".to_owned(), key: key.to_owned() };
    let policy = with(&[order(1, block(key("abc"))), order(2, allow(key("header:x-api-key=def")))]);
    let headers = |value: &str| vec![("X-Api-Key".to_owned(), value.to_owned())];
    for (value, expected) in [("abc", "blocked by order-1"), ("def", "allowed by order-2"), ("ghi", "free")] {
        let facts = Facts { headers: &headers(value), ..get("ann", None, "/elsewhere") };
        assert_eq!(met(&policy, &facts), [expected]);
    }
}

/// M1, K40: an order that blocks looks at every value, one that allows at none of several.
#[test]
fn ambiguous_values_evade_no_block_and_gain_no_allow() {
    let key = |key: &str| Who::Key { rule: "by-key".to_owned(), key: key.to_owned() };
    let policy = with(&[
        order(1, block(key("leaked"))),
        order(2, allow(key("good"))),
        order(3, allow(key("anonymous"))),
        order(4, override_of("by-key", key("rich"), "500", "500")),
    ]);
    let at = |values: &[&str], path: &'static str| {
        let headers: Vec<_> =
            values.iter().map(|value| ("X-Api-Key".to_owned(), (*value).to_owned())).collect();
        met(&policy, &Facts { headers: &headers, ..get("ann", None, path) })
    };
    for values in
        [&["leaked"][..], &["leaked", "leaked"], &["other", "leaked"], &["leaked", ""], &["good", "leaked"]]
    {
        assert_eq!(at(values, "/"), ["blocked by order-1"], "{values:?}");
    }
    assert_eq!(at(&["good"], "/"), ["allowed by order-2"]);
    assert_eq!(at(&[], "/"), ["allowed by order-3"]);
    for values in [&["good", "good"][..], &["good", "other"], &["a", "b"]] {
        assert_eq!(at(values, "/"), ["free"], "{values:?}");
    }
    assert_eq!(at(&["rich"], "/api/x"), ["free", "order-4"]);
    assert_eq!(
        at(&["rich", "rich"], "/api/x"),
        ["free", "by-key"],
        "the override is not gained, the rule still applies"
    );
    let many: Vec<String> = (0..100).map(|number| format!("key {number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(at(&many[..64], "/"), ["free"], "64 keys are tried");
    assert_eq!(
        at(&many, "/"),
        ["blocked by order-1"],
        "a request that spells more keys is every blocked client"
    );
}

/// An override puts its rule into a group, which makes the rule no tier: it still looks at every value.
#[test]
fn an_override_leaves_its_rule_as_wide_as_it_was() {
    let file = (
        "policy.yaml",
        "{name: bots, scope: user, match: {'header:user-agent': {regex: '^Bot'}}, rate: 1, burst: 10}",
    );
    let headers =
        vec![("User-Agent".to_owned(), "Bot".to_owned()), ("User-Agent".to_owned(), "x".to_owned())];
    let facts = Facts { headers: &headers, ..get("ann", None, "/") };
    for orders in [&[][..], &[order(1, override_of("bots", user("bob"), "500", "500"))]] {
        let policy = compose(Sources { file: Some(file), orders, ..Sources::default() }).policy;
        assert_eq!(met(&policy, &facts), ["bots"], "{} orders", orders.len());
    }
}

#[test]
fn what_is_ordered_wins_over_what_rules_say() {
    let orders = [order(1, allow(user("eve"))), order(2, block(user("root")))];
    let policy = with(&orders);
    assert_eq!(met(&policy, &get("eve", None, "/")), ["allowed by order-1"]);
    assert_eq!(met(&policy, &get("mallory", None, "/")), ["blocked by banned"]);
    assert_eq!(met(&policy, &get("root", None, "/")), ["blocked by order-2"]);
}

#[test]
fn of_two_orders_a_block_wins_over_an_allow_and_a_kill_switch_over_both() {
    let both = [order(1, allow(user("ann"))), order(2, block(user("ann")))];
    assert_eq!(met(&with(&both), &get("ann", None, "/")), ["blocked by order-2"]);
    let [allowed, blocked] = both;
    let all = [allowed, blocked, order(3, Order::KillSwitch { rule: None })];
    assert_eq!(met(&with(&all), &get("ann", None, "/")), ["killed by order-3"]);
}

#[test]
fn an_override_is_for_its_client_where_the_rule_would_apply() {
    let policy = with(&[order(7, override_of("free", user("ann"), "600/m", "500"))]);
    assert_eq!(met(&policy, &get("ann", None, "/")), ["order-7"]);
    assert_eq!(met(&policy, &get("bob", None, "/")), ["free"]);
    assert_eq!(met(&policy, &get("ann", Some("pro"), "/")), ["pro"], "an earlier tier applies");
    assert_eq!(burst_of(&policy, "order-7"), 500);
    let at = policy.rules.iter().position(|rule| &*rule.name == "order-7").unwrap();
    let made = &policy.rules[at];
    assert_eq!((&made.source, made.overrides), (&Source::Order(7), Some(at + 1)));
    assert_eq!(&*policy.rules[at + 1].name, "free");
    for (position, group) in policy.groups.iter().enumerate() {
        assert!(group.rules.iter().all(|rule| policy.rules[*rule].group == Some(position)));
    }
}

#[test]
fn an_override_of_a_rule_in_no_group_stands_before_it_and_of_two_the_later_counts() {
    let network = Who::Network("192.0.2.0/24".parse().unwrap());
    let policy = with(&[
        order(5, override_of("search", user("ann"), "1", "11")),
        order(9, override_of("search", network, "1", "12")),
    ]);
    assert_eq!(met(&policy, &get("ann", None, "/search")), ["free", "order-9"]);
    let elsewhere = Facts { address: None, ..get("ann", None, "/search") };
    assert_eq!(met(&policy, &elsewhere), ["free", "order-5"]);
    assert_eq!(met(&policy, &Facts { user: Some("bob"), ..elsewhere }), ["free", "search"]);
    assert_eq!(met(&policy, &get("ann", None, "/")), ["free"]);
}

#[test]
fn a_kill_switch_of_a_rule_refuses_what_the_rule_governs_and_says_why() {
    let policy = with(&[order(1, Order::KillSwitch { rule: Some("search".to_owned()) })]);
    assert_eq!(met(&policy, &get("ann", None, "/search")), ["killed by order-1"]);
    assert_eq!(met(&policy, &get("ann", None, "/")), ["free"]);
    assert_eq!(&*policy.kill_switches[0].reason, "abuse");
    let policy = with(&[order(1, Order::KillSwitch { rule: Some("free".to_owned()) })]);
    assert_eq!(met(&policy, &get("ann", None, "/")), ["killed by order-1"]);
    assert_eq!(met(&policy, &get("ann", Some("pro"), "/")), ["pro"], "an earlier tier governs it");
}

#[test]
fn a_mode_is_that_of_the_latest_order() {
    let mode = |mode| Order::Mode { rule: "free".to_owned(), mode };
    assert_eq!(met(&with(&[order(1, mode(Mode::Off))]), &get("ann", None, "/")), [""; 0]);
    let orders = [order(2, mode(Mode::Shadow)), order(1, mode(Mode::Off))];
    assert_eq!(met(&with(&orders), &get("ann", None, "/")), ["(free)"]);
}

#[test]
fn no_order_brings_an_inactive_entry_into_force() {
    let entries = [inactive(entry("free", "{name: free, scope: user, rate: 1, burst: 1}"))];
    let orders = [
        order(1, Order::Mode { rule: "free".to_owned(), mode: Mode::Enforce }),
        order(2, override_of("free", user("ann"), "1", "9")),
    ];
    let composed =
        compose(Sources { file: Some(FILE), entries: &entries, orders: &orders, ..Sources::default() });
    assert_eq!(met(&composed.policy, &get("ann", None, "/")), [""; 0]);
    assert!(composed.notes.contains(&"order 1 has no effect: rule `free` is inactive".to_owned()));
    assert!(composed.notes.contains(&"order 2 has no effect: rule `free` is off".to_owned()));
}

#[test]
fn orders_name_rules_of_rows_and_entries() {
    let rows = [row(3, "global", "global", "1", "1", None)];
    let entries = [entry("new", "{name: new, scope: ip, rate: 1, burst: 1}")];
    let orders = [
        order(1, override_of("global-3", user("ann"), "1", "9")),
        order(2, Order::Mode { rule: "new".to_owned(), mode: Mode::Shadow }),
    ];
    let sources = Sources { entries: &entries, plain_rows: &rows, orders: &orders, ..Sources::default() };
    assert_eq!(met(&compose(sources).policy, &get("ann", None, "/")), ["(new)", "order-1"]);
}

#[test]
fn an_order_past_its_expiry_is_nothing_even_if_it_makes_no_sense() {
    let until = |id, expires| StandingOrder { expires: Some(expires), ..order(id, block(user("ann"))) };
    let senseless = Order::Mode { rule: "gone".to_owned(), mode: Mode::Off };
    let gone = StandingOrder { expires: Some(0), ..order(3, senseless) };
    let orders = [until(1, NOW_UNIX_S), until(2, NOW_UNIX_S + 60), gone, until(4, NOW_UNIX_S + 9)];
    let composed = compose(Sources { file: Some(FILE), orders: &orders, ..Sources::default() });
    assert_eq!(met(&composed.policy, &get("ann", None, "/")), ["blocked by order-2"]);
    assert_eq!(composed.notes, ["order 1 has expired", "order 3 has expired"]);
    assert_eq!(composed.next_expiry_unix_s, Some(NOW_UNIX_S + 9));
}

#[test]
fn a_policy_that_only_watches_obeys_no_order() {
    let file = ("p.yaml", "{mode: shadow, rules: [{name: a, scope: user, rate: 1, burst: 1}]}");
    let orders = [order(1, block(user("ann"))), order(2, Order::KillSwitch { rule: None })];
    let policy = compose(Sources { file: Some(file), orders: &orders, ..Sources::default() }).policy;
    assert_eq!(met(&policy, &get("ann", None, "/")), ["(a)"]);
}
