//! The buckets that are not full, one by one, for tools.

use tollgate_core::Tokens;

use crate::memory::meters::MeterSource;
use crate::rule::Rule;
use crate::{CheckError, Key, Limiter};

/// A bucket that holds less than it could. Keys are not kept, so it is known by its hash alone; see [`Rule::fingerprint`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveBucket {
    /// The name of its rule.
    pub rule: String,
    /// The name of the tier that it was last checked under; empty for the rule's own limit.
    pub tier: String,
    /// What [`Rule::fingerprint`] says of its key.
    pub fingerprint: u64,
    /// What it holds, in micro-tokens; negative is debt.
    pub balance_micros: i64,
    /// What it would hold if it were full.
    pub full: Tokens,
}

impl Rule {
    /// The number that [`Limiter::live_buckets`] knows the bucket of `key` by. Another in every limiter.
    pub fn fingerprint(&self, key: impl Key) -> Result<u64, CheckError> {
        self.ask(&key, tollgate_core::Cost::ONE).map(|ask| ask.id.fingerprint)
    }
}

impl Limiter {
    /// Every bucket that is not full, as it is when the iterator gets there; sliding logs as they are now. Takes as long as the
    /// table is large: buckets that come, go or are charged meanwhile may be seen either way.
    pub fn live_buckets(&self) -> impl Iterator<Item = LiveBucket> + '_ {
        let shared = &*self.default.shared;
        let names = shared.names();
        let now = shared.clock.now();
        let of_slot = {
            let names = names.clone();
            move |slot: &crate::memory::slot::Slot| {
                let (tag, mark) = slot.read();
                let limit = tag.limit()?;
                let ruler = shared.store.meters.ruler(limit);
                let reading = ruler.reading(now);
                let (rule, tier) = names.get(&limit).filter(|_| !reading.is_full(mark))?.clone();
                let (fingerprint, balance_micros) = (tag.fingerprint(), reading.balance(mark));
                Some(LiveBucket { rule, tier, fingerprint, balance_micros, full: ruler.full() })
            }
        };
        let ruler = |limit| shared.store.meters.ruler(limit);
        let logs = shared.store.logs.live(now, |limit| ruler(limit).log());
        let logs = logs.into_iter().filter_map(move |(id, limit, balance_micros)| {
            let (rule, tier) = names.get(&limit)?.clone();
            let full = ruler(limit).full();
            Some(LiveBucket { rule, tier, fingerprint: id.fingerprint, balance_micros, full })
        });
        shared.store.table.slots().map(|(_, slot)| slot).filter_map(of_slot).chain(logs)
    }
}
