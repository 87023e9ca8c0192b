//! The store of explicit buckets: one check against one of them, without a lock once the bucket is in the table.
//!
//! A check reads its bucket, decides, and writes if nothing changed meanwhile. A bucket that is not in the table is full, or
//! as full as a newcomer may be; it moves in with its first charge. Time comes in with the check.

use tollgate_core::{BucketSet, Limit, Moment, Span, StampedBalance, StampedLevel, Tokens};

use crate::clock::CLOCK_ERROR_MAX;
use crate::identity::{BucketId, Namespace};
use crate::memory::TableFull;
use crate::memory::counters::{Counters, Event};
use crate::memory::explicit::slot::{FullAt, Seen, Slot, Unread, full_after};
use crate::memory::explicit::survey::{Seat, Standing, Survey};
use crate::memory::explicit::table::{Table, bucket_id, tag_of};
use crate::memory::explicit::told::{ExplicitAsk, admitted};
use crate::memory::resets::Resets;
use crate::memory::slot::mutant;
use crate::memory::store::When;
use crate::sync::{AtomicU64, Ordering, Patience};
use crate::{Cause, CheckError, ExplicitVerdict, Key, Verdict};

/// The explicit buckets of one limiter.
#[derive(Debug)]
pub(crate) struct ExplicitStore {
    pub(crate) table: Table,
    namespace: Namespace,
    pub(super) windows: u32,
    table_full: TableFull,
    pub(crate) counters: Counters,
    pub(crate) resets: Resets,
    /// No full bucket was forgotten more than a clock error after this moment; a newcomer starts full no earlier.
    pub(super) reclaimed_at: AtomicU64,
}

/// What moving in is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Only to see what a check would be told.
    Look,
    /// To be written to later: charged together with others, or put into debt.
    Place,
    /// To be charged at once.
    Charge,
    /// To be full, whatever was spent before it was evicted.
    Fill,
}

/// What came of moving in.
#[derive(Debug)]
pub(crate) enum MoveIn {
    /// The check is decided.
    Decided(ExplicitVerdict),
    /// The bucket is in the table now, or something changed: look again.
    LookAgain,
}

impl ExplicitStore {
    /// A store over an empty table. Strangers cannot share an overflow bucket here: each brings a limit of its own.
    pub(crate) fn new(table: Table, namespace: Namespace, table_full: TableFull) -> ExplicitStore {
        let windows = table.windows();
        ExplicitStore {
            table,
            namespace,
            windows,
            table_full,
            counters: Counters::default(),
            resets: Resets::new(),
            reclaimed_at: AtomicU64::new(0),
        }
    }

    /// The bucket of a key.
    #[inline]
    pub(crate) fn id(&self, key: &impl Key) -> Result<BucketId, CheckError> {
        Ok(bucket_id(self.namespace.hash(key)?, self.windows))
    }

    /// Decides one check, and charges it if it is admitted.
    pub(crate) fn charge(&self, ask: &ExplicitAsk, when: When<'_>) -> ExplicitVerdict {
        if ask.limit.never_admits(ask.cost) {
            return self.peek(ask, when);
        }
        let patience = Patience::default();
        loop {
            let Some(slot) = self.table.find(ask.id) else {
                match self.move_in(ask, when, Purpose::Charge) {
                    MoveIn::Decided(verdict) => return verdict,
                    MoveIn::LookAgain => {
                        patience.wait();
                        continue;
                    }
                }
            };
            match slot.read(tag_of(ask.id)) {
                Ok(seen) => {
                    let level = level_of(&ask.limit, seen, when);
                    if ask.is_paid_by(&level) {
                        let charged = level.charged(ask.cost.as_micros());
                        let told = admitted(&charged);
                        if slot.replace(seen, charged.stored(), full_at(&level, &told)) {
                            return told;
                        }
                    } else {
                        let told = ask.refused_at(&level);
                        if restamp(slot, seen, &level, full_at(&level, &told)) {
                            return told;
                        }
                    }
                }
                Err(Unread::Busy) => patience.wait(),
                Err(Unread::Gone) => {}
            }
        }
    }

    /// What a check would be told. Charges nothing and writes nothing.
    pub(crate) fn peek(&self, ask: &ExplicitAsk, when: When<'_>) -> ExplicitVerdict {
        loop {
            match self.look(ask.id) {
                Some((_, seen)) => {
                    return ask.told_at(&level_of(&ask.limit, seen, when));
                }
                None => {
                    if let MoveIn::Decided(verdict) = self.move_in(ask, when, Purpose::Look) {
                        return verdict;
                    }
                }
            }
        }
    }

