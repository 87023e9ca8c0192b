//! One check against several buckets: all are charged, or none.
//!
//! Peek at all: a denial answers without a write. Then hold every bucket but the last in one order that all threads share
//! (narrow to broad), decide the last by one swap, which is the moment the check happens, and let the others go, charged.
//! The hot bucket that everyone shares is never held; a preempted holder delays its own client.

use tollgate_core::{BucketSet, Demand, Generation, Mark, Moment, Reading, Ruler, Span, Spend, Tokens};

use crate::clock::CLOCK_ERROR_MAX;
use crate::identity::BucketId;
use crate::memory::LimitId;
use crate::memory::counters::Event;
use crate::memory::logs::{LogAnswer, LogAsk, LogRefusal};
use crate::memory::meters::MeterSource;
use crate::memory::slot::{Slot, Tag, Unread, mutant};
use crate::memory::store::{Ask, MoveIn, Purpose, Store, When};
use crate::sync::Patience;
use crate::{Breadth, Cause, CheckError, Verdict};

/// Times a check starts over because a bucket it had placed was taken from it or carried over to another tier, before it gives
/// up. Only a table that is far too small gets there.
const RESTARTS_MAX: usize = 4_096;

/// What a check asks of one bucket: several charges to the same one are one.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    ask: Ask,
    breadth: Breadth,
    /// Which charges these are.
    members: BucketSet,
}

/// One bucket of the check, where it was found.
#[derive(Debug, Clone, Copy)]
struct Part<'t> {
    slot: &'t Slot,
    tag: Tag,
    /// Where it stood when it was looked at, or when it was charged.
    mark: Mark,
    /// Where the charge has put it.
    paid: Option<Mark>,
    ruler: Ruler,
    reading: Reading,
    ask: Ask,
    breadth: Breadth,
    members: BucketSet,
    /// An overflow bucket stands for clients who may not be this full: see [`Store::floor`].
    floor: Option<Mark>,
}

/// Why a check must be looked at afresh.
struct StartOver;

/// What came of a check over several buckets.
pub(crate) struct Outcome<const N: usize> {
    pub(crate) verdict: Verdict,
    /// What was charged where, if it was admitted: one for each bucket whose state is a word.
    pub(crate) receipts: [Option<Receipt>; N],
    /// The same of logs.
    pub(crate) log_receipts: Vec<LogReceipt>,
}

/// A charge that was made, so that it can be settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receipt {
    pub(crate) ask: Ask,
    /// Which charges of the check these are.
    pub(crate) members: BucketSet,
    /// Where the charge left the bucket.
    pub(crate) paid: Mark,
    /// In which generation it took its places, if it did.
    pub(crate) generation: Option<Generation>,
    /// It was the overflow bucket that stood for it.
    pub(crate) overflow: bool,
}

/// A charge that was made to a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogReceipt {
    pub(crate) id: BucketId,
    pub(crate) limit_id: LimitId,
    pub(crate) demand: Demand,
    pub(crate) members: BucketSet,
    /// When it counts as made.
    pub(crate) at: Moment,
}

/// A denial in the making.
struct Refusal {
    /// What is left in the log that has least left, if none refuses.
    left: Tokens,
    wait: Span,
    remaining: Tokens,
    denied: BucketSet,
    never: BucketSet,
    cause: Cause,
}

impl<M: MeterSource> Store<M> {
    /// Decides one check over several buckets, at most `N` and given with their rules' breadths, and charges all of them or none.
    pub(crate) fn charge_all<const N: usize>(
        &self,
        asks: impl IntoIterator<Item = (Ask, Breadth)> + Clone,
        when: When<'_>,
    ) -> Verdict {
        match self.charge_all_likely::<N>(asks.clone(), when.moment()) {
            Some(remaining) => Verdict::Admit { remaining, delay: Span::ZERO },
            None => self.charge_all_fully::<N>(asks, when).verdict,
        }
    }

