//! A change to the rule set, as it was asked for and as it comes out.

use std::collections::BTreeMap;

use super::{Content, Entry, PlainRow, PutRow};
use crate::RecordsError;

/// A change to the rule set, made whole or not at all: first what is deleted, then what is put, then what is switched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSetChange {
    /// Names of entries that go.
    pub delete_entries: Vec<String>,
    /// Entries that come, or replace those of their name.
    pub put_entries: Vec<Entry>,
    /// Numbers of rows that go.
    pub delete_rows: Vec<i64>,
    /// Rows that come, or replace those of their number.
    pub put_rows: Vec<PutRow>,
    /// What is enforced from now on, or no longer.
    pub set_active: Vec<(Stored, bool)>,
}

/// An entry or a row, by what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// The entry of this name.
    Entry(String),
    /// The row of this number.
    Row(i64),
}

/// What is to be stored.
pub(super) struct Wanted {
    pub(super) entries: BTreeMap<String, Entry>,
    /// By number.
    pub(super) rows: BTreeMap<i64, PlainRow>,
    /// Without a number yet.
    pub(super) new_rows: Vec<PutRow>,
}

impl RuleSetChange {
    /// What the content becomes. What is deleted, replaced by number or switched has to be there.
    pub(super) fn made_to(&self, content: &Content) -> Result<Wanted, RecordsError> {
        let missing = |what: String| RecordsError::NotFound { what };
        let mut wanted = Wanted::from(content);
        for name in &self.delete_entries {
            let gone = wanted.entries.remove(name);
            gone.ok_or_else(|| missing(format!("entry \"{}\"", name.escape_debug())))?;
        }
        for entry in &self.put_entries {
            entry.check()?;
            wanted.entries.insert(entry.name.clone(), entry.clone());
        }
        for rule_id in &self.delete_rows {
            wanted.rows.remove(rule_id).ok_or_else(|| missing(format!("row {rule_id}")))?;
        }
        for put in &self.put_rows {
            let terms = put.terms.clone().checked()?;
            match put.rule_id {
                None => wanted.new_rows.push(PutRow { rule_id: None, terms }),
                Some(rule_id) => {
                    let row =
                        wanted.rows.get_mut(&rule_id).ok_or_else(|| missing(format!("row {rule_id}")))?;
                    row.terms = terms;
                }
            }
        }
        for (stored, is_active) in &self.set_active {
            let switch = match stored {
                Stored::Entry(name) => wanted.entries.get_mut(name).map(|entry| &mut entry.is_active),
                Stored::Row(rule_id) => wanted.rows.get_mut(rule_id).map(|row| &mut row.terms.is_active),
            };
            *switch.ok_or_else(|| missing(stored.to_string()))? = *is_active;
        }
        Ok(wanted)
    }
}

impl From<&Content> for Wanted {
    fn from(content: &Content) -> Wanted {
        Wanted {
            entries: content.entries.iter().map(|entry| (entry.name.clone(), entry.clone())).collect(),
            rows: content.rows.iter().map(|row| (row.rule_id, row.clone())).collect(),
            new_rows: Vec::new(),
        }
    }
}

impl std::fmt::Display for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stored::Entry(name) => write!(f, "entry \"{}\"", name.escape_debug()),
            Stored::Row(rule_id) => write!(f, "row {rule_id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RowTerms;
    use super::*;

    fn content() -> Content {
        let terms = RowTerms::new("ip:{ip}", "ip", "10", "20");
        Content { entries: vec![Entry::new("login", "{}")], rows: vec![PlainRow { rule_id: 7, terms }] }
    }

    #[track_caller]
    fn refused(change: &RuleSetChange, expected: &str) {
        let Err(error) = change.made_to(&content()) else { panic!("accepted") };
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn what_is_not_there_is_neither_deleted_nor_switched_nor_replaced() {
        let none = RuleSetChange::default;
        refused(
            &RuleSetChange { delete_entries: vec!["other".into()], ..none() },
            "there is no entry \"other\"",
        );
        refused(&RuleSetChange { delete_rows: vec![8], ..none() }, "there is no row 8");
        refused(&RuleSetChange { set_active: vec![(Stored::Row(8), true)], ..none() }, "there is no row 8");
        let put = PutRow { rule_id: Some(8), terms: RowTerms::new("global", "global", "1", "1") };
        refused(&RuleSetChange { put_rows: vec![put], ..none() }, "there is no row 8");
    }

    #[test]
    fn a_row_that_no_bucket_could_keep_is_refused() {
        let put = |rate: &str| RuleSetChange {
            put_rows: vec![PutRow { rule_id: None, terms: RowTerms::new("global", "global", rate, "1") }],
            ..RuleSetChange::default()
        };
        refused(&put("0"), "`rate_per_second` is \"0\"; write a number above 0, like 10 or 0.5");
        refused(&put("fast"), "`rate_per_second` is \"fast\"; write a number above 0, like 10 or 0.5");
        let wanted = put("1.50").made_to(&content()).unwrap();
        assert_eq!(wanted.new_rows[0].terms.rate_per_second, "1.5");
    }

    #[test]
    fn a_switch_comes_after_what_is_put() {
        let change = RuleSetChange {
            put_entries: vec![Entry::new("new", "{}")],
            set_active: vec![(Stored::Entry("new".into()), false), (Stored::Row(7), false)],
            ..RuleSetChange::default()
        };
        let wanted = change.made_to(&content()).unwrap();
        assert!(
            !wanted.entries["new"].is_active
                && !wanted.rows[&7].terms.is_active
                && wanted.entries["login"].is_active
        );
    }
}
