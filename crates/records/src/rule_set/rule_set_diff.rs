//! What differs between two states of the rule set.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Content, Entry, PlainRow};

/// What differs between two states of the rule set. Entries are told apart by name, rows by number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RuleSetDiff {
    /// Only in the later state.
    pub added_entries: Vec<Entry>,
    /// Only in the earlier state.
    pub removed_entries: Vec<Entry>,
    /// In both, and not the same.
    pub changed_entries: Vec<Changed<Entry>>,
    /// Only in the later state.
    pub added_rows: Vec<PlainRow>,
    /// Only in the earlier state.
    pub removed_rows: Vec<PlainRow>,
    /// In both, and not the same.
    pub changed_rows: Vec<Changed<PlainRow>>,
}

/// One thing, earlier and later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed<T> {
    /// As it was.
    pub before: T,
    /// As it is.
    pub after: T,
}

impl RuleSetDiff {
    pub(super) fn between(before: &Content, after: &Content) -> RuleSetDiff {
        let (removed_entries, changed_entries, added_entries) =
            differences(&before.entries, &after.entries, |entry| entry.name.clone());
        let (removed_rows, changed_rows, added_rows) =
            differences(&before.rows, &after.rows, |row| row.rule_id);
        RuleSetDiff {
            added_entries,
            removed_entries,
            changed_entries,
            added_rows,
            removed_rows,
            changed_rows,
        }
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == RuleSetDiff::default()
    }

    /// What was, of all that differs: for the audit trail.
    pub(super) fn before_json(&self) -> String {
        let changed_entries: Vec<&Entry> =
            self.changed_entries.iter().map(|changed| &changed.before).collect();
        let changed_rows: Vec<&PlainRow> = self.changed_rows.iter().map(|changed| &changed.before).collect();
        json(
            &[&self.removed_entries.iter().collect::<Vec<_>>(), &changed_entries],
            &[&self.removed_rows.iter().collect::<Vec<_>>(), &changed_rows],
        )
    }

    /// What is, of all that differs.
    pub(super) fn after_json(&self) -> String {
        let changed_entries: Vec<&Entry> =
            self.changed_entries.iter().map(|changed| &changed.after).collect();
        let changed_rows: Vec<&PlainRow> = self.changed_rows.iter().map(|changed| &changed.after).collect();
        json(
            &[&self.added_entries.iter().collect::<Vec<_>>(), &changed_entries],
            &[&self.added_rows.iter().collect::<Vec<_>>(), &changed_rows],
        )
    }
}

fn json(entries: &[&[&Entry]; 2], rows: &[&[&PlainRow]; 2]) -> String {
    serde_json::json!({ "entries": entries.concat(), "rows": rows.concat() }).to_string()
}

/// What is only before, in both but not the same, only after.
fn differences<T: Clone + PartialEq, K: Ord>(
    before: &[T],
    after: &[T],
    key: impl Fn(&T) -> K,
) -> (Vec<T>, Vec<Changed<T>>, Vec<T>) {
    let mut earlier: BTreeMap<K, &T> = before.iter().map(|thing| (key(thing), thing)).collect();
    let (mut changed, mut added) = (Vec::new(), Vec::new());
    for thing in after {
        match earlier.remove(&key(thing)) {
            None => added.push(thing.clone()),
            Some(before) if before != thing => {
                changed.push(Changed { before: before.clone(), after: thing.clone() });
            }
            Some(_) => {}
        }
    }
    (earlier.into_values().cloned().collect(), changed, added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_added_removed_or_changed_and_never_two_of_these() {
        let content = |entries: &[(&str, &str)]| Content {
            entries: entries.iter().map(|(name, text)| Entry::new(*name, *text)).collect(),
            rows: Vec::new(),
        };
        let diff = RuleSetDiff::between(
            &content(&[("a", "1"), ("b", "1"), ("c", "1")]),
            &content(&[("b", "1"), ("c", "2"), ("d", "1")]),
        );
        assert_eq!(diff.removed_entries, [Entry::new("a", "1")]);
        assert_eq!(diff.added_entries, [Entry::new("d", "1")]);
        assert_eq!(
            diff.changed_entries,
            [Changed { before: Entry::new("c", "1"), after: Entry::new("c", "2") }]
        );
        assert!(RuleSetDiff::between(&content(&[("a", "1")]), &content(&[("a", "1")])).is_empty());
    }
}
