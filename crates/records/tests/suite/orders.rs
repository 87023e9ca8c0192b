//! Standing orders: given, read by everybody, ended.

use tollgate_policy::{Mode, ORDERS_STANDING_MAX, Order, Who};
use tollgate_records::{AuditFilter, NewOrder, RecordsError, Timestamp};

use crate::alice;
use crate::databases::Place;

on_both!(
    every_kind_of_order_is_read_back_as_it_was_given,
    an_order_ends_when_it_is_revoked_and_stays_in_the_books,
    an_order_past_its_expiry_is_nothing,
    an_order_that_cannot_be_is_refused_with_the_field,
    no_more_orders_stand_than_a_policy_takes,
    the_rate_of_an_override_may_have_a_unit_as_that_of_a_rule,
);

fn order(order: Order) -> NewOrder {
    NewOrder { order, reason: "an incident".to_owned(), expires_at: None }
}

fn block(user: &str) -> NewOrder {
    order(Order::Block { who: Who::User(user.to_owned()) })
}

async fn every_kind_of_order_is_read_back_as_it_was_given(place: Place) {
    let (one, other) = (place.open().await, place.open().await);
    let key = Who::Key { rule: "login".to_owned(), key: "ip:192.0.2.7".to_owned() };
    let orders = [
        Order::Block { who: Who::User("'; DROP TABLE tollgate_orders; --".to_owned()) },
        Order::Block { who: Who::Network("192.0.2.0/24".parse().unwrap()) },
        Order::Allow { who: Who::Address("2001:db8::7".parse().unwrap()) },
        Order::Allow { who: key.clone() },
        Order::Override {
            rule: "login".to_owned(),
            who: key,
            rate: "0.5".to_owned(),
            burst: "10".to_owned(),
        },
        Order::KillSwitch { rule: None },
        Order::KillSwitch { rule: Some("login".to_owned()) },
        Order::Mode { rule: "login".to_owned(), mode: Mode::Shadow },
    ];
    let expires_at = Some(Timestamp::from_unix_seconds(Timestamp::now().unix_seconds() + 3_600));
    for given in &orders {
        let record =
            one.give_order(&NewOrder { expires_at, ..order(given.clone()) }, &alice()).await.unwrap();
        assert_eq!(
            (record.author.as_str(), record.reason.as_str(), record.expires_at),
            ("alice", "an incident", expires_at)
        );
    }
    let read = other.orders(false).await.unwrap();
    assert_eq!(read.iter().map(|record| record.order().unwrap()).collect::<Vec<_>>(), orders);
    assert!(read.iter().all(|record| record.stands_at(Timestamp::now()) && record.expires_at == expires_at));
}

async fn an_order_ends_when_it_is_revoked_and_stays_in_the_books(place: Place) {
    let records = place.open().await;
    let given = records.give_order(&block("42"), &alice()).await.unwrap();
    records.give_order(&block("43"), &alice()).await.unwrap();
    let revoked = records.revoke_order(given.order_id, &alice(), "over").await.unwrap();
    assert!(revoked.revoked_at.is_some() && revoked.revoked_by.as_deref() == Some("alice"));
    assert!(!revoked.stands_at(Timestamp::now()));
    let standing = records.orders(false).await.unwrap();
    assert_eq!(standing.iter().map(|record| record.who.as_deref().unwrap()).collect::<Vec<_>>(), ["43"]);
    assert_eq!(records.orders(true).await.unwrap().len(), 2);
    for (past, expected) in [(false, vec![vec!["43"], vec![]]), (true, vec![vec!["43"], vec!["42"]])] {
        let mut cursor = None;
        for expected in expected {
            let page = records.orders_page(past, cursor, 1).await.unwrap();
            let who: Vec<&str> = page.iter().map(|record| record.who.as_deref().unwrap()).collect();
            assert_eq!(who, expected, "past: {past}");
            cursor = page.last().map(|record| record.order_id);
        }
    }
    for order_id in [given.order_id, 99, -1] {
        let again = records.revoke_order(order_id, &alice(), "over").await;
        assert_eq!(again, Err(RecordsError::NotFound { what: format!("order {order_id} that stands") }));
    }
}

