//! One check against several explicit buckets: all are charged, or none.
//!
//! Peek at all: a denial answers without a write. Put absent ones in place. Then hold all of them in one order that all
//! threads share, the order of their slots, deciding each again if it changed; when the last is held the check happens, and
//! all are written. Whoever holds waits for nothing but slots further on. Why all, and not all but one as rules do:
//! decision 0015.

use tollgate_core::{BucketSet, StampedBalance, StampedLevel};

use crate::clock::CLOCK_ERROR_MAX;
use crate::memory::counters::Event;
use crate::memory::explicit::slot::{FullAt, Seen, Slot, full_after};
use crate::memory::explicit::store::{ExplicitStore, MoveIn, Purpose, crowded, full_at, level_of};
use crate::memory::explicit::table::tag_of;
use crate::memory::explicit::told::{ExplicitAsk, admitted};
use crate::memory::resets::ResetCount;
use crate::memory::slot::mutant;
use crate::memory::store::When;
use crate::sync::Patience;
use crate::{CheckError, ExplicitVerdict, Verdict};

/// Times a check starts over because a bucket it had placed was taken from it, or spent by others, before it gives up.
const RESTARTS_MAX: usize = 4_096;

/// What a check asks of one bucket: several charges to the same one are one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) ask: ExplicitAsk,
    /// Which charges these are.
    pub(crate) members: BucketSet,
}

/// A charge that was made, so that it can be settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExplicitReceipt {
    pub(crate) wanted: Wanted,
    /// Where the charge left the bucket, and when.
    pub(crate) paid: StampedBalance,
    /// How many resets there had been before.
    pub(crate) resets: ResetCount,
}

/// What came of a check, and what was charged where if it was admitted.
pub(crate) struct Outcome<const N: usize> {
    pub(crate) told: ExplicitVerdict,
    pub(crate) receipts: [Option<ExplicitReceipt>; N],
}

/// One bucket of the check, where it was found.
#[derive(Debug, Clone, Copy)]
struct Part<'t> {
    slot: &'t Slot,
    seen: Seen,
    wanted: Wanted,
    /// What it held when it was looked at, or once it is held, what the charge leaves.
    level: StampedLevel,
    full_at: FullAt,
}

/// Why a check must be looked at afresh.
struct StartOver;

impl ExplicitStore {
    /// Decides one check over several buckets, at most `N`, and charges all of them or none.
    #[inline(never)]
    pub(crate) fn charge_all<const N: usize>(
        &self,
        asks: impl IntoIterator<Item = ExplicitAsk>,
        mut when: When<'_>,
    ) -> Outcome<N> {
        let mut merged = [None; N];
        let wanted = match merge(asks, &mut merged) {
            Ok(wanted) => wanted,
            Err(error) => return Outcome::of(ExplicitVerdict::invalid(error)),
        };
        let (resets, patience) = (self.resets.count(), Patience::default());
        for _ in 0..RESTARTS_MAX {
            let (mut parts, mut absent, mut all) = ([None; N], BucketSet::EMPTY, None::<ExplicitVerdict>);
            for (index, wanted) in wanted.iter().flatten().enumerate() {
                let part = self.part(*wanted, when);
                let told = part.map_or_else(|| self.peek(&wanted.ask, when), |part| part.told());
                let told = told.on_behalf_of(wanted.members);
                all = Some(all.map_or(told, |all| all.and(told)));
                if part.is_none() {
                    absent.insert(index);
                }
                parts[index] = part;
            }
            if let Some(told) = all.filter(|told| !told.is_admitted()) {
                if let Verdict::Deny { .. } = told.verdict {
                    parts.iter().flatten().for_each(Part::follow_clock);
                }
                return Outcome::of(told);
            }
            if absent.is_empty() {
                let parts = &mut parts[..wanted.len()];
                if let Ok(told) = commit::<N>(parts, when) {
                    return Outcome { told, receipts: receipts(parts, resets) };
                }
                patience.wait();
            }
            for wanted in absent.iter().filter_map(|index| wanted[index]) {
                if let MoveIn::Decided(told) = self.move_in(&wanted.ask, when, Purpose::Place) {
                    // It looked as if there were room a moment ago.
                    return Outcome::of(told.on_behalf_of(wanted.members));
                }
            }
            when = self.refresh(when);
        }
        self.counters.count(Event::DeniedNew);
        let all = wanted.iter().flatten().fold(BucketSet::EMPTY, |all, wanted| all.union(wanted.members));
        Outcome::of(crowded(CLOCK_ERROR_MAX, all))
    }

    /// What [`ExplicitStore::charge_all`] would be told. Writes nothing.
    pub(crate) fn peek_all<const N: usize>(
        &self,
        asks: impl IntoIterator<Item = ExplicitAsk>,
        when: When<'_>,
    ) -> ExplicitVerdict {
        let mut merged = [None; N];
        let wanted = match merge(asks, &mut merged) {
            Ok(wanted) => wanted,
            Err(error) => return ExplicitVerdict::invalid(error),
        };
        let told = |wanted: &Wanted| self.peek(&wanted.ask, when).on_behalf_of(wanted.members);
        let all = wanted.iter().flatten().map(told).reduce(ExplicitVerdict::and);
        all.unwrap_or(ExplicitVerdict::invalid(CheckError::NoCharges))
    }