    /// The slot of a bucket and what it holds, if it is in the table.
    pub(crate) fn look(&self, id: BucketId) -> Option<(&Slot, Seen)> {
        loop {
            let slot = self.table.find(id)?;
            if let Some(seen) = slot.wait_for(tag_of(id)) {
                return Some((slot, seen));
            }
        }
    }

    /// Gives an absent bucket a slot, or says what becomes of it without one.
    #[cold]
    #[inline(never)]
    pub(crate) fn move_in(&self, ask: &ExplicitAsk, when: When<'_>, purpose: Purpose) -> MoveIn {
        let gates = self.table.gates.hold(ask.id.windows);
        if self.table.find(ask.id).is_some() {
            return MoveIn::LookAgain;
        }
        // After the second look, so that whoever forgot this bucket has said when.
        let reclaimed_at = self.reclaimed_at();
        let now = when.again(reclaimed_at);
        let survey = Survey::of(&self.table, ask.id, now);
        let evicts = self.table_full != TableFull::DenyNew;
        let Some(seat) = survey.vacancy().or_else(|| survey.victim().filter(|_| evicts)) else {
            return MoveIn::Decided(self.deny_new(&survey, purpose, now));
        };

        let full = StampedBalance::full(now);
        let (start, is_bounded) =
            if purpose == Purpose::Fill { (full, false) } else { self.start(ask, reclaimed_at, now) };
        let level = StampedLevel::new(&ask.limit, start, now);
        let mut told = ask.told_at(&level);
        if is_bounded {
            told.verdict = told.verdict.because(Cause::TableFull(BucketSet::FIRST));
        }
        if purpose == Purpose::Look || (purpose == Purpose::Charge && !told.verdict.is_admitted()) {
            return MoveIn::Decided(told);
        }
        let (balance, full_at) = match purpose {
            Purpose::Charge => (level.charged(ask.cost.as_micros()).stored(), full_at(&level, &told)),
            _ => (start, full_after(now, level.time_to_full())),
        };
        if !self.take(&seat, ask.id, balance, full_at, now) {
            return MoveIn::LookAgain;
        }
        self.note_taken(&seat, ask.id, now);
        drop(gates);
        if purpose == Purpose::Charge { MoveIn::Decided(told) } else { MoveIn::LookAgain }
    }

    /// The same check a little later: its clock read again, if it has one.
    pub(crate) fn refresh<'c>(&self, when: When<'c>) -> When<'c> {
        match when {
            When::Given(_) => when,
            When::Read(_, clock) => When::Read(when.again(self.reclaimed_at()), clock),
        }
    }

    /// Returns what a newcomer starts with, and whether evictions bound it: a full bucket, but no fuller than one that was full when
    /// the last full one was forgotten, and no fuller than a client evicted from its windows may be.
    fn start(&self, ask: &ExplicitAsk, reclaimed_at: Moment, now: Moment) -> (StampedBalance, bool) {
        let full = StampedBalance::full(now);
        let bound = self.bound(ask.id, &ask.limit, now);
        let ahead = ask.limit.minted_in(reclaimed_at.since(now)).as_micros();
        let burst = ask.limit.burst().as_micros().cast_signed();
        if bound >= burst && ahead == 0 {
            return (full, false);
        }
        let spent = i64::try_from(ahead).unwrap_or(i64::MAX).max(burst - bound);
        (StampedBalance { micros: burst, stamp: now }.plus(spent.saturating_neg()), bound < burst)
    }

    /// The most that an absent bucket holds, in micro-tokens, for the sake of who was evicted.
    pub(crate) fn bound(&self, id: BucketId, limit: &Limit, now: Moment) -> i64 {
        let bounds = id.windows.map(|window| self.table.crowds[window as usize].bound(limit, now));
        bounds[0].min(bounds[1])
    }

    /// Takes over a slot, if nobody has charged or taken it since it was seen.
    fn take(
        &self,
        seat: &Seat<'_>,
        id: BucketId,
        balance: StampedBalance,
        full_at: FullAt,
        now: Moment,
    ) -> bool {
        if seat.standing == Standing::Full && self.reclaimed_at() < now - CLOCK_ERROR_MAX {
            // At most ten thousand times a second, so that threads that insert do not wait for one another here.
            self.reclaimed_at.fetch_max(now.as_nanos(), Ordering::Relaxed);
        }
        let Some(seen) = seat.seen else { return false };
        let is_held = seat.slot.hold(seen);
        if is_held {
            seat.slot.retag(seen, tag_of(id), balance, full_at);
        }
        is_held
    }

    fn note_taken(&self, seat: &Seat<'_>, id: BucketId, now: Moment) {
        match (seat.standing, seat.seen) {
            (Standing::Free, _) => self.counters.count(Event::TookFree),
            (Standing::Full, _) => self.counters.count(Event::TookFull),
            (Standing::Live, seen) => {
                self.counters.count(Event::Evicted);
                let full_at = seen.map_or(FullAt::NOW, Seen::full_at);
                self.table.crowds[id.windows[seat.window] as usize].note(full_at, now);
            }
        }
    }

    /// Denies a newcomer for want of room.
    fn deny_new(&self, survey: &Survey<'_>, purpose: Purpose, now: Moment) -> ExplicitVerdict {
        if purpose != Purpose::Look {
            self.counters.count(Event::DeniedNew);
        }
        let wait = survey.time_to_vacancy(now);
        crowded(wait, BucketSet::FIRST)
    }

    fn reclaimed_at(&self) -> Moment {
        if mutant::is("old clock") {
            return Moment::default();
        }
        Moment::from_nanos(self.reclaimed_at.load(Ordering::Relaxed))
    }
}

