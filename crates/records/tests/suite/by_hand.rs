//! Tables that somebody changes by SQL.

use tollgate_policy::{Order, Who};
use tollgate_records::{ApplyError, RowTerms, Timestamp};

use crate::databases::Place;
use crate::{alice, change, fine, put};

on_both!(
    rows_put_in_by_plain_sql_are_a_version_by_sql,
    instances_that_see_a_change_by_sql_together_make_one_version_of_it,
    a_change_by_sql_that_nobody_saw_is_a_conflict,
    tables_refuse_what_no_rule_can_be,
    an_order_that_is_wrong_by_hand_is_told_by_its_field_and_harms_no_other,
    a_change_by_sql_can_be_rolled_back,
);

const FOUR_ROWS: &str = "INSERT INTO rate_limit_rules (key_pattern, scope, rate_per_second, burst_capacity, plan) VALUES \
    ('user:{user_id}', 'user', 10, 50, NULL), ('user:{user_id}', 'user', 100, 500, 'pro'), \
    ('ip:{ip}', 'ip', 0.003, 5, NULL), ('endpoint:/api/search', 'endpoint', 1.50, 100, NULL)";

async fn rows_put_in_by_plain_sql_are_a_version_by_sql(place: Place) {
    let records = place.open().await;
    assert_eq!(place.sql(FOUR_ROWS).await.unwrap(), 4);
    let rules = records.rule_set().await.unwrap();
    assert_eq!((rules.version, rules.is_unversioned), (1, false));
    let numbers: Vec<i64> = rules.rows.iter().map(|row| row.rule_id).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    let pro =
        RowTerms { plan: Some("pro".to_owned()), ..RowTerms::new("user:{user_id}", "user", "100", "500") };
    assert_eq!(rules.rows[1].terms, pro);
    assert_eq!(rules.rows[2].terms, RowTerms::new("ip:{ip}", "ip", "0.003", "5"));
    assert_eq!(rules.rows[3].terms, RowTerms::new("endpoint:/api/search", "endpoint", "1.5", "100"));
    let version = &records.versions(None, 1).await.unwrap()[0];
    assert_eq!((version.author.as_str(), version.comment.as_str()), ("sql", "changed by SQL"));
    place.sql("UPDATE rate_limit_rules SET is_active = FALSE WHERE rule_id = 2").await.unwrap();
    place.sql("DELETE FROM rate_limit_rules WHERE rule_id = 4").await.unwrap();
    place.sql("INSERT INTO tollgate_entries (name, text) VALUES ('login', '{}')").await.unwrap();
    let rules = records.rule_set().await.unwrap();
    assert_eq!((rules.version, rules.rows.len(), rules.rows[1].terms.is_active), (2, 3, false));
    assert!(rules.entries[0].is_active);
}

async fn instances_that_see_a_change_by_sql_together_make_one_version_of_it(place: Place) {
    let instances = [place.open().await, place.open().await];
    for round in 1..=3 {
        place
            .sql(&format!("INSERT INTO tollgate_entries (name, text) VALUES ('e{round}', '{{}}')"))
            .await
            .unwrap();
        let looks: Vec<_> = (0..8)
            .map(|number: usize| {
                let records = instances[number % 2].clone();
                tokio::spawn(async move { records.rule_set().await.unwrap() })
            })
            .collect();
        for look in looks {
            let rules = look.await.unwrap();
            assert_eq!(
                (rules.version, rules.entries.len(), rules.is_unversioned),
                (round, usize::try_from(round).unwrap(), false)
            );
        }
    }
    assert_eq!(instances[0].versions(None, 10).await.unwrap().len(), 3);
}

