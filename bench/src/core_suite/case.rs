//! What is measured: which keys, drawn how, by how many threads, in which mode.
//!
//! A case's name is made of these and is relied on by other people's scripts. Knows no subject and no figure.

use std::fmt;

use super::deeds::Deed;
use super::quota::Quota;

/// Keys of the table whose memory is measured.
pub(crate) const MEMORY_KEYS: u32 = 1_000_000;

/// `bytes_per_key/1000000`.
pub(crate) fn memory_case_name() -> String {
    format!("bytes_per_key/{MEMORY_KEYS}")
}

/// One measurement of speed; shown as `str/1000000/uniform/1t/single`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) family: Family,
    pub(crate) keys: u32,
    pub(crate) distribution: Distribution,
    pub(crate) threads: u32,
    pub(crate) mode: Mode,
}

/// What a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// A string key that is admitted: the path that writes.
    Str,
    /// A string key whose bucket is empty: the path that only reads.
    Denied,
    /// Four buckets at once, all or nothing; Tollgate alone, against its own single check.
    Multi4,
    /// Another algorithm or operation; Tollgate alone, against its own single check.
    Deed(Deed),
}

/// Which of the keys a check names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// Always the one.
    Hot,
    /// Any, equally often.
    Uniform,
    /// The n-th most frequent 1/n times as often as the first.
    Zipf,
}

/// How checks are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One by one.
    Single,
    /// Sixteen independent checks in one call; who has no such call checks one by one.
    Batch16,
}

/// Token buckets, alone and four together; those on the same table stand side by side, the largest table last.
const CASES: [Case; 12] = [
    str_case(1, Distribution::Hot, 1, Mode::Single),
    str_case(1, Distribution::Hot, 2, Mode::Single),
    Case { family: Family::Denied, ..str_case(1, Distribution::Hot, 2, Mode::Single) },
    str_case(10_000, Distribution::Uniform, 1, Mode::Single),
    str_case(100_000, Distribution::Uniform, 1, Mode::Single),
    str_case(1_000_000, Distribution::Uniform, 1, Mode::Single),
    str_case(1_000_000, Distribution::Uniform, 2, Mode::Single),
    str_case(1_000_000, Distribution::Uniform, 1, Mode::Batch16),
    str_case(1_000_000, Distribution::Zipf, 1, Mode::Single),
    str_case(1_000_000, Distribution::Zipf, 2, Mode::Single),
    Case { family: Family::Multi4, ..str_case(1_000_000, Distribution::Uniform, 1, Mode::Single) },
    str_case(10_000_000, Distribution::Uniform, 1, Mode::Single),
];

/// Keys of the tables on which the other algorithms and operations are measured.
const DEED_KEYS: u32 = 100_000;

/// Every case of speed, those of the other algorithms and operations among the others on their table.
pub(crate) fn cases() -> Vec<Case> {
    let deeds = Deed::ALL.map(|deed| Case {
        family: Family::Deed(deed),
        ..str_case(DEED_KEYS, Distribution::Uniform, 1, Mode::Single)
    });
    let (smaller, larger): (Vec<Case>, Vec<Case>) =
        CASES.into_iter().partition(|case| case.keys <= DEED_KEYS);
    smaller.into_iter().chain(deeds).chain(larger).collect()
}

const fn str_case(keys: u32, distribution: Distribution, threads: u32, mode: Mode) -> Case {
    Case { family: Family::Str, keys, distribution, threads, mode }
}

impl Case {
    /// What a filled table is made for; cases that agree on it share one.
    pub(crate) fn table(&self) -> (u32, Quota) {
        (self.keys, self.quota())
    }

    /// The limit under which the keys are checked.
    pub(crate) fn quota(&self) -> Quota {
        match (self.family, self.distribution) {
            (Family::Denied, _) => Quota::SOON_EMPTY,
            (_, Distribution::Hot) => Quota::ONE_KEY,
            (Family::Str | Family::Multi4 | Family::Deed(_), _) => Quota::MANY_KEYS,
        }
    }

    /// Checks per round: enough for tens of milliseconds where a check is cheap, for seconds where it is dear.
    pub(crate) fn checks(&self) -> u32 {
        // At least twice the keys' worth for most, and never so few that part of the keys is all that is touched.
        match self.keys {
            0..1_000_000 => 4_000_000,
            1_000_000..10_000_000 => 2_000_000,
            _ => 10_000_000,
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.family {
            Family::Str => "str",
            Family::Denied => "denied",
            Family::Multi4 => "multi4",
            Family::Deed(deed) => deed.name(),
        };
        let distribution = match self.distribution {
            Distribution::Hot => "hot",
            Distribution::Uniform => "uniform",
            Distribution::Zipf => "zipf",
        };
        let mode = match self.mode {
            Mode::Single => "single",
            Mode::Batch16 => "batch16",
        };
        write!(f, "{family}/{}/{distribution}/{}t/{mode}", self.keys, self.threads)
    }
}

#[cfg(test)]
mod tests {
    use super::cases;

    #[test]
    fn names_are_what_scripts_rely_on() {
        let names: Vec<String> = cases().iter().map(ToString::to_string).collect();
        for name in [
            "str/1/hot/2t/single",
            "denied/1/hot/2t/single",
            "str/1000000/uniform/1t/batch16",
            "str/1000000/zipf/2t/single",
            "multi4/1000000/uniform/1t/single",
            "sliding_log/100000/uniform/1t/single",
            "reserve_commit/100000/uniform/1t/single",
            "str/10000000/uniform/1t/single",
        ] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn no_table_is_filled_twice() {
        let tables: Vec<_> =
            cases().chunk_by(|a, b| a.table() == b.table()).map(|group| group[0].table()).collect();
        for (at, table) in tables.iter().enumerate() {
            assert!(!tables[..at].contains(table), "{table:?}");
        }
    }
}
