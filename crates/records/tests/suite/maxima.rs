//! Everything has a maximum: what fits is kept, what does not is refused with the field and both numbers.

use tollgate_records::{
    ApplyError, Author, DESCRIPTION_BYTES_MAX, ENTRIES_MAX, ENTRY_BYTES_MAX, Entry, KEY_BYTES_MAX,
    NAME_BYTES_MAX, PLAN_BYTES_MAX, PutRow, REASON_BYTES_MAX, ROWS_MAX, RecordsError, RecordsOptions,
    RowTerms, RuleSetChange, SCOPE_BYTES_MAX,
};

use crate::databases::{Place, SET_UP_MAX};
use crate::{alice, fine};

on_both!(
    texts_of_the_longest_kind_are_kept,
    a_text_one_byte_longer_is_refused,
    as_many_rules_as_may_be_are_one_change
);

/// A change whose texts are as long as may be, with so many bytes more in one of them.
fn longest(longer: &str) -> RuleSetChange {
    // Two bytes a letter: bytes are counted, by the tables as well.
    let text = |field: &str, bytes: usize| "é".repeat(bytes / 2) + if field == longer { "x" } else { "" };
    let entry = Entry {
        name: text("name", NAME_BYTES_MAX),
        text: text("text", ENTRY_BYTES_MAX),
        is_active: true,
        description: Some(text("description", DESCRIPTION_BYTES_MAX)),
    };
    let terms = RowTerms {
        key_pattern: text("key_pattern", KEY_BYTES_MAX),
        scope: text("scope", SCOPE_BYTES_MAX),
        plan: Some(text("plan", PLAN_BYTES_MAX)),
        description: Some(text("another", DESCRIPTION_BYTES_MAX)),
        ..RowTerms::new("", "", "999999999999.5", "0.000001")
    };
    RuleSetChange {
        put_entries: vec![entry],
        put_rows: vec![PutRow { rule_id: None, terms }],
        ..RuleSetChange::default()
    }
}

async fn texts_of_the_longest_kind_are_kept(place: Place) {
    let records = place.open().await;
    let author = Author::new("é".repeat(NAME_BYTES_MAX / 2));
    let comment = "é".repeat(REASON_BYTES_MAX / 2);
    let change = longest("");
    records.apply(0, &change, &author, &comment, fine).await.unwrap();
    let rules = records.rule_set().await.unwrap();
    assert_eq!((&rules.entries, &rules.rows[0].terms), (&change.put_entries, &change.put_rows[0].terms));
    assert_eq!(records.version(1).await.unwrap().version.comment, comment);
}

async fn a_text_one_byte_longer_is_refused(place: Place) {
    let records = place.open().await;
    for field in ["name", "text", "description", "key_pattern", "scope", "plan"] {
        let refused = records.apply(0, &longest(field), &alice(), "", fine).await;
        let Err(ApplyError::Records(RecordsError::Invalid { field: told, why })) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(told, field);
        assert!(why.starts_with("has ") && why.ends_with(" at most; shorten it"), "{why}");
    }
    let long = Author::new("x".repeat(NAME_BYTES_MAX + 1));
    assert!(
        records
            .apply(0, &longest(""), &long, "", fine)
            .await
            .unwrap_err()
            .to_string()
            .starts_with("`author` has 129")
    );
    let comment = "x".repeat(REASON_BYTES_MAX + 1);
    let refused = records.apply(0, &longest(""), &alice(), &comment, fine).await.unwrap_err();
    assert_eq!(refused.to_string(), "`comment` has 1025 bytes, 1024 at most; shorten it");
    assert_eq!(records.rule_set().await.unwrap().version, 0);
}

async fn as_many_rules_as_may_be_are_one_change(place: Place) {
    let mut options = RecordsOptions::default();
    // No promise of ours: a busy machine may take its time.
    options.answer_max = SET_UP_MAX;
    let records = place.open_with(options).await;
    let entry = |number: usize| Entry::new(format!("entry {number}"), "{scope: ip, rate: 5/m, burst: 5}");
    let row = |number: usize| PutRow {
        rule_id: None,
        terms: RowTerms::new(&format!("endpoint:/{number}"), "endpoint", "0.5", "10"),
    };
    let full = RuleSetChange {
        put_entries: (0..ENTRIES_MAX).map(entry).collect(),
        put_rows: (0..ROWS_MAX).map(row).collect(),
        ..RuleSetChange::default()
    };
    records.apply(0, &full, &alice(), "", fine).await.unwrap();
    let rules = records.rule_set().await.unwrap();
    assert_eq!((rules.version, rules.entries.len(), rules.rows.len()), (1, ENTRIES_MAX, ROWS_MAX));
    let more = RuleSetChange { put_entries: vec![entry(ENTRIES_MAX)], ..RuleSetChange::default() };
    let refused = records.apply(1, &more, &alice(), "", fine).await.unwrap_err();
    assert_eq!(refused.to_string(), "`entries` would be 10001, 10000 at most; end or remove some first");
    records.rollback(0, 1, &alice(), "", fine).await.unwrap();
    let rules = records.rule_set().await.unwrap();
    assert!(rules.version == 2 && rules.entries.is_empty() && rules.rows.is_empty());
}
