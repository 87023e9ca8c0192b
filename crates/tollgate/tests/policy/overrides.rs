//! Standing orders in force: an override takes the client's balance along (A9), blocks and allows are as they say.

use tollgate::policy::{Facts, Order, Policy, Sources, StandingOrder, Who};

use crate::world::{World, by_user};

const FILE: &str = "{name: api, scope: user, rate: 1/s, burst: 10}";

fn order(id: i64, order: Order) -> StandingOrder {
    StandingOrder { id, order, reason: "test".to_owned(), author: "ann".to_owned(), expires: None }
}

fn with(orders: &[StandingOrder]) -> Policy {
    let sources = Sources { file: Some(("policy.yaml", FILE)), orders, ..Sources::default() };
    Policy::compose(&sources).unwrap_or_else(|mistakes| panic!("{mistakes}")).policy
}

fn another_limit(id: i64, user: &str, rate: &str, burst: &str) -> StandingOrder {
    let who = Who::User(user.to_owned());
    order(id, Order::Override { rule: "api".to_owned(), who, rate: rate.to_owned(), burst: burst.to_owned() })
}

fn user(name: &str) -> Facts<'_> {
    by_user(name, "free", "/")
}

#[test]
fn an_override_takes_the_balance_along_both_ways() {
    let world = World::of(FILE);
    assert_eq!(world.admitted(7, &user("ann")), 7);
    world.limiter.swap(with(&[another_limit(1, "ann", "2", "5000")])).unwrap();
    assert_eq!(world.admitted(100, &user("ann")), 3, "room to refill into, not tokens");
    world.pass(4_000);
    assert_eq!(world.admitted(100, &user("ann")), 8, "at the rate that was ordered");
    assert_eq!(world.admitted(100, &user("bob")), 10, "others have what the rule says");
    world.pass(2_000);
    world.limiter.swap(with(&[])).unwrap();
    assert_eq!(world.admitted(100, &user("ann")), 4);
}

#[test]
fn a_smaller_override_clamps_and_another_order_of_the_same_limit_changes_nothing() {
    let world = World::of(FILE);
    assert_eq!(world.admitted(1, &user("ann")), 1);
    world.limiter.swap(with(&[another_limit(1, "ann", "1", "5")])).unwrap();
    assert_eq!(world.admitted(3, &user("ann")), 3);
    world.limiter.swap(with(&[another_limit(2, "ann", "1", "5")])).unwrap();
    assert_eq!(world.admitted(100, &user("ann")), 2);
}

#[test]
fn whoever_is_denied_by_an_override_is_told_so() {
    let world = World::of(FILE);
    world.limiter.swap(with(&[another_limit(7, "ann", "1", "1")])).unwrap();
    assert_eq!(world.admitted(1, &user("ann")), 1);
    let denied = world.check(&user("ann"));
    assert_eq!(crate::world::violated(&denied), ["order-7"]);
}

#[test]
fn who_is_blocked_is_refused_and_who_is_allowed_pays_nothing() {
    let world = World::of(FILE);
    let named = |name: &str| Who::User(name.to_owned());
    world
        .limiter
        .swap(with(&[
            order(1, Order::Block { who: named("eve") }),
            order(2, Order::Allow { who: named("ann") }),
        ]))
        .unwrap();
    assert_eq!(world.admitted(100, &user("eve")), 0);
    assert_eq!(world.admitted(100, &user("ann")), 100);
    world.limiter.swap(with(&[])).unwrap();
    assert_eq!(world.admitted(100, &user("ann")), 10);
}
