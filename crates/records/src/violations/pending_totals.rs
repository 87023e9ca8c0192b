//! The true counts that the database does not have yet, and their sums since the start.
//!
//! It promises that the sums are exact at any time, and that every count is handed out once, until it is said to have failed. It is bounded:
//! while the database is away for long, rules share a line of the totals.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ViolationCounts;
use super::rule_counts::{Noted, OTHER_RULES};

/// Lines of totals that are kept for the database; further ones are added to the line of the other rules of their hour.
pub(crate) const TOTALS_PENDING_MAX: usize = 20_000;

/// A rule, and an hour since 1970.
pub(crate) type Line = (Arc<str>, i64);

/// What is added to a line of the totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Addition {
    pub(crate) denied: u64,
    pub(crate) stored: u64,
    pub(crate) sampled_out: u64,
    pub(crate) dropped: u64,
}

/// Counts on their way, and sums.
#[derive(Debug, Default)]
pub(crate) struct PendingTotals {
    lines: BTreeMap<Line, Addition>,
    sums: Addition,
}

impl PendingTotals {
    /// Denials that were noted.
    pub(crate) fn note(&mut self, rule: &Arc<str>, hour: i64, noted: Noted) {
        let Noted { queued, sampled_out, dropped } = noted;
        let denied = queued + sampled_out + dropped;
        self.add(rule, hour, Addition { denied, stored: 0, sampled_out, dropped });
    }

    /// One that was queued, and will not be stored.
    pub(crate) fn drop_one(&mut self, rule: &Arc<str>, hour: i64) {
        self.add(rule, hour, Addition { dropped: 1, ..Addition::default() });
    }

    /// One that was queued while there is no database: it was only counted, too.
    pub(crate) fn sample_out_one(&mut self, rule: &Arc<str>, hour: i64) {
        self.add(rule, hour, Addition { sampled_out: 1, ..Addition::default() });
    }

    /// So many rows are in the database; their lines were handed out with them.
    pub(crate) fn store(&mut self, rows: u64) {
        self.sums.stored += rows;
    }

    /// Up to so many lines, in their order: whoever writes lines in one order waits for nobody who waits for it.
    pub(crate) fn take(&mut self, lines_max: usize) -> BTreeMap<Line, Addition> {
        let rest = self.lines.keys().nth(lines_max).cloned();
        let kept = rest.map_or_else(BTreeMap::new, |rest| self.lines.split_off(&rest));
        std::mem::replace(&mut self.lines, kept)
    }

    /// Lines that could not be written.
    pub(crate) fn put_back(&mut self, lines: BTreeMap<Line, Addition>) {
        for ((rule, hour), addition) in lines {
            self.line(&rule, hour).add(addition);
        }
    }

    /// How many lines there are.
    pub(crate) fn lines(&self) -> usize {
        self.lines.len()
    }

    /// There is nobody to write them.
    pub(crate) fn forget_lines(&mut self) {
        self.lines.clear();
    }

    /// Whatever is queued will not be stored.
    pub(crate) fn drop_rest(&mut self) {
        self.sums.dropped += self.counts().queued;
    }

    /// All that was counted since the start.
    pub(crate) fn counts(&self) -> ViolationCounts {
        let Addition { denied, stored, sampled_out, dropped } = self.sums;
        ViolationCounts {
            denied,
            stored,
            sampled_out,
            dropped,
            queued: denied - stored - sampled_out - dropped,
        }
    }

    fn add(&mut self, rule: &Arc<str>, hour: i64, addition: Addition) {
        self.sums.add(addition);
        self.line(rule, hour).add(addition);
    }

    fn line(&mut self, rule: &Arc<str>, hour: i64) -> &mut Addition {
        let line = (Arc::clone(rule), hour);
        if self.lines.len() < TOTALS_PENDING_MAX || self.lines.contains_key(&line) {
            return self.lines.entry(line).or_default();
        }
        self.lines.entry((Arc::from(OTHER_RULES), hour)).or_default()
    }
}

impl Addition {
    pub(crate) fn add(&mut self, other: Addition) {
        self.denied += other.denied;
        self.stored += other.stored;
        self.sampled_out += other.sampled_out;
        self.dropped += other.dropped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(name: &str) -> Arc<str> {
        Arc::from(name)
    }

    #[test]
    fn sums_are_exact_whatever_was_handed_out() {
        let mut totals = PendingTotals::default();
        totals.note(&rule("a"), 7, Noted { queued: 3, sampled_out: 10, dropped: 2 });
        totals.note(&rule("b"), 7, Noted { queued: 1, ..Noted::default() });
        let lines = totals.take(10);
        assert_eq!(lines[&(rule("a"), 7)], Addition { denied: 15, stored: 0, sampled_out: 10, dropped: 2 });
        totals.store(3);
        totals.drop_one(&rule("b"), 7);
        let counts = ViolationCounts { denied: 16, stored: 3, sampled_out: 10, dropped: 3, queued: 0 };
        assert_eq!(totals.counts(), counts);
        totals.put_back(lines);
        assert_eq!(totals.counts(), counts, "what was put back was counted before");
        assert_eq!(totals.take(1).keys().collect::<Vec<_>>(), [&(rule("a"), 7)]);
        assert_eq!(
            totals.take(9)[&(rule("b"), 7)],
            Addition { denied: 1, dropped: 1, ..Addition::default() }
        );
        assert_eq!(totals.lines(), 0);
    }

    #[test]
    fn a_long_absence_takes_no_more_room_and_loses_no_count() {
        let mut totals = PendingTotals::default();
        let lines = TOTALS_PENDING_MAX + 3_000;
        for number in 0..lines {
            totals.note(&rule(&format!("r{number}")), 1, Noted { sampled_out: 1, ..Noted::default() });
        }
        let all = totals.take(usize::MAX);
        assert_eq!(all.len(), TOTALS_PENDING_MAX + 1);
        assert_eq!(all[&(rule(OTHER_RULES), 1)].denied, 3_000);
    }
}
