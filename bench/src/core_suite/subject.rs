//! What is compared: a limiter that checks a stream of string keys.
//!
//! The trait's calls take whole streams, so that the virtual call costs nothing and each loop is compiled for its limiter.

use super::quota::Quota;
use super::subjects::{Governor, MutexHashMap, Throttlecrab, Tollgate};

/// A limiter under measurement. Every check reads the clock that the limiter would be used with, once.
pub(crate) trait Subject: Sync {
    /// Checks each key in turn; returns how many were admitted. A single thread is given the whole stream, several are given pieces of it.
    fn check_stream(&self, keys: &[String]) -> u64;

    /// Gives each key its bucket, before anything is measured.
    fn fill_stream(&self, keys: &[String]) -> u64 {
        self.check_stream(keys)
    }

    /// The same in batches of 16; a limiter that has no batches checks one by one.
    fn check_batches(&self, keys: &[String]) -> u64 {
        self.check_stream(keys)
    }

    /// Does what a round left for later, outside of its time: nobody else's round pays for it.
    fn settle(&self) {}

    /// Keys that were turned away or pushed out for want of room; a map that grows loses none.
    fn keys_lost(&self) -> u64 {
        0
    }
}

/// Counts the keys that `check` admits.
#[inline]
pub(crate) fn count_admitted(keys: &[String], check: impl Fn(&String) -> bool) -> u64 {
    keys.iter().map(|key| u64::from(check(key))).sum()
}

/// The limiters that run in every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubjectKind {
    Tollgate,
    Governor,
    Throttlecrab,
    MutexHashMap,
}

impl SubjectKind {
    /// All of them, ours first.
    pub(crate) const ALL: [SubjectKind; 4] =
        [Self::Tollgate, Self::Governor, Self::Throttlecrab, Self::MutexHashMap];

    /// Its name in every output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tollgate => "tollgate",
            Self::Governor => "governor",
            Self::Throttlecrab => "throttlecrab",
            Self::MutexHashMap => "mutex_hashmap",
        }
    }

    /// The subject of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// An empty limiter for `keys` keys.
    pub(crate) fn build(self, quota: Quota, keys: u32) -> Box<dyn Subject> {
        match self {
            Self::Tollgate => Box::new(Tollgate::new(quota, keys)),
            Self::Governor => Box::new(Governor::new(quota)),
            Self::Throttlecrab => Box::new(Throttlecrab::new(quota, keys)),
            Self::MutexHashMap => Box::new(MutexHashMap::new(quota, keys)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Quota, SubjectKind};

    #[test]
    fn every_subject_admits_under_the_generous_quotas() {
        let keys: Vec<String> = (0..40).map(|key| format!("user:{}", key % 10)).collect();
        for kind in SubjectKind::ALL {
            for quota in [Quota::MANY_KEYS, Quota::ONE_KEY] {
                let subject = kind.build(quota, 10);
                assert_eq!(subject.check_stream(&keys), 40, "{}", kind.name());
                assert_eq!(subject.check_batches(&keys), 40, "{}", kind.name());
            }
        }
    }

    #[test]
    fn every_subject_denies_once_the_small_quota_is_spent() {
        let keys = vec!["user:0".to_owned(); 100];
        for kind in SubjectKind::ALL {
            let subject = kind.build(Quota::SOON_EMPTY, 1);
            assert!(subject.check_stream(&keys) < 100, "{}", kind.name());
            assert_eq!(subject.check_stream(&keys), 0, "{}", kind.name());
        }
    }
}
