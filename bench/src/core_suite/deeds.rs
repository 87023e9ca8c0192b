//! The other algorithms and operations, each on its own, compared with Tollgate's check of one token bucket.

use std::hint::black_box;

use tollgate::{
    Algorithm, Breadth, Burst, COUNTER_TOKENS_MAX, Concurrency, Cost, FixedWindow, Hierarchy, LeakyBucket,
    Limiter, Priority, Rate, Rule, Shares, SlidingCounter, SlidingLog, Span, Window,
};

use super::quota::Quota;
use super::subject::{Subject, count_admitted};
use super::subjects::limit_of;

/// What is done to the bucket of each key. A deed of two calls counts as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    LeakyBucket,
    FixedWindow,
    SlidingCounter,
    SlidingLog,
    /// A place taken and given back.
    EnterLeave,
    /// Half of the estimate is given back.
    ReserveCommit,
    ReserveCancel,
    /// A check and its refund.
    CheckRefund,
    /// A check, and as much granted.
    CheckGrant,
    /// A check, and the bucket filled again.
    CheckReset,
    Peek,
    /// Tools look at every bucket; each counts as one.
    LiveBuckets,
    /// An idempotency key for every check, each new.
    CheckOnce,
    /// A check that leaves a share to others.
    Priority,
    /// A user under a team under an organisation.
    Hierarchy,
}

/// Room in the side tables for all that one round can leave there.
const SIDE_ENTRIES_MAX: usize = 64_000_000;
/// Charges of a log, and idempotency keys, are soon forgotten: what stays would be a measurement of memory.
const LIFETIME: Span = Span::from_millis(200);
const TIMEOUT: Span = Span::from_secs(60);

impl Deed {
    /// All of them, in the order of the tables.
    pub(crate) const ALL: [Deed; 15] = [
        Deed::LeakyBucket,
        Deed::FixedWindow,
        Deed::SlidingCounter,
        Deed::SlidingLog,
        Deed::EnterLeave,
        Deed::ReserveCommit,
        Deed::ReserveCancel,
        Deed::CheckRefund,
        Deed::CheckGrant,
        Deed::CheckReset,
        Deed::Peek,
        Deed::LiveBuckets,
        Deed::CheckOnce,
        Deed::Priority,
        Deed::Hierarchy,
    ];

    /// Its name in the names of cases.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Deed::LeakyBucket => "leaky_bucket",
            Deed::FixedWindow => "fixed_window",
            Deed::SlidingCounter => "sliding_counter",
            Deed::SlidingLog => "sliding_log",
            Deed::EnterLeave => "enter_leave",
            Deed::ReserveCommit => "reserve_commit",
            Deed::ReserveCancel => "reserve_cancel",
            Deed::CheckRefund => "check_refund",
            Deed::CheckGrant => "check_grant",
            Deed::CheckReset => "check_reset",
            Deed::Peek => "peek",
            Deed::LiveBuckets => "live_buckets",
            Deed::CheckOnce => "check_once",
            Deed::Priority => "priority",
            Deed::Hierarchy => "hierarchy",
        }
    }

    /// A limit that admits everything in a suite.
    fn limit(self) -> Algorithm {
        let quota = Burst::tokens(30_000_000);
        match self {
            Deed::LeakyBucket => {
                LeakyBucket::new(Rate::new(1, Span::from_secs(150)), quota).map(Algorithm::from)
            }
            Deed::FixedWindow => FixedWindow::new(quota, Window::YEAR).map(Algorithm::from),
            Deed::SlidingCounter => {
                SlidingCounter::new(Burst::tokens(COUNTER_TOKENS_MAX), TIMEOUT).map(Algorithm::from)
            }
            Deed::SlidingLog => SlidingLog::new(quota, LIFETIME).map(Algorithm::from),
            Deed::EnterLeave => Concurrency::new(10, TIMEOUT).map(Algorithm::from),
            _ => Ok(limit_of(Quota::MANY_KEYS).into()),
        }
        .expect("each is within its bounds")
    }
}

/// A limiter whose default rule is of the deed's algorithm.
pub(crate) struct OneDeed {
    deed: Deed,
    limiter: Limiter,
    bulk: Rule,
    levels: Hierarchy,
}

impl OneDeed {
    /// Room for `keys`.
    pub(crate) fn new(deed: Deed, keys: u32) -> Self {
        let settings = Limiter::builder().keys_max(keys as usize).log_entries_max(SIDE_ENTRIES_MAX);
        let settings = settings.idempotency_keys_max(SIDE_ENTRIES_MAX).reservations_max(1_000);
        let limiter = settings.build(deed.limit()).expect("a table for at least one key can be built");
        let shares = Shares::NONE.keep(Priority::Critical, 10).expect("ten percent is less than all");
        let bulk = limiter.default_rule().of_priority(Priority::Bulk, shares);
        let levels = levels_of(&limiter);
        Self { deed, limiter, bulk, levels }
    }

