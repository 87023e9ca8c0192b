//! `table_full` and `log_entries_max` of rules: bounds of their buckets in the memory of one instance.

use tollgate_core::{Algorithm, TableFull};

use super::fields::Fields;
use super::found::Found;
use super::{choice, decimal};
use crate::TableSettings;
use crate::table_settings::LOG_ENTRIES_MAX;

/// The fields of a rule that has buckets.
pub(super) const FIELDS: [&str; 2] = ["table_full", "log_entries_max"];

/// The bounds that a rule sets; `None` after a mistake. The algorithm is `None` if the rule has none or it is mistaken.
pub(super) fn read(
    fields: &mut Fields<'_, '_>,
    algorithm: Option<Algorithm>,
    found: &mut Found,
) -> Option<TableSettings> {
    let words = TableFull::ALL.map(|mode| (mode.name(), mode));
    let table_full = fields
        .take("table_full")
        .map_or(Some(None), |node| choice::one_of(node, "table_full", &words, found).map(Some));
    let log_entries_max = fields.take("log_entries_max").map_or(Some(None), |node| {
        if algorithm.is_some_and(|algorithm| !matches!(algorithm, Algorithm::SlidingLog(_))) {
            let what = "`log_entries_max` has no effect: only an exact sliding window keeps a log";
            found.add(
                node.place,
                what.to_owned(),
                "delete it, or write `algorithm: sliding_window` with `variant: log`",
            );
            return None;
        }
        let entries = decimal::whole(node, "log_entries_max", 1, LOG_ENTRIES_MAX, found)?;
        usize::try_from(entries).ok().map(Some)
    });
    Some(TableSettings { table_full: table_full?, log_entries_max: log_entries_max? })
}