    /// A bucket of the check, if it is in the table.
    fn part(&self, wanted: Wanted, when: When<'_>) -> Option<Part<'_>> {
        let (slot, seen) = self.look(wanted.ask.id)?;
        let level = level_of(&wanted.ask.limit, seen, when);
        Some(Part { slot, seen, wanted, level, full_at: FullAt::NOW })
    }
}

/// Holds all in the order of their slots, then writes all. Or nothing is changed: somebody spent or moved meanwhile.
fn commit<const N: usize>(
    parts: &mut [Option<Part<'_>>],
    when: When<'_>,
) -> Result<ExplicitVerdict, StartOver> {
    if !mutant::is("unsorted") {
        parts.sort_unstable_by_key(place_in_order);
    }
    let (mut holding, mut all) = (Holding::<N> { slots: [None; N] }, None::<ExplicitVerdict>);
    for (part, held) in parts.iter_mut().flatten().zip(&mut holding.slots) {
        let told = part.hold(when)?.on_behalf_of(part.wanted.members);
        *held = Some((part.slot, part.seen));
        all = Some(all.map_or(told, |all| all.and(told)));
    }
    // From here on nothing can fail: the stores follow one another.
    holding.slots = [None; N];
    for part in parts.iter().flatten() {
        part.slot.write(part.seen, part.level.stored(), part.full_at);
    }
    all.ok_or(StartOver)
}

/// The order in which all threads hold slots.
#[expect(clippy::ref_option, reason = "the key function of a sort over options")]
fn place_in_order(part: &Option<Part<'_>>) -> Option<usize> {
    part.as_ref().map(|part| std::ptr::from_ref(part.slot).addr())
}

impl Part<'_> {
    /// What this bucket says.
    fn told(&self) -> ExplicitVerdict {
        self.wanted.ask.told_at(&self.level)
    }

    /// Moves the stamp of a bucket whose clock was set back for good, though nothing is charged.
    fn follow_clock(&self) {
        if self.level.stored() != self.seen.balance {
            // Whoever was quicker has followed it, too, or has charged the bucket.
            let full_at = full_after(self.level.now(), self.level.time_to_full());
            self.slot.replace(self.seen, self.level.stored(), full_at);
        }
    }

    /// Takes hold of the bucket, if it can pay; what it will say.
    fn hold(&mut self, when: When<'_>) -> Result<ExplicitVerdict, StartOver> {
        loop {
            let level = level_of(&self.wanted.ask.limit, self.seen, when);
            if !self.wanted.ask.is_paid_by(&level) {
                return Err(StartOver);
            }
            self.level = level.charged(self.wanted.ask.cost.as_micros());
            let told = admitted(&self.level);
            self.full_at = full_at(&self.level, &told);
            if self.slot.hold(self.seen) {
                return Ok(told);
            }
            self.seen = self.slot.wait_for(tag_of(self.wanted.ask.id)).ok_or(StartOver)?;
        }
    }
}

/// Slots held by this check. Whatever happens, they are let go, unchanged.
struct Holding<'t, const N: usize> {
    slots: [Option<(&'t Slot, Seen)>; N],
}

impl<const N: usize> Drop for Holding<'_, N> {
    fn drop(&mut self) {
        self.slots.iter().flatten().for_each(|(slot, seen)| slot.let_go(*seen));
    }
}

impl<const N: usize> Outcome<N> {
    /// Nothing was charged.
    fn of(told: ExplicitVerdict) -> Self {
        Outcome { told, receipts: [None; N] }
    }
}

fn receipts<const N: usize>(parts: &[Option<Part<'_>>], resets: ResetCount) -> [Option<ExplicitReceipt>; N] {
    let mut receipts = [None; N];
    for (receipt, part) in receipts.iter_mut().zip(parts.iter().flatten()) {
        *receipt = Some(ExplicitReceipt { wanted: part.wanted, paid: part.level.stored(), resets });
    }
    receipts
}

/// The buckets that `asks` name, each once.
fn merge<const N: usize>(
    asks: impl IntoIterator<Item = ExplicitAsk>,
    merged: &mut [Option<Wanted>; N],
) -> Result<&[Option<Wanted>], CheckError> {
    let mut len = 0;
    for (index, ask) in asks.into_iter().take(N).enumerate() {
        match merged[..len].iter_mut().flatten().find(|wanted| wanted.ask.id == ask.id) {
            Some(same) if same.ask.limit != ask.limit => {
                return Err(CheckError::TierConflict { charge: index });
            }
            Some(same) => {
                same.ask.cost = same.ask.cost.plus(ask.cost);
                same.members.insert(index);
            }
            None => {
                merged[len] = Some(Wanted { ask, members: BucketSet::of(index) });
                len += 1;
            }
        }
    }
    Ok(&merged[..len])
}
