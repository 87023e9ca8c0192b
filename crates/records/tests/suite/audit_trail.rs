//! The audit trail: every change has its line, and only changes have.

use std::net::{IpAddr, Ipv6Addr};

use tollgate_policy::Order;
use tollgate_records::{
    AuditFilter, AuditNote, Author, NewOperation, NewOrder, NewToken, OperationKind, RecordsError, Role,
};

use crate::databases::Place;
use crate::{alice, change, fine, put};

on_both!(
    every_change_has_its_line_with_who_what_before_after_and_why,
    lines_are_found_by_filter_and_page_and_by_nothing_else,
    a_change_without_its_line_is_not_made,
    lines_of_tokens_are_found_by_name_and_by_number,
);

async fn every_change_has_its_line_with_who_what_before_after_and_why(place: Place) {
    let records = place.open().await;
    let bob = Author::new("bob").from(IpAddr::V6(Ipv6Addr::LOCALHOST));
    records.apply(0, &put("login", "one"), &bob, "begin", fine).await.unwrap();
    records.apply(1, &put("login", "two"), &bob, "better", fine).await.unwrap();
    records.rollback(1, 2, &bob, "worse", fine).await.unwrap();
    let kill =
        NewOrder { order: Order::KillSwitch { rule: None }, reason: "fire".to_owned(), expires_at: None };
    let order = records.give_order(&kill, &bob).await.unwrap();
    records.revoke_order(order.order_id, &bob, "out").await.unwrap();
    let grant = OperationKind::Grant { amount: "5".to_owned() };
    let grant = NewOperation {
        kind: grant,
        rule: "login".to_owned(),
        key: "42".to_owned(),
        reason: "sorry".to_owned(),
        before: Some("3.5 of 10 tokens".to_owned()),
        after: Some("+5: 8.5 of 10 tokens".to_owned()),
    };
    records.note_operation(&grant, &bob).await.unwrap();
    let [before, after] = ["8.5 of 10 tokens", "10 of 10 tokens"].map(|text| Some(text.to_owned()));
    let reset = NewOperation { kind: OperationKind::Reset, before, after, ..grant };
    records.note_operation(&reset, &bob).await.unwrap();
    let new = NewToken { name: "deploy".to_owned(), role: Role::Viewer, expires_at: None };
    let (_, token) = records.create_token(&new, &bob).await.unwrap();
    records.revoke_token(&token.token_id, &bob, Some("lost")).await.unwrap();
    let (before, after) = (Some("version 3, 171d7ec45d79"), Some("version 4, 0a1b2c3d4e5f"));
    let note =
        AuditNote { action: "policy.reloaded", target: "the policy", before, after, ..AuditNote::default() };
    records.note_audit(&note, &bob).await.unwrap();

    let mut lines = records.audit(&AuditFilter::default(), None, 100).await.unwrap();
    let filter = AuditFilter { without_tokens: true, ..AuditFilter::default() };
    let others = records.audit(&filter, None, 100).await.unwrap();
    let is_of_token = |action: &str| action.starts_with("token.");
    assert!(others.iter().eq(lines.iter().filter(|line| !is_of_token(&line.action))), "{others:?}");
    assert_eq!(others.len() + 2, lines.len());
    lines.reverse();
    let told: Vec<(&str, &str, Option<&str>)> = lines
        .iter()
        .map(|line| (line.action.as_str(), line.target.as_str(), line.reason.as_deref()))
        .collect();
    let token = format!("token {}", token.token_id);
    assert_eq!(
        told,
        [
            ("rules.apply", "version 1", Some("begin")),
            ("rules.apply", "version 2", Some("better")),
            ("rules.rollback", "version 3", Some("worse")),
            ("order.give", "order 1", Some("fire")),
            ("order.revoke", "order 1", Some("out")),
            ("bucket.grant", "login 42", Some("sorry")),
            ("bucket.reset", "login 42", Some("sorry")),
            ("token.create", token.as_str(), None),
            ("token.revoke", token.as_str(), Some("lost")),
            ("policy.reloaded", "the policy", None),
        ]
    );
    assert!(lines.iter().all(|line| line.who == "bob" && line.source_address.as_deref() == Some("::1")));
    assert!(lines.is_sorted_by_key(|line| line.audit_id) && lines.is_sorted_by_key(|line| line.at));
    let (before, after) = (lines[1].before.as_deref().unwrap(), lines[1].after.as_deref().unwrap());
    assert!(before.contains("\"text\":\"one\"") && !before.contains("two"), "{before}");
    assert!(after.contains("\"text\":\"two\"") && !after.contains("one"), "{after}");
    assert!(lines[3].after.as_deref().unwrap().contains("kill_switch"));
    for (line, before, after) in [
        (5, "3.5 of 10 tokens", "+5: 8.5 of 10 tokens"),
        (6, "8.5 of 10 tokens", "10 of 10 tokens"),
        (9, "version 3, 171d7ec45d79", "version 4, 0a1b2c3d4e5f"),
    ] {
        assert_eq!(
            (lines[line].before.as_deref(), lines[line].after.as_deref()),
            (Some(before), Some(after))
        );
    }
    for (given, revoked) in [(3, 4), (7, 8)] {
        assert_eq!(lines[revoked].before, lines[given].after);
        let after = lines[revoked].after.as_deref().unwrap();
        assert!(!after.contains("\"revoked_at\":null"), "{after}");
    }
}