async fn an_order_past_its_expiry_is_nothing(place: Place) {
    let records = place.open().await;
    let given = records.give_order(&block("42"), &alice()).await.unwrap();
    place.sql("UPDATE tollgate_orders SET expires_at = '2026-01-01T00:00:00Z'").await.unwrap();
    assert_eq!(records.orders(false).await.unwrap(), []);
    let past = &records.orders(true).await.unwrap()[0];
    assert_eq!(past.expires_at, Timestamp::parse("2026-01-01T00:00:00Z"));
    assert!(!past.stands_at(Timestamp::now()));
    assert!(records.revoke_order(given.order_id, &alice(), "over").await.is_err());
}

async fn an_order_that_cannot_be_is_refused_with_the_field(place: Place) {
    let records = place.open().await;
    let yesterday = Timestamp::from_unix_seconds(Timestamp::now().unix_seconds() - 86_400);
    let limit = |rate: &str, burst: &str| Order::Override {
        rule: "login".to_owned(),
        who: Who::User("42".to_owned()),
        rate: rate.to_owned(),
        burst: burst.to_owned(),
    };
    let other_rule = Who::Key { rule: "search".to_owned(), key: "42".to_owned() };
    let crossed = Order::Override {
        rule: "login".to_owned(),
        who: other_rule,
        rate: "1".to_owned(),
        burst: "1".to_owned(),
    };
    for (new, field) in [
        (NewOrder { reason: String::new(), ..block("42") }, "reason"),
        (NewOrder { expires_at: Some(yesterday), ..block("42") }, "expires_at"),
        (block(""), "who"),
        (block(&"x".repeat(513)), "who"),
        (block("nul\0"), "who"),
        (order(limit("0", "1")), "rate"),
        (order(limit("1", "many")), "burst"),
        (order(crossed), "who"),
        (order(Order::Mode { rule: "x".repeat(129), mode: Mode::Off }), "rule"),
    ] {
        match records.give_order(&new, &alice()).await {
            Err(RecordsError::Invalid { field: told, .. }) => assert_eq!(told, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    assert_eq!(records.orders(true).await.unwrap(), []);
    assert_eq!(records.audit(&AuditFilter::default(), None, 10).await.unwrap(), []);
}

async fn no_more_orders_stand_than_a_policy_takes(place: Place) {
    let records = place.open().await;
    let many = format!(
        "INSERT INTO tollgate_orders (kind, who_kind, who, reason, author) WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL \
         SELECT n + 1 FROM numbers WHERE n < {}) SELECT 'block', 'user', CAST(n AS TEXT), 'x', 'bob' FROM numbers",
        ORDERS_STANDING_MAX - 1
    );
    place.sql(&many).await.unwrap();
    let last = records.give_order(&block("last"), &alice()).await.unwrap();
    let refused = records.give_order(&block("one more"), &alice()).await.unwrap_err();
    assert_eq!(refused.to_string(), "`orders` would be 20001, 20000 at most; end or remove some first");
    records.revoke_order(last.order_id, &alice(), "over").await.unwrap();
    records.give_order(&block("one more"), &alice()).await.unwrap();
}

async fn the_rate_of_an_override_may_have_a_unit_as_that_of_a_rule(place: Place) {
    let records = place.open().await;
    let limit = |rate: &str| Order::Override {
        rule: "login".to_owned(),
        who: Who::User("42".to_owned()),
        rate: rate.to_owned(),
        burst: "20".to_owned(),
    };
    for rate in ["600/m", "0.003/s", "100/15m", "1/d"] {
        let given = records.give_order(&order(limit(rate)), &alice()).await.unwrap();
        assert_eq!((given.rate.as_deref(), given.order()), (Some(rate), Ok(limit(rate))));
    }
    for rate in ["0/m", "-1/m", "600/fortnight", "/m", "600/", "many/m", "600/0s"] {
        let refused = records.give_order(&order(limit(rate)), &alice()).await;
        let why = format!("is \"{rate}\"; write tokens per second above 0, or with a unit, as in 600/m");
        assert_eq!(refused, Err(RecordsError::Invalid { field: "rate", why }));
    }
    place.sql("UPDATE tollgate_orders SET rate = '600/fortnight' WHERE order_id = 1").await.unwrap();
    let by_hand = records.orders(false).await.unwrap()[0].order().unwrap_err().to_string();
    assert_eq!(
        by_hand,
        "order 1: `rate` is \"600/fortnight\"; write tokens per second above 0, or with a unit, as in 600/m"
    );
}
