//! The buckets of one check over several: found, looked at, held and charged.

use tollgate_core::{BucketSet, Mark, Moment, Reading, Ruler, Span, Spend, Tokens};

use crate::memory::receipt::{Outcome, Receipt};
use crate::memory::refusal::Refusal;
use crate::memory::resets::ResetCount;
use crate::memory::slot::{Slot, Tag, Unread, mutant};
use crate::memory::store::Ask;
use crate::sync::Patience;
use crate::{Breadth, Cause, Verdict};

/// One bucket of the check, where it was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'t> {
    pub(crate) slot: &'t Slot,
    pub(crate) tag: Tag,
    /// Where it stood when it was looked at, or when it was charged.
    pub(crate) mark: Mark,
    /// Where the charge has put it.
    pub(crate) paid: Option<Mark>,
    pub(crate) ruler: Ruler,
    pub(crate) reading: Reading,
    pub(crate) ask: Ask,
    pub(crate) breadth: Breadth,
    pub(crate) members: BucketSet,
    /// An overflow bucket stands for clients who may not be this full: see [`Store::floor`].
    pub(crate) floor: Option<Mark>,
}

/// Why a check must be looked at afresh.
pub(crate) struct StartOver;

/// The buckets of one check, at most `N`.
pub(crate) struct Parts<'t, const N: usize> {
    list: [Option<Part<'t>>; N],
    len: usize,
}

impl<'t, const N: usize> Parts<'t, N> {
    pub(crate) fn new() -> Self {
        Self { list: [None; N], len: 0 }
    }

    pub(crate) fn push(&mut self, part: Part<'t>) {
        self.list[self.len] = Some(part);
        self.len += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Part<'t>> {
        self.list[..self.len].iter().flatten()
    }

    pub(crate) fn of_slot(&mut self, slot: &Slot) -> Option<&mut Part<'t>> {
        self.list[..self.len].iter_mut().flatten().find(|part| std::ptr::eq(part.slot, slot))
    }

    /// Looks at every bucket; who denies.
    pub(crate) fn peek(&self, now: Moment) -> Refusal {
        let mut refusal = Refusal::none();
        for part in self.iter() {
            if part.ruler.never_admits(part.ask.demand) {
                part.refuse_for_good(&mut refusal);
            } else if let Spend::Short { held, .. } = part.spend(part.mark) {
                let wait = part.ruler.wait(part.from(part.mark), part.ask.demand, now);
                refusal.add(part.cause(), part.members, wait, held);
            }
        }
        refusal
    }

    /// Holds all but the last, swaps the last, lets the others go. What is left in the tightest, or start over with nothing
    /// changed: somebody spent or moved meanwhile.
    pub(crate) fn commit(&mut self) -> Result<Tokens, StartOver> {
        let parts = &mut self.list[..self.len];
        if !mutant::is("unsorted") && !parts.is_sorted_by_key(place_in_order) {
            parts.sort_unstable_by_key(place_in_order);
        }
        let (mut holding, mut tightest) = (Holding::<N>::new(), Tokens::from_micros(u64::MAX));
        // Without any, all buckets are logs, which are locked.
        let Some((Some(last), rest)) = self.list[..self.len].split_last_mut() else { return Ok(tightest) };
        for part in rest.iter_mut().flatten() {
            tightest = tightest.min(holding.hold(part)?);
        }
        loop {
            let Spend::Paid { mark: paid, remaining } = last.spend(last.mark) else { return Err(StartOver) };
            if last.slot.swap(last.mark, paid) {
                last.paid = Some(paid);
                holding.charge();
                return Ok(tightest.min(remaining));
            }
            last.mark = wait_for_mark(last.slot, last.tag)?;
        }
    }

    /// What came of a check that was charged at `now`, after so many resets.
    pub(crate) fn outcome(&self, remaining: Tokens, resets: ResetCount, now: Moment) -> Outcome<N> {
        let delays = self.iter().map(|part| part.ruler.delay(part.mark, now));
        let mut outcome =
            Outcome::of(Verdict::Admit { remaining, delay: delays.max().unwrap_or(Span::ZERO) });
        for (receipt, part) in outcome.receipts.iter_mut().zip(self.iter()) {
            *receipt = Some(Receipt {
                ask: part.ask,
                members: part.members,
                at: now,
                resets,
                paid: part.paid.unwrap_or(part.mark),
                generation: part.paid.and_then(|paid| part.reading.generation(paid)),
                overflow: part.floor.is_some(),
            });
        }
        outcome
    }
}