async fn lines_are_found_by_filter_and_page_and_by_nothing_else(place: Place) {
    let records = place.open().await;
    for number in 0..6 {
        let author = Author::new(if number % 2 == 0 { "even" } else { "odd" });
        let note = AuditNote { action: "test.note", target: &format!("{number}"), ..AuditNote::default() };
        records.note_audit(&note, &author).await.unwrap();
    }
    let by = |who: &str| AuditFilter { who: Some(who.to_owned()), ..AuditFilter::default() };
    let first = records.audit(&by("odd"), None, 2).await.unwrap();
    assert_eq!(first.iter().map(|line| line.target.as_str()).collect::<Vec<_>>(), ["5", "3"]);
    let rest = records.audit(&by("odd"), Some(first[1].audit_id), 2).await.unwrap();
    assert_eq!(rest.iter().map(|line| line.target.as_str()).collect::<Vec<_>>(), ["1"]);
    for injected in
        ["' OR '1'='1", "odd' --", "odd'; DELETE FROM tollgate_audit; --", "%", "o_d", "", "ODD", "odd\u{0}"]
    {
        // PostgreSQL refuses a NUL, SQLite finds nothing.
        let found = records.audit(&by(injected), None, 10).await.unwrap_or_default();
        assert_eq!(found, [], "{injected}");
        let target = AuditFilter {
            target: Some(injected.to_owned()),
            action: Some(injected.to_owned()),
            ..AuditFilter::default()
        };
        assert_eq!(records.audit(&target, None, 10).await.unwrap_or_default(), [], "{injected}");
    }
    assert_eq!(records.audit(&AuditFilter::default(), None, usize::MAX).await.unwrap().len(), 6);
}

async fn a_change_without_its_line_is_not_made(place: Place) {
    let records = place.open().await;
    change(&records, &put("login", "one")).await;
    place.sql("ALTER TABLE tollgate_audit RENAME TO tollgate_elsewhere").await.unwrap();
    assert!(records.apply(1, &put("login", "two"), &alice(), "", fine).await.is_err());
    let kill =
        NewOrder { order: Order::KillSwitch { rule: None }, reason: "fire".to_owned(), expires_at: None };
    assert!(matches!(records.give_order(&kill, &alice()).await, Err(RecordsError::Refused { .. })));
    assert_eq!(records.orders(true).await.unwrap(), []);
    let rules = records.rule_set().await.unwrap();
    assert_eq!((rules.version, rules.entries[0].text.as_str()), (1, "one"));
}

async fn lines_of_tokens_are_found_by_name_and_by_number(place: Place) {
    let records = place.open().await;
    let long = "é".repeat(64);
    for author in [
        Author::of_token("ann", "0123456789abcdef"),
        Author::of_token("ann", "fedcba9876543210"),
        Author::of_token("anna", "0011223344556677"),
        Author::of_token(&long, "8899aabbccddeeff"),
    ] {
        let note = AuditNote { action: "test.note", target: &author.name, ..AuditNote::default() };
        records.note_audit(&note, &author).await.unwrap();
    }
    let found = async |who: &str| {
        let by = AuditFilter { who: Some(who.to_owned()), ..AuditFilter::default() };
        let lines = records.audit(&by, None, 10).await.unwrap();
        lines.into_iter().map(|line| line.who).collect::<Vec<_>>()
    };
    assert_eq!(found("ann").await, ["ann (fedcba9876543210)", "ann (0123456789abcdef)"]);
    assert_eq!(found("ann (0123456789abcdef)").await, ["ann (0123456789abcdef)"]);
    let all = records.audit(&AuditFilter::default(), None, 1).await.unwrap();
    assert!(all[0].who.ends_with("é (8899aabbccddeeff)"), "{}", all[0].who);
}
