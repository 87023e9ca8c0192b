//! One check against several buckets: all are charged, or none.
//!
//! Peek at all: a denial answers without a write. Then hold every bucket but the last in one order that all threads share
//! (narrow to broad), decide the last by one swap, which is the moment the check happens, and let the others go, charged.
//! The hot bucket that everyone shares is never held; a preempted holder delays its own client.

use std::sync::Arc;

use tollgate_core::{BucketSet, Span, Tokens};

use crate::clock::CLOCK_ERROR_MAX;
use crate::memory::counters::Event;
use crate::memory::joint_parts::{Part, Parts, StartOver, wait_for_mark};
use crate::memory::logs::LogAsk;
use crate::memory::meters::MeterSource;
use crate::memory::receipt::Outcome;
use crate::memory::refusal::{Refusal, on_behalf_of};
use crate::memory::slot::Tag;
use crate::memory::store::{Ask, MoveIn, Purpose, Store, When};
use crate::memory::wish::Wish;
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

impl<M: MeterSource> Store<M> {
    /// Decides one check over several buckets, at most `N` and given with their rules' breadths, and charges all of them or none.
    pub(crate) fn charge_all<'w, const N: usize>(
        &self,
        wishes: impl IntoIterator<Item = (&'w Wish, Breadth)> + Clone,
        when: When<'_>,
    ) -> Verdict {
        if let Some(remaining) = self.charge_all_likely::<N>(wishes.clone(), when.moment()) {
            return Verdict::Admit { remaining, delay: Span::ZERO };
        }
        let asks = wishes.into_iter().map(|(wish, breadth)| (wish.ask(&self.meters), breadth));
        self.charge_all_fully::<N>(asks, when).verdict
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
        let resets = self.resets.count();
        let mut logs = self.logs.lock(wanted.iter().flatten().filter_map(|wanted| self.log_ask(wanted)));
        let (mut overflowing, patience) = (BucketSet::EMPTY, Patience::default());
        for _ in 0..RESTARTS_MAX {
            let (mut parts, mut absent) = (Parts::<N>::new(), BucketSet::EMPTY);
            if self.gather(wanted, when, overflowing, &mut parts, &mut absent).is_err() {
                patience.wait();
                when = self.refresh(when);
                continue;
            }
            let mut refusal = parts.peek(when.moment());
            refusal.add_logs(logs.peek(when.moment()));
            for wanted in absent.iter().filter_map(|index| wanted[index]) {
                self.peek_absent(&wanted, when, &mut refusal);
            }
            if let Some(denial) = refusal.verdict() {
                return Outcome::of(denial);
            }
            if absent.is_empty() {
                if let Ok(remaining) = parts.commit() {
                    let log_receipts = logs.charge(resets, when.moment());
                    for part in parts.iter().filter(|part| part.floor.is_some()) {
                        self.counters.add(Event::Overflowed, part.members.iter().count() as u64);
                    }
                    let outcome = parts.outcome(remaining.min(refusal.left), resets, when.moment());
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
        Outcome::of(Verdict::Deny { wait, remaining: Tokens::ZERO, denied, cause: Cause::TableFull(denied) })
    }

    /// What is asked of a log, if that is where the bucket's state is.
    fn log_ask(&self, wanted: &Wanted) -> Option<LogAsk> {
        let limit = self.meters.ruler(wanted.ask.limit).log()?;
        let Ask { id, limit: limit_id, demand } = wanted.ask;
        let room = Arc::clone(self.meters.log_room(limit_id));
        Some(LogAsk { id, limit, limit_id, demand, members: wanted.members, room })
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
                part.ask.demand.keep = part.ask.demand.keep.max(ask.demand.keep);
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

    /// Judges an absent bucket as moving in would, without doing it: so that every bucket that denies is named, and none is
    /// displaced for a check that is denied.
    fn peek_absent(&self, wanted: &Wanted, when: When<'_>, refusal: &mut Refusal) {
        let Wanted { ask, members, .. } = wanted;
        if self.meters.ruler(ask.limit).never_admits(ask.demand) {
            refusal.never = refusal.never.union(*members);
        } else if let MoveIn::Decided(Verdict::Deny { wait, remaining, cause, .. }) =
            self.move_in(ask, when, Purpose::Weigh)
        {
            refusal.add(cause, *members, wait, remaining);
        }
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
