//! True counts by rule and hour, kept without making threads wait for one another.
//!
//! It promises that every denial that was counted is gathered exactly once, under its rule. Who gathers keeps it; see `pending_totals`.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::lane::{LANES, lane};
use super::violation_row::bounded;
use crate::NAME_BYTES_MAX;

/// Rules that are counted apart; the denials of further ones are counted under [`OTHER_RULES`].
pub(crate) const RULES_COUNTED_MAX: usize = 10_000;
/// What stands for rules beyond [`RULES_COUNTED_MAX`]. No rule can have this name.
pub(crate) const OTHER_RULES: &str = "(other rules)";

/// Places of the table: a third of them in use, at most.
const PLACES: usize = 32_768;
/// A rule that finds so many places taken by others is one of the other rules.
const PROBES_MAX: usize = 32;

/// What became of denials when they were noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Noted {
    pub(crate) queued: u64,
    pub(crate) sampled_out: u64,
    pub(crate) dropped: u64,
}

/// Every rule that ever denied.
#[derive(Debug)]
pub(crate) struct RuleBook {
    places: Box<[OnceLock<Box<RuleCounts>>]>,
    others: RuleCounts,
    counted: AtomicUsize,
}

/// The counts of one rule since they were last gathered.
#[derive(Debug)]
pub(crate) struct RuleCounts {
    rule: Box<str>,
    /// Its name as it stands in the log.
    pub(crate) stored_as: Arc<str>,
    /// Differs from rule to rule; part of what a key is hashed with.
    pub(crate) number: u64,
    lanes: [Lane; LANES],
}

/// Even and odd hours apart, so that the last denials of an hour are not counted in the next.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Lane([HourCounts; 2]);

#[derive(Debug, Default)]
struct HourCounts {
    /// Hours since 1970.
    hour: AtomicI64,
    queued: AtomicU64,
    sampled_out: AtomicU64,
    dropped: AtomicU64,
}

/// Which of the counts goes up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    Queued,
    SampledOut,
    Dropped,
}

impl RuleBook {
    pub(crate) fn new() -> RuleBook {
        RuleBook {
            places: (0..PLACES).map(|_| OnceLock::new()).collect(),
            others: RuleCounts::new(OTHER_RULES, 0),
            counted: AtomicUsize::new(0),
        }
    }

    /// The counts of a rule. Allocates for one that never denied before, and for no other.
    #[inline]
    pub(crate) fn counts_of(&self, rule: &str) -> &RuleCounts {
        let first = place_of(rule);
        for probe in 0..PROBES_MAX {
            let at = (first + probe) % PLACES;
            match self.places[at].get() {
                Some(counts) if *counts.rule == *rule => return counts,
                Some(_) => {}
                None => match self.add(at, rule) {
                    Some(counts) if *counts.rule == *rule => return counts,
                    Some(_) => {}
                    None => return &self.others,
                },
            }
        }
        &self.others
    }

    /// Takes a free place, or finds that somebody else just did. `None` if there are as many rules as may be.
    #[cold]
    fn add(&self, at: usize, rule: &str) -> Option<&RuleCounts> {
        if self.counted.fetch_add(1, Ordering::Relaxed) >= RULES_COUNTED_MAX {
            self.counted.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let number = u64::try_from(at).unwrap_or(0) + 1;
        if self.places[at].set(Box::new(RuleCounts::new(rule, number))).is_err() {
            self.counted.fetch_sub(1, Ordering::Relaxed);
        }
        self.places[at].get().map(Box::as_ref)
    }

    /// Takes out everything that was counted since the last time, by rule and hour since 1970.
    pub(crate) fn gather(&self, mut to: impl FnMut(&Arc<str>, i64, Noted)) {
        let rules = self.places.iter().filter_map(OnceLock::get).map(Box::as_ref);
        for counts in rules.chain([&self.others]) {
            for hour_counts in counts.lanes.iter().flat_map(|lane| &lane.0) {
                let noted = hour_counts.take();
                if noted != Noted::default() {
                    to(&counts.stored_as, hour_counts.hour.load(Ordering::Relaxed), noted);
                }
            }
        }
    }
}

impl RuleCounts {
    fn new(rule: &str, number: u64) -> RuleCounts {
        let stored_as = Arc::from(bounded(rule, NAME_BYTES_MAX));
        RuleCounts { rule: Box::from(rule), stored_as, number, lanes: Default::default() }
    }

