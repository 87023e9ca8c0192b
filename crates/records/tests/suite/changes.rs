//! Changing the rule set: all of it or nothing, and everybody reads the same.

use tollgate_records::{
    ApplyError, AuditFilter, Entry, PutRow, RecordsError, RowTerms, RuleSetChange, Stored,
};

use crate::databases::Place;
use crate::{alice, change, fine, put};

on_both!(
    an_empty_database_is_version_0,
    a_change_is_read_back_by_every_instance,
    a_change_that_the_judge_refuses_leaves_no_trace,
    a_change_that_changes_nothing_is_no_version,
    rows_are_told_apart_by_pattern_and_plan_even_without_a_plan,
    rows_may_change_places,
    what_is_switched_off_stays_and_can_be_switched_on,
    text_is_kept_to_the_letter,
);

fn row(pattern: &str, plan: Option<&str>) -> PutRow {
    let terms = RowTerms { plan: plan.map(str::to_owned), ..RowTerms::new(pattern, "user", "10", "20.50") };
    PutRow { rule_id: None, terms }
}

fn rows(put_rows: Vec<PutRow>) -> RuleSetChange {
    RuleSetChange { put_rows, ..RuleSetChange::default() }
}

async fn an_empty_database_is_version_0(place: Place) {
    let rules = place.open().await.rule_set().await.unwrap();
    assert_eq!((rules.version, rules.is_unversioned), (0, false));
    assert!(rules.entries.is_empty() && rules.rows.is_empty());
}

async fn a_change_is_read_back_by_every_instance(place: Place) {
    let (one, other) = (place.open().await, place.open().await);
    let both = RuleSetChange { put_rows: vec![row("user:{user_id}", None)], ..put("login", "{name: login}") };
    let version = one.apply(0, &both, &alice(), "slower log-ins", fine).await.unwrap();
    assert_eq!(
        (version.version, version.author.as_str(), version.comment.as_str()),
        (1, "alice", "slower log-ins")
    );
    let rules = other.rule_set().await.unwrap();
    assert_eq!((rules.version, rules.is_unversioned), (1, false));
    assert_eq!(rules.entries, [Entry::new("login", "{name: login}")]);
    assert_eq!(
        rules.rows[0].terms,
        RowTerms { burst_capacity: "20.5".to_owned(), ..row("user:{user_id}", None).terms }
    );
    assert_eq!(other.rule_set().await.unwrap(), one.rule_set().await.unwrap());
}

async fn a_change_that_the_judge_refuses_leaves_no_trace(place: Place) {
    let records = place.open().await;
    change(&records, &put("login", "one")).await;
    let before = records.rule_set().await.unwrap();
    let judged = records
        .apply(1, &put("login", "two"), &alice(), "", |rules| {
            Err(format!("{} is no rule", rules.entries[0].text))
        })
        .await;
    assert_eq!(judged, Err(ApplyError::Mistaken { why: "two is no rule".to_owned() }));
    assert_eq!(records.rule_set().await.unwrap(), before);
    assert_eq!(records.audit(&AuditFilter::default(), None, 10).await.unwrap().len(), 1);
}

async fn a_change_that_changes_nothing_is_no_version(place: Place) {
    let records = place.open().await;
    let first = change(&records, &put("login", "one")).await;
    let before = records.rule_set().await.unwrap();
    assert_eq!(change(&records, &put("login", "one")).await, first);
    assert_eq!(records.rule_set().await.unwrap(), before);
    assert_eq!(records.versions(None, 10).await.unwrap(), [first]);
}

async fn rows_are_told_apart_by_pattern_and_plan_even_without_a_plan(place: Place) {
    let records = place.open().await;
    change(&records, &rows(vec![row("user:{user_id}", None), row("user:{user_id}", Some("pro"))])).await;
    for plan in [None, Some("pro")] {
        let twice = records.apply(1, &rows(vec![row("user:{user_id}", plan)]), &alice(), "", fine).await;
        assert!(matches!(twice, Err(ApplyError::Records(RecordsError::Twice { .. }))), "{plan:?}: {twice:?}");
    }
    change(&records, &rows(vec![row("user:{user_id}", Some("free"))])).await;
    assert_eq!(records.rule_set().await.unwrap().rows.len(), 3);
}

async fn rows_may_change_places(place: Place) {
    let records = place.open().await;
    change(&records, &rows(vec![row("one", None), row("two", Some("pro"))])).await;
    let stored = records.rule_set().await.unwrap().rows;
    let put_rows = vec![
        PutRow { rule_id: Some(stored[0].rule_id), terms: stored[1].terms.clone() },
        PutRow { rule_id: Some(stored[1].rule_id), terms: stored[0].terms.clone() },
    ];
    change(&records, &rows(put_rows)).await;
    let swapped = records.rule_set().await.unwrap().rows;
    assert_eq!((&swapped[0].terms, &swapped[1].terms), (&stored[1].terms, &stored[0].terms));
    assert_eq!((swapped[0].rule_id, swapped[1].rule_id), (stored[0].rule_id, stored[1].rule_id));
}

async fn what_is_switched_off_stays_and_can_be_switched_on(place: Place) {
    let records = place.open().await;
    change(&records, &RuleSetChange { put_rows: vec![row("global", None)], ..put("login", "one") }).await;
    let rule_id = records.rule_set().await.unwrap().rows[0].rule_id;
    for is_active in [false, true] {
        let set_active = vec![(Stored::Entry("login".into()), is_active), (Stored::Row(rule_id), is_active)];
        change(&records, &RuleSetChange { set_active, ..RuleSetChange::default() }).await;
        let rules = records.rule_set().await.unwrap();
        assert_eq!((rules.entries[0].is_active, rules.rows[0].terms.is_active), (is_active, is_active));
    }
    let gone = RuleSetChange {
        delete_entries: vec!["login".into()],
        delete_rows: vec![rule_id],
        ..RuleSetChange::default()
    };
    change(&records, &gone).await;
    let rules = records.rule_set().await.unwrap();
    assert!(rules.entries.is_empty() && rules.rows.is_empty());
}

async fn text_is_kept_to_the_letter(place: Place) {
    let records = place.open().await;
    let nasty = "'; DROP TABLE tollgate_entries; --\r\n\t\"\\ $1 ? :x {{}} \u{1b}[31m \u{202e}ünï©ødé 🦀";
    let entry = Entry { description: Some(nasty.to_owned()), ..Entry::new(nasty, nasty) };
    let terms = RowTerms {
        plan: Some(nasty.to_owned()),
        description: Some(nasty.to_owned()),
        ..RowTerms::new(nasty, "user", "1", "1")
    };
    let kept = RuleSetChange {
        put_entries: vec![entry.clone()],
        ..rows(vec![PutRow { rule_id: None, terms: terms.clone() }])
    };
    change(&records, &kept).await;
    let rules = records.rule_set().await.unwrap();
    assert_eq!((&rules.entries[0], &rules.rows[0].terms), (&entry, &terms));
}
