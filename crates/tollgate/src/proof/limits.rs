//! The limits of the small world: one for each kind of bucket, chosen by its letter.

use std::sync::Arc;

use tollgate_core::{
    Algorithm, Burst, Concurrency, Limit, Meter, Moment, Rate, Ruler, SlidingLog, Span, Start,
};

use super::TICK_NANOS;
use crate::memory::log_room::LogRoom;
use crate::memory::meters::MeterSource;
use crate::memory::slot::Slot;
use crate::memory::{LimitId, TableFull};

/// A token bucket, places and a log.
pub(super) struct Limits {
    rulers: [Ruler; 4],
    overflow: Slot,
    table_full: TableFull,
    log_room: Arc<LogRoom>,
}

/// `p` has places, `l` is a log, `o` is a token bucket of another rule, all others are token buckets of one rule.
pub(super) fn limit_of(letter: char) -> LimitId {
    let number = match letter {
        'p' => 2,
        'l' => 3,
        'o' => 4,
        _ => 1,
    };
    LimitId::new(number).expect("limits are numbered from 1")
}

impl Limits {
    pub(super) fn new(places: u32, table_full: TableFull) -> Limits {
        let start = Start { now: Moment::from_nanos(0), offset: 77, origin: 0 };
        let one = Limit::new(Rate::per_second(1_000_000_000 / TICK_NANOS), Burst::tokens(1)).unwrap();
        // Two generations of one tick.
        let places = Concurrency::new(places, Span::from_nanos(2 * TICK_NANOS)).unwrap();
        let log = SlidingLog::new(Burst::tokens(1), Span::from_nanos(10 * TICK_NANOS)).unwrap();
        let algorithms: [Algorithm; 4] = [one.into(), places.into(), log.into(), one.into()];
        let rulers = algorithms.map(|algorithm| Ruler::new(algorithm, start));
        Limits { rulers, overflow: Slot::free(), table_full, log_room: Arc::new(LogRoom::new(8)) }
    }
}

impl MeterSource for Limits {
    fn ruler(&self, limit: LimitId) -> Ruler {
        self.rulers[usize::from(limit.get()) - 1]
    }

    fn try_meter(&self, limit: LimitId) -> Option<Meter> {
        self.ruler(limit).meter()
    }

    fn rule(&self, limit: LimitId) -> LimitId {
        limit
    }

    fn overflow(&self, _limit: LimitId) -> &Slot {
        &self.overflow
    }

    fn table_full(&self, _limit: LimitId) -> TableFull {
        self.table_full
    }

    fn log_room(&self, _limit: LimitId) -> &Arc<LogRoom> {
        &self.log_room
    }

    fn pinned_rules(&self) -> usize {
        1
    }

    fn may_have_evicted(&self, _limit: LimitId) -> bool {
        self.table_full == TableFull::Inherit
    }
}