/// What a bucket holds when the check happens. A check whose clock seems to have been set back by more than a second was
/// perhaps only asleep since it read it; that must not move the stamp back, so it reads it again.
#[inline]
pub(crate) fn level_of(limit: &Limit, seen: Seen, when: When<'_>) -> StampedLevel {
    let level = StampedLevel::new(limit, seen.balance, when.moment());
    if level.stored() == seen.balance {
        return level;
    }
    StampedLevel::new(limit, seen.balance, when.again(when.moment()))
}

/// When a bucket at this level is full.
#[inline]
pub(crate) fn full_at(level: &StampedLevel, told: &ExplicitVerdict) -> FullAt {
    FullAt::at(level.now() + told.time_to_full)
}

/// Follows a clock that was set back for good, though nothing was charged. Whether that is done, or need not be.
fn restamp(slot: &Slot, seen: Seen, level: &StampedLevel, full_at: FullAt) -> bool {
    level.stored() == seen.balance || slot.replace(seen, level.stored(), full_at)
}

/// What a check is told for whose buckets there is no room.
pub(crate) fn crowded(wait: Span, denied: BucketSet) -> ExplicitVerdict {
    let verdict = Verdict::Deny { wait, remaining: Tokens::ZERO, denied, cause: Cause::TableFull(denied) };
    let tightest = denied.iter().next().unwrap_or(0);
    ExplicitVerdict { verdict, remaining: Tokens::ZERO, time_to_full: wait, tightest }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Clock;
    use crate::identity::Seed;
    use tollgate_core::{Burst, Cost, Rate};

    fn store() -> ExplicitStore {
        let table = Table::try_of_windows(8).expect("memory");
        ExplicitStore::new(table, Seed::random().namespace(""), TableFull::Inherit)
    }

    #[test]
    fn a_thread_that_slept_since_it_read_the_clock_does_not_move_the_stamp_back() {
        let (store, now) = (store(), Moment::from_nanos(100_000_000_000));
        let clock = Clock::manual(now);
        let limit = Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap();
        let ask = |tokens| ExplicitAsk { id: store.id(&"a").unwrap(), limit, cost: Cost::tokens(tokens) };
        assert!(store.charge(&ask(50), When::Read(now, &clock)).is_admitted());
        let slept = When::Read(now - Span::from_secs(10), &clock);
        assert!(!store.charge(&ask(1), slept).is_admitted());
        assert!(!store.charge_all::<1>([ask(1)], slept).told.is_admitted());
        assert_eq!(store.peek(&ask(1), When::Read(now, &clock)).remaining, Tokens::ZERO);
    }

    #[test]
    fn a_newcomer_starts_full_no_earlier_than_the_last_reclaim() {
        let (store, now) = (store(), Moment::from_nanos(100_000_000_000));
        let limit = Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap();
        store.reclaimed_at.store(now.as_nanos(), Ordering::Relaxed);
        let held = |seconds| {
            let ask = ExplicitAsk { id: store.id(&"a").unwrap(), limit, cost: Cost::micros(0) };
            store.peek(&ask, When::Given(now - Span::from_secs(seconds))).remaining.whole()
        };
        assert_eq!([0, 1, 2, 100].map(held), [50, 40, 30, 0]);
    }
}