    /// Counts one denial of this hour since 1970. One that is late by two hours or more counts in the latest hour.
    #[inline]
    pub(crate) fn count(&self, fate: Fate, hour: i64) {
        let counts = &self.lanes[lane()].0[usize::from(hour % 2 != 0)];
        // The hour first: whoever gathers reads it last.
        if counts.hour.load(Ordering::Relaxed) < hour {
            counts.hour.fetch_max(hour, Ordering::Release);
        }
        let count = match fate {
            Fate::Queued => &counts.queued,
            Fate::SampledOut => &counts.sampled_out,
            Fate::Dropped => &counts.dropped,
        };
        count.fetch_add(1, Ordering::Release);
    }
}

impl HourCounts {
    fn take(&self) -> Noted {
        let take = |count: &AtomicU64| match count.load(Ordering::Acquire) {
            0 => 0,
            _ => count.swap(0, Ordering::Acquire),
        };
        Noted {
            queued: take(&self.queued),
            sampled_out: take(&self.sampled_out),
            dropped: take(&self.dropped),
        }
    }
}

/// Where a rule is looked for first. Names are the operator's, so nobody steers them; the table is bounded in any case.
fn place_of(rule: &str) -> usize {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (words, rest) = rule.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(rule.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let last = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    usize::try_from(mix(hash, last) >> 40).unwrap_or(0) % PLACES
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn gathered(book: &RuleBook) -> BTreeMap<(String, i64), Noted> {
        let mut all: BTreeMap<(String, i64), Noted> = BTreeMap::new();
        book.gather(|rule, hour, noted| {
            let sum = all.entry((rule.to_string(), hour)).or_default();
            sum.queued += noted.queued;
            sum.sampled_out += noted.sampled_out;
            sum.dropped += noted.dropped;
        });
        all
    }

    #[test]
    fn what_threads_count_is_gathered_once_under_its_rule_and_hour() {
        let book = RuleBook::new();
        let mut sums: BTreeMap<(String, i64), Noted> = BTreeMap::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for step in 0..30_000 {
                        let rule = ["login", "search", "a rule with a longer name"][step % 3];
                        book.counts_of(rule).count(Fate::SampledOut, 480_000 + i64::from(step >= 15_000));
                    }
                });
            }
            for _ in 0..50 {
                for (key, noted) in gathered(&book) {
                    sums.entry(key).or_default().sampled_out += noted.sampled_out;
                }
            }
        });
        for (key, noted) in gathered(&book) {
            sums.entry(key).or_default().sampled_out += noted.sampled_out;
        }
        assert_eq!(sums.len(), 6);
        assert!(sums.values().all(|noted| noted.sampled_out == 20_000), "{sums:?}");
        assert!(gathered(&book).is_empty(), "only once");
    }

    #[test]
    fn rules_beyond_the_maximum_are_counted_together() {
        let book = RuleBook::new();
        for rule in 0..RULES_COUNTED_MAX + 500 {
            book.counts_of(&format!("rule-{rule}")).count(Fate::Dropped, 1);
        }
        let all = gathered(&book);
        let others = all[&(OTHER_RULES.to_owned(), 1)].dropped;
        assert!((500..600).contains(&others), "{others}");
        assert_eq!(all.values().map(|noted| noted.dropped).sum::<u64>(), RULES_COUNTED_MAX as u64 + 500);
    }
}
