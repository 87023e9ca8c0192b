//! What the filing room promises, on SQLite and on PostgreSQL alike.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(dead_code, unused_imports, reason = "other tests use the rest")]
mod databases;

#[path = "suite/audit_trail.rs"]
mod audit_trail;
#[path = "suite/by_hand.rs"]
mod by_hand;
#[path = "suite/changes.rs"]
mod changes;
#[path = "suite/conflicts.rs"]
mod conflicts;
#[path = "suite/history.rs"]
mod history;
#[path = "suite/maxima.rs"]
mod maxima;
#[path = "suite/news.rs"]
mod news;
#[path = "suite/operations.rs"]
mod operations;
#[path = "suite/orders.rs"]
mod orders;
#[path = "suite/starting.rs"]
mod starting;
#[path = "suite/talker_sheets.rs"]
mod talker_sheets;
#[path = "suite/tokens.rs"]
mod tokens;

use tollgate_records::{Author, Entry, Records, RuleSet, RuleSetChange, Version};

/// Whoever changes things here.
fn alice() -> Author {
    Author::new("alice")
}

/// A judge that finds no mistake.
#[expect(clippy::unnecessary_wraps, reason = "judges find mistakes")]
fn fine(_: &RuleSet) -> Result<(), String> {
    Ok(())
}

/// A change that puts one entry.
fn put(name: &str, text: &str) -> RuleSetChange {
    RuleSetChange { put_entries: vec![Entry::new(name, text)], ..RuleSetChange::default() }
}

/// Makes a change to what there is.
async fn change(records: &Records, change: &RuleSetChange) -> Version {
    let base = records.rule_set().await.unwrap().version;
    records.apply(base, change, &alice(), "because", fine).await.unwrap()
}