    /// Any check over several buckets.
    #[inline(never)]
    pub(crate) fn charge_all_fully<const N: usize>(
        &self,
        asks: impl IntoIterator<Item = (Ask, Breadth)>,
        mut when: When<'_>,
    ) -> Outcome<N> {
        let mut merged = [None; N];
        let wanted = match merge(asks, &mut merged) {
            Ok(wanted) => wanted,
            Err(error) => return Outcome::of(Verdict::Invalid(error)),
        };
        let mut logs = self.logs.lock(wanted.iter().flatten().filter_map(|wanted| self.log_ask(wanted)));
        let (mut overflowing, patience) = (BucketSet::EMPTY, Patience::default());
        for _ in 0..RESTARTS_MAX {
            let (mut parts, mut absent) = (Parts::<N>::new(), BucketSet::EMPTY);
            if self.gather(wanted, when, overflowing, &mut parts, &mut absent).is_err() {
                patience.wait();
                when = self.refresh(when);
                continue;
            }
            let mut refusal = self.peek_parts(&parts, when);
            refusal.add_logs(logs.peek(when.moment()));
            for wanted in absent.iter().filter_map(|index| wanted[index]) {
                self.peek_absent(&wanted, when, &mut refusal);
            }
            if let Some(denial) = refusal.verdict() {
                return Outcome::of(denial);
            }
            if absent.is_empty() {
                if let Ok(remaining) = parts.commit() {
                    let log_receipts = logs.charge(when.moment());
                    for part in parts.iter().filter(|part| part.floor.is_some()) {
                        self.counters.add(Event::Overflowed, part.members.iter().count() as u64);
                    }
                    let outcome = parts.outcome(remaining.min(refusal.left), when.moment());
                    return Outcome { log_receipts, ..outcome };
                }
                patience.wait();
                continue;
            }
            for (index, wanted) in
                absent.iter().filter_map(|index| wanted[index].map(|wanted| (index, wanted)))
            {
                match self.move_in(&wanted.ask, when, Purpose::Place) {
                    MoveIn::LookAgain => {}
                    MoveIn::UseOverflow => overflowing.insert(index),
                    // It looked as if there were room a moment ago.
                    MoveIn::Decided(verdict) => return Outcome::of(on_behalf_of(wanted.members, verdict)),
                }
            }
            when = self.refresh(when);
        }
        self.counters.count(Event::DeniedNew);
        let denied = wanted.iter().flatten().fold(BucketSet::EMPTY, |all, wanted| all.union(wanted.members));
        let wait = CLOCK_ERROR_MAX;
        Outcome::of(Verdict::Deny { wait, remaining: Tokens::ZERO, denied, cause: Cause::Crowded })
    }

    /// What is asked of a log, if that is where the bucket's state is.
    fn log_ask(&self, wanted: &Wanted) -> Option<LogAsk> {
        let limit = self.meters.ruler(wanted.ask.limit).log()?;
        let Ask { id, limit: limit_id, demand } = wanted.ask;
        Some(LogAsk { id, limit, limit_id, demand, members: wanted.members })
    }

    /// Finds the buckets of a check, and which are absent.
    fn gather<'t, const N: usize>(
        &'t self,
        wanted: &[Option<Wanted>],
        when: When<'_>,
        overflowing: BucketSet,
        parts: &mut Parts<'t, N>,
        absent: &mut BucketSet,
    ) -> Result<(), StartOver> {
        for (index, Wanted { ask, breadth, members }) in wanted.iter().flatten().enumerate() {
            let ruler = self.meters.ruler(ask.limit);
            if ruler.log().is_some() {
                continue;
            }
            let (slot, tag) = match self.find(ask) {
                Some((slot, tag)) => (slot, tag),
                None if overflowing.contains(index) => {
                    (self.meters.overflow(ask.limit), Tag::overflow(ask.limit))
                }
                None => {
                    absent.insert(index);
                    continue;
                }
            };
            if tag.limit() != Some(ask.limit) {
                self.relabel(ask, when);
                return Err(StartOver);
            }
            let is_overflow = tag == Tag::overflow(ask.limit);
            // Two clients without room of their own have one overflow bucket between them.
            if is_overflow && let Some(part) = parts.of_slot(slot) {
                part.ask.demand.cost = part.ask.demand.cost.plus(ask.demand.cost);
                part.members = part.members.union(*members);
                continue;
            }
            parts.push(Part {
                slot,
                tag,
                mark: wait_for_mark(slot, tag)?,
                paid: None,
                ruler,
                reading: ruler.reading(when.moment()),
                ask: *ask,
                breadth: *breadth,
                members: *members,
                floor: is_overflow.then(|| self.floor(&ruler, when.moment())),
            });
        }
        Ok(())
    }

    /// Looks at every bucket that is there; who denies.
    fn peek_parts<const N: usize>(&self, parts: &Parts<'_, N>, when: When<'_>) -> Refusal {
        let mut refusal = Refusal::none();
        for part in parts.iter() {
            if part.ruler.never_admits(part.ask.demand) {
                part.refuse_for_good(&mut refusal);
            } else if let Spend::Short { held, .. } = part.spend(part.mark) {
                let wait = part.ruler.wait(part.from(part.mark), part.ask.demand, when.moment());
                refusal.add(part.members, wait, held);
            }
        }
        refusal
    }

    /// Judges an absent bucket as moving in would, without doing it: so that every bucket that denies is named, and none is
    /// displaced for a check that is denied.
    fn peek_absent(&self, wanted: &Wanted, when: When<'_>, refusal: &mut Refusal) {
        let Wanted { ask, members, .. } = wanted;
        if self.meters.ruler(ask.limit).never_admits(ask.demand) {
            refusal.never = refusal.never.union(*members);
        } else if let MoveIn::Decided(Verdict::Deny { wait, remaining, cause, .. }) =
            self.move_in(ask, when, Purpose::Look)
        {
            refusal.add(*members, wait, remaining);
            refusal.cause = if cause == Cause::Crowded { cause } else { refusal.cause };
        }
    }
}

