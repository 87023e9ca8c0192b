//! Ten thousand orders cost a request no more than a look-up.

use std::net::Ipv4Addr;

use tollgate_policy::{Facts, Order, RuleBook, Sources, StandingOrder, Who};

use super::{compose, get, met, order, override_of, user};

const FILE: (&str, &str) = (
    "policy.yaml",
    "rules:
  - {name: per-user, scope: user, rate: 1, burst: 10}
  - {name: by-key, limit_keys: ['header:x-api-key'], path: /api/*, rate: 5, burst: 50}
  - {name: search, scope: endpoint, path: /search, rate: 5, burst: 50}
",
);

/// So many orders, of every kind and about every kind of client.
fn many(count: u32) -> Vec<StandingOrder> {
    let orders = (0..count).map(|at| {
        let address = Ipv4Addr::from_bits(0x0a00_0000 + at);
        match at % 5 {
            0 => Order::Block { who: user(&format!("user {at}")) },
            1 => Order::Allow { who: Who::Address(address.into()) },
            2 => Order::Block {
                who: Who::Network(format!("172.{}.{}.0/24", 16 + at % 9, at % 250).parse().unwrap()),
            },
            3 => override_of("per-user", user(&format!("user {at}")), "1", "99"),
            _ => Order::Block { who: Who::Key { rule: "by-key".to_owned(), key: format!("key {at}") } },
        }
    });
    (1..).zip(orders).map(|(id, what)| order(id, what)).collect()
}

#[test]
fn the_work_grows_with_the_orders_about_this_client_and_not_with_all() {
    for count in [10, 10_000] {
        let orders = many(count);
        let policy = compose(Sources { file: Some(FILE), orders: &orders, ..Sources::default() }).policy;
        let book = RuleBook::new(policy.clone());
        assert_eq!(book.candidates(&get("nobody", None, "/")), 1, "{count} orders");
        assert_eq!(book.candidates(&get("nobody", None, "/search")), 2);
        assert_eq!(book.candidates(&get("user 5", None, "/search")), 3, "and the order about that user");
        assert_eq!(book.candidates(&get("user 3", None, "/")), 2);
        let allowed = Facts { address: Some([10, 0, 0, 1].into()), ..get("nobody", None, "/search") };
        assert_eq!(book.candidates(&allowed), 3);
        assert_eq!(met(&policy, &allowed), ["allowed by order-2"]);
        assert_eq!(met(&policy, &get("user 5", None, "/")), ["blocked by order-6"]);
        assert_eq!(met(&policy, &get("user 3", None, "/")), ["order-4"]);
    }
}

#[test]
fn more_orders_than_anybody_reads_are_refused() {
    let blocked = |id| order(id, Order::Block { who: user(&id.to_string()) });
    let orders: Vec<_> = (1..=20_001).map(blocked).collect();
    let refused = super::refused(Sources { orders: &orders, ..Sources::default() });
    assert_eq!(
        refused,
        "order 20001: there are 20001 orders\n  = field: id\n  = cure: revoke those that nobody needs, and join addresses to networks"
    );
}