/// Narrow to broad, then any order that all threads share.
#[expect(clippy::ref_option, reason = "the key function of a sort over options")]
fn place_in_order(part: &Option<Part<'_>>) -> Option<(Breadth, usize)> {
    part.as_ref().map(|part| (part.breadth, std::ptr::from_ref(part.slot).addr()))
}

/// The mark, once nobody holds the slot. The tag is looked at every time: a slot that is somebody else's now may be held in
/// another order.
pub(crate) fn wait_for_mark(slot: &Slot, tag: Tag) -> Result<Mark, StartOver> {
    let patience = Patience::default();
    loop {
        match slot.mark(tag) {
            Ok(mark) => return Ok(mark),
            Err(Unread::Locked) => patience.wait(),
            Err(Unread::Gone) => return Err(StartOver),
        }
    }
}

impl Part<'_> {
    /// Refuses a cost above the burst. Of clients without room that share one bucket the costs together may be above it: when
    /// they have room they may all be admitted.
    fn refuse_for_good(&self, refusal: &mut Refusal) {
        if self.floor.is_none() {
            refusal.never = refusal.never.union(self.members);
        } else {
            let time_to_full = self.ruler.meter().map_or(Span::ZERO, |meter| meter.limit().time_to_full());
            refusal.add(self.cause(), self.members, time_to_full, Tokens::ZERO);
        }
    }

    /// Why it denies, if it does.
    fn cause(&self) -> Cause {
        if self.floor.is_some() { Cause::TableFull(self.members) } else { Cause::Exceeded }
    }

    /// What the charge makes of the bucket.
    fn spend(&self, mark: Mark) -> Spend {
        self.reading.spend(self.from(mark), self.ask.demand)
    }

    /// What is charged, if the slot stands at `mark`: no fuller than whom it stands for may be.
    fn from(&self, mark: Mark) -> Mark {
        self.floor.map_or(mark, |floor| self.reading.emptier(mark, floor))
    }
}

/// Slots held by this check. Whatever happens, they are let go: unchanged, unless [`Holding::charge`] was called.
struct Holding<'t, const N: usize> {
    slots: [Option<(&'t Slot, Mark, Mark)>; N],
    len: usize,
    charged: bool,
}

impl<'t, const N: usize> Holding<'t, N> {
    fn new() -> Self {
        Self { slots: [None; N], len: 0, charged: false }
    }

    /// Takes hold of one bucket that can pay; what it will have left.
    fn hold(&mut self, part: &mut Part<'t>) -> Result<Tokens, StartOver> {
        loop {
            let Spend::Paid { mark: paid, remaining } = part.spend(part.mark) else { return Err(StartOver) };
            if part.slot.hold(part.mark) {
                part.paid = Some(paid);
                self.slots[self.len] = Some((part.slot, part.mark, paid));
                self.len += 1;
                return Ok(remaining);
            }
            part.mark = wait_for_mark(part.slot, part.tag)?;
        }
    }

    /// Lets all of them go, charged.
    fn charge(mut self) {
        self.charged = true;
    }
}

impl<const N: usize> Drop for Holding<'_, N> {
    fn drop(&mut self) {
        for (slot, before, paid) in self.slots[..self.len].iter().flatten() {
            slot.release(if self.charged { *paid } else { *before });
        }
    }
}