impl<const N: usize> Outcome<N> {
    /// Nothing was charged.
    fn of(verdict: Verdict) -> Self {
        Outcome { verdict, receipts: [None; N], log_receipts: Vec::new() }
    }
}

/// The buckets that `asks` name, each once.
fn merge<const N: usize>(
    asks: impl IntoIterator<Item = (Ask, Breadth)>,
    merged: &mut [Option<Wanted>; N],
) -> Result<&[Option<Wanted>], CheckError> {
    let mut len = 0;
    for (index, (ask, breadth)) in asks.into_iter().take(N).enumerate() {
        match merged[..len].iter_mut().flatten().find(|wanted| wanted.ask.id == ask.id) {
            Some(same) if same.ask.limit != ask.limit => {
                return Err(CheckError::TierConflict { charge: index });
            }
            Some(same) => {
                same.ask.demand.cost = same.ask.demand.cost.plus(ask.demand.cost);
                same.ask.demand.keep = same.ask.demand.keep.max(ask.demand.keep);
                same.members.insert(index);
            }
            None => {
                merged[len] = Some(Wanted { ask, breadth, members: BucketSet::of(index) });
                len += 1;
            }
        }
    }
    Ok(&merged[..len])
}

/// The buckets of one check, at most `N`.
struct Parts<'t, const N: usize> {
    list: [Option<Part<'t>>; N],
    len: usize,
}

impl<'t, const N: usize> Parts<'t, N> {
    fn new() -> Self {
        Self { list: [None; N], len: 0 }
    }

    fn push(&mut self, part: Part<'t>) {
        self.list[self.len] = Some(part);
        self.len += 1;
    }

    fn iter(&self) -> impl Iterator<Item = &Part<'t>> {
        self.list[..self.len].iter().flatten()
    }

    fn of_slot(&mut self, slot: &Slot) -> Option<&mut Part<'t>> {
        self.list[..self.len].iter_mut().flatten().find(|part| std::ptr::eq(part.slot, slot))
    }

    /// Holds all but the last, swaps the last, lets the others go. What is left in the tightest, or start over with nothing
    /// changed: somebody spent or moved meanwhile.
    fn commit(&mut self) -> Result<Tokens, StartOver> {
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

    /// What came of a check that was charged at `now`.
    fn outcome(&self, remaining: Tokens, now: Moment) -> Outcome<N> {
        let delays = self.iter().map(|part| part.ruler.delay(part.mark, now));
        let mut outcome =
            Outcome::of(Verdict::Admit { remaining, delay: delays.max().unwrap_or(Span::ZERO) });
        for (receipt, part) in outcome.receipts.iter_mut().zip(self.iter()) {
            *receipt = Some(Receipt {
                ask: part.ask,
                members: part.members,
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
fn wait_for_mark(slot: &Slot, tag: Tag) -> Result<Mark, StartOver> {
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
            refusal.add(self.members, time_to_full, Tokens::ZERO);
            refusal.cause = Cause::Crowded;
        }
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

impl Refusal {
    fn none() -> Refusal {
        let most = Tokens::from_micros(u64::MAX);
        let (denied, never) = (BucketSet::EMPTY, BucketSet::EMPTY);
        Refusal { left: most, wait: Span::ZERO, remaining: most, denied, never, cause: Cause::Exceeded }
    }

    fn add(&mut self, members: BucketSet, wait: Span, held: Tokens) {
        self.denied = self.denied.union(members);
        self.wait = self.wait.max(wait);
        self.remaining = self.remaining.min(held);
    }

    /// What the check's logs say.
    fn add_logs(&mut self, answers: impl Iterator<Item = LogAnswer>) {
        for LogAnswer { members, answer } in answers {
            match answer {
                Ok(remaining) => self.left = self.left.min(remaining),
                Err(LogRefusal::Never) => self.never = self.never.union(members),
                Err(LogRefusal::Short { wait, held }) => self.add(members, wait, held),
                Err(LogRefusal::Crowded { wait }) => {
                    self.add(members, wait, Tokens::ZERO);
                    self.cause = Cause::Crowded;
                }
            }
        }
    }

    fn verdict(&self) -> Option<Verdict> {
        if !self.never.is_empty() {
            return Some(Verdict::Never { denied: self.never });
        }
        let Refusal { wait, remaining, denied, cause, .. } = *self;
        (!denied.is_empty()).then_some(Verdict::Deny { wait, remaining, denied, cause })
    }
}

/// The verdict on one bucket, as the verdict on the check whose charges these are.
fn on_behalf_of(members: BucketSet, verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Deny { wait, remaining, cause, .. } => {
            Verdict::Deny { wait, remaining, cause, denied: members }
        }
        Verdict::Never { .. } => Verdict::Never { denied: members },
        other => other,
    }
}
