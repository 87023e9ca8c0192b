//! What a charge wants of one bucket, in the few words that every check copies about.

use tollgate_core::{Cost, Demand, Level, Moment, Tokens};

use crate::identity::BucketId;
use crate::memory::LimitId;
use crate::memory::meters::MeterSource;
use crate::memory::slot::Tag;
use crate::memory::store::{Ask, Store};

/// A bucket, what is wanted of it, and how. Half a cache line: checks over several buckets read them more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) id: BucketId,
    pub(crate) cost: Cost,
    pub(crate) limit: LimitId,
    /// Percent of the bucket that must stay, for others; at most 99.
    pub(crate) left_alone: u8,
    /// It takes places, which someone must give back.
    pub(crate) takes_places: bool,
}

/// The quick level that the last wish of a batch was decided by: nearly always the next one is under the same limit.
#[derive(Debug, Default)]
pub(crate) struct LastLevel(Option<((LimitId, u8), Option<Level>)>);

const _: () = assert!(size_of::<Wish>() == 32);

impl Wish {
    /// The wish of an ask that leaves nothing alone and takes no places; `None` of any other.
    #[inline]
    pub(crate) fn plain(ask: &Ask) -> Option<Wish> {
        let Ask { id, limit, demand: Demand { cost, keep } } = *ask;
        (keep == Tokens::ZERO).then_some(Wish { id, cost, limit, left_alone: 0, takes_places: false })
    }

    /// The tag of its bucket.
    #[inline]
    pub(crate) fn tag(&self) -> Tag {
        Tag::new(self.id.fingerprint, self.limit)
    }

    /// The wish in full, with what must stay in micro-tokens.
    #[inline]
    pub(crate) fn ask(self, meters: &impl MeterSource) -> Ask {
        let keep = if self.left_alone == 0 { Tokens::ZERO } else { self.share(meters) };
        Ask { id: self.id, limit: self.limit, demand: Demand { cost: self.cost, keep } }
    }

    /// What must stay.
    #[cold]
    fn share(self, meters: &impl MeterSource) -> Tokens {
        // At most 99 percent of at most 10^18.
        let full = meters.ruler(self.limit).full().as_micros();
        Tokens::from_micros(full / 100 * u64::from(self.left_alone))
    }
}

impl LastLevel {
    /// [`Store::quick_level`] of a wish; all are asked about at the same moment.
    #[inline]
    pub(crate) fn of<M: MeterSource>(&mut self, wish: &Wish, store: &Store<M>, now: Moment) -> Option<Level> {
        let kind = (wish.limit, wish.left_alone);
        match self.0 {
            Some((last, level)) if last == kind => level,
            _ => self.0.insert((kind, store.quick_level(wish, now))).1,
        }
    }
}