    /// As many live buckets as there are keys, from the first again if there are fewer.
    fn look_at_live_buckets(&self, keys: usize) -> u64 {
        let mut seen = 0;
        while seen < keys {
            match self.limiter.live_buckets().take(keys - seen).map(black_box).count() {
                0 => break,
                more => seen += more,
            }
        }
        seen as u64
    }
}

/// An organisation and a team that all users share, and the users.
fn levels_of(limiter: &Limiter) -> Hierarchy {
    let shared = |name, breadth| limiter.shared_rule(name, limit_of(Quota::ONE_KEY), breadth);
    let levels = [
        shared("organisation", Breadth::Everyone),
        shared("team", Breadth::Group),
        limiter.rule("user", limit_of(Quota::MANY_KEYS)),
    ];
    let levels = levels.map(|level| level.expect("three names are new"));
    Hierarchy::new(&levels).expect("from broad to narrow")
}

impl Subject for OneDeed {
    /// A peek leaves no bucket to look at, nor does a tool.
    fn fill_stream(&self, keys: &[String]) -> u64 {
        match self.deed {
            Deed::Peek | Deed::LiveBuckets => {
                count_admitted(keys, |key| self.limiter.check(key.as_str()).is_admitted())
            }
            _ => self.check_stream(keys),
        }
    }

    fn check_stream(&self, keys: &[String]) -> u64 {
        let (limiter, rule) = (&self.limiter, self.limiter.default_rule());
        match self.deed {
            Deed::LeakyBucket | Deed::FixedWindow | Deed::SlidingCounter | Deed::SlidingLog => {
                count_admitted(keys, |key| black_box(limiter.check(key.as_str())).is_admitted())
            }
            Deed::EnterLeave => count_admitted(keys, |key| black_box(rule.enter(key.as_str())).is_ok()),
            Deed::ReserveCommit => count_admitted(keys, |key| {
                let reserved = rule.reserve(key.as_str(), Cost::tokens(2), TIMEOUT);
                reserved.is_ok_and(|reserved| black_box(reserved.commit(Cost::ONE)).is_ok())
            }),
            Deed::ReserveCancel => count_admitted(keys, |key| {
                let reserved = rule.reserve(key.as_str(), Cost::ONE, TIMEOUT);
                reserved.is_ok_and(|reserved| black_box(reserved.cancel()).is_ok())
            }),
            Deed::CheckRefund => count_admitted(keys, |key| {
                let admitted = limiter.check(key.as_str()).is_admitted();
                admitted && black_box(limiter.refund(key.as_str(), Cost::ONE)).is_ok()
            }),
            Deed::CheckGrant => count_admitted(keys, |key| {
                let admitted = limiter.check(key.as_str()).is_admitted();
                admitted && black_box(rule.grant(key.as_str(), Cost::ONE)).is_ok()
            }),
            Deed::CheckReset => count_admitted(keys, |key| {
                let admitted = limiter.check(key.as_str()).is_admitted();
                admitted && black_box(limiter.reset(key.as_str())).is_ok()
            }),
            Deed::LiveBuckets => self.look_at_live_buckets(keys.len()),
            Deed::Hierarchy => count_admitted(keys, |key| {
                black_box(self.levels.check(&["acme", "core", key.as_str()])).is_admitted()
            }),
            Deed::Peek => count_admitted(keys, |key| black_box(limiter.peek(key.as_str())).is_admitted()),
            Deed::CheckOnce => {
                let mut number = 0_u64;
                let once = |key: &String| {
                    number += 1;
                    let verdict = rule.check_once(number, LIFETIME, key.as_str(), Cost::ONE);
                    u64::from(black_box(verdict).is_admitted())
                };
                keys.iter().map(once).sum()
            }
            Deed::Priority => {
                count_admitted(keys, |key| black_box(self.bulk.check(key.as_str())).is_admitted())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Deed, OneDeed, Subject};

    #[test]
    fn every_deed_is_admitted() {
        let keys: Vec<String> = (0..50).map(|key| format!("user:{}", key % 20)).collect();
        for deed in Deed::ALL {
            let subject = OneDeed::new(deed, 20);
            assert_eq!(subject.fill_stream(&keys), 50, "{}", deed.name());
            assert_eq!(subject.check_stream(&keys), 50, "{}", deed.name());
        }
    }
}