async fn a_change_by_sql_that_nobody_saw_is_a_conflict(place: Place) {
    let records = place.open().await;
    change(&records, &put("login", "first")).await;
    place.sql("UPDATE tollgate_entries SET text = 'by hand'").await.unwrap();
    let conflict = records.apply(1, &put("login", "second"), &alice(), "", fine).await.unwrap_err();
    let ApplyError::Conflict { base: 1, current: 2, by, .. } = &conflict else { panic!("{conflict}") };
    assert_eq!(by, "sql");
    assert_eq!(records.version(2).await.unwrap().entries[0].text, "by hand");
    records.apply(2, &put("login", "second"), &alice(), "", fine).await.unwrap();
    assert_eq!(records.rule_set().await.unwrap().entries[0].text, "second");
}

async fn tables_refuse_what_no_rule_can_be(place: Place) {
    let records = place.open().await;
    place.sql(FOUR_ROWS).await.unwrap();
    let row =
        |columns: &str, values: &str| format!("INSERT INTO rate_limit_rules ({columns}) VALUES ({values})");
    let four = "key_pattern, scope, rate_per_second, burst_capacity";
    let long = format!("'{}', 'user', 1, 1", "x".repeat(513));
    for refused in [
        row(four, "'user:{user_id}', 'user', 1, 1"),
        row(four, "'new', 'user', 0, 1"),
        row(four, "'new', 'user', 1, -1"),
        row(four, "'', 'user', 1, 1"),
        row(four, "NULL, 'user', 1, 1"),
        row(four, "'new', 'user', 1e300, 1"),
        row(four, &long),
        row("key_pattern, scope, rate_per_second", "'new', 'user', 1"),
        "INSERT INTO tollgate_orders (kind, reason, author) VALUES ('shout', 'x', 'x')".to_owned(),
        "INSERT INTO tollgate_tokens (token_id, name, role, hash) VALUES ('x', 'x', 'root', 'x')".to_owned(),
        "INSERT INTO tollgate_revision (revision) VALUES (7)".to_owned(),
    ] {
        assert!(place.sql(&refused).await.is_err(), "{refused}");
    }
    assert_eq!(records.rule_set().await.unwrap().rows.len(), 4);
}

async fn an_order_that_is_wrong_by_hand_is_told_by_its_field_and_harms_no_other(place: Place) {
    let records = place.open().await;
    let order = |columns: &str, values: &str| {
        format!("INSERT INTO tollgate_orders (kind, reason, author, {columns}) VALUES ({values})")
    };
    for sql in [
        order("who_kind, who", "'block', 'x', 'bob', 'address', 'not an address'"),
        order("who_kind, who", "'block', 'x', 'bob', 'user', '42'"),
        order("rule, who_kind, who, rate", "'override', 'x', 'bob', 'login', 'user', '42', '5'"),
        order("rule", "'mode', 'x', 'bob', 'login'"),
    ] {
        place.sql(&sql).await.unwrap();
    }
    let orders = records.orders(false).await.unwrap();
    let read: Vec<Result<Order, String>> =
        orders.iter().map(|order| order.order().map_err(|mistake| mistake.to_string())).collect();
    assert_eq!(
        read,
        [
            Err("order 1: `who` is \"not an address\"; write an address like 192.0.2.7".to_owned()),
            Ok(Order::Block { who: Who::User("42".to_owned()) }),
            Err("order 3: `burst` is missing, and an order of kind `override` needs it".to_owned()),
            Err("order 4: `mode` is missing, and an order of kind `mode` needs it".to_owned()),
        ]
    );
    let soon = Timestamp::now().unix_micros().abs_diff(orders[0].created_at.unix_micros());
    assert!(soon < 60_000_000, "{}", orders[0].created_at);
}

async fn a_change_by_sql_can_be_rolled_back(place: Place) {
    let records = place.open().await;
    change(&records, &put("login", "first")).await;
    place.sql("DELETE FROM tollgate_entries").await.unwrap();
    place.sql(FOUR_ROWS).await.unwrap();
    let base = records.rule_set().await.unwrap().version;
    records.rollback(1, base, &alice(), "who did that?", fine).await.unwrap();
    let rules = records.rule_set().await.unwrap();
    assert!(rules.rows.is_empty() && rules.entries[0].text == "first");
}
