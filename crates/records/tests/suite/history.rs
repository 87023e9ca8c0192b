//! Versions: listed, compared, brought back.

use tollgate_records::{Changed, Entry, PutRow, RecordsError, RowTerms, RuleSetChange};

use crate::databases::Place;
use crate::{alice, change, fine, put};

on_both!(
    a_rollback_brings_back_entries_and_rows_with_their_numbers,
    a_rollback_is_judged_as_every_change,
    versions_are_listed_newest_first_page_by_page,
    a_diff_says_what_came_went_and_changed,
);

fn row(pattern: &str) -> PutRow {
    PutRow { rule_id: None, terms: RowTerms::new(pattern, "user", "0.003", "5") }
}

async fn a_rollback_brings_back_entries_and_rows_with_their_numbers(place: Place) {
    let records = place.open().await;
    let begin = RuleSetChange { put_rows: vec![row("one"), row("two")], ..put("login", "first") };
    change(&records, &begin).await;
    let first = records.rule_set().await.unwrap();
    let mut other = first.rows[1].clone();
    "one".clone_into(&mut other.terms.key_pattern);
    let mess = RuleSetChange {
        delete_entries: vec!["login".to_owned()],
        put_entries: vec![Entry::new("other", "second")],
        delete_rows: vec![first.rows[0].rule_id],
        put_rows: vec![PutRow { rule_id: Some(other.rule_id), terms: other.terms }, row("three")],
        ..RuleSetChange::default()
    };
    change(&records, &mess).await;
    let version = records.rollback(1, 2, &alice(), "that was wrong", fine).await.unwrap();
    assert_eq!((version.version, version.comment.as_str()), (3, "that was wrong"));
    let rules = records.rule_set().await.unwrap();
    assert_eq!((&rules.entries, &rules.rows), (&first.entries, &first.rows));
    assert_eq!(version.hash, records.version(1).await.unwrap().version.hash);
    // A new row has a number that no row ever had.
    change(&records, &RuleSetChange { put_rows: vec![row("four")], ..RuleSetChange::default() }).await;
    let numbers: Vec<i64> = records.rule_set().await.unwrap().rows.iter().map(|row| row.rule_id).collect();
    assert_eq!(numbers, [1, 2, 4]);
    records.rollback(0, 4, &alice(), "away with it", fine).await.unwrap();
    let rules = records.rule_set().await.unwrap();
    assert!(rules.version == 5 && rules.entries.is_empty() && rules.rows.is_empty());
}

async fn a_rollback_is_judged_as_every_change(place: Place) {
    let records = place.open().await;
    change(&records, &put("login", "first")).await;
    change(&records, &put("login", "second")).await;
    let refused = records.rollback(1, 2, &alice(), "", |_| Err("no longer a rule".to_owned())).await;
    assert_eq!(refused.unwrap_err().to_string(), "no longer a rule");
    let missing = records.rollback(9, 2, &alice(), "", fine).await;
    assert!(missing.unwrap_err().to_string().starts_with("there is no version 9"));
    let missing = records.diff(98, 99).await;
    assert!(
        missing.unwrap_err().to_string().starts_with("there is no version 99"),
        "the one that was asked for"
    );
    let late = records.rollback(1, 1, &alice(), "", fine).await;
    assert!(late.unwrap_err().to_string().starts_with("the rules are at version 2 by alice"));
    assert_eq!(records.rule_set().await.unwrap().entries[0].text, "second");
}

async fn versions_are_listed_newest_first_page_by_page(place: Place) {
    let records = place.open().await;
    for number in 1..=5 {
        change(&records, &put("login", &format!("text {number}"))).await;
    }
    let mut listed = Vec::new();
    let mut cursor = None;
    loop {
        let page = records.versions(cursor, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        cursor = Some(last.version);
        listed.extend(page.into_iter().map(|version| version.version));
    }
    assert_eq!(listed, [5, 4, 3, 2, 1]);
    assert_eq!(records.version(3).await.unwrap().entries, [Entry::new("login", "text 3")]);
    assert_eq!(records.version(6).await, Err(RecordsError::NotFound { what: "version 6".to_owned() }));
}

async fn a_diff_says_what_came_went_and_changed(place: Place) {
    let records = place.open().await;
    let begin = RuleSetChange {
        put_entries: vec![Entry::new("a", "1"), Entry::new("b", "1")],
        ..RuleSetChange::default()
    };
    change(&records, &begin).await;
    let then =
        RuleSetChange { delete_entries: vec!["a".into()], put_rows: vec![row("one")], ..put("b", "2") };
    change(&records, &then).await;
    let diff = records.diff(1, 2).await.unwrap();
    assert_eq!(diff.removed_entries, [Entry::new("a", "1")]);
    assert_eq!(diff.changed_entries, [Changed { before: Entry::new("b", "1"), after: Entry::new("b", "2") }]);
    assert_eq!(diff.added_rows[0].terms, row("one").terms);
    assert_eq!(records.diff(2, 1).await.unwrap().added_entries, diff.removed_entries);
    assert!(records.diff(2, 2).await.unwrap().is_empty());
    assert_eq!(records.diff(0, 1).await.unwrap().added_entries.len(), 2);
}
