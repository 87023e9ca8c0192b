//! The memory store: one check against one bucket, lock-free once the bucket is in the table.
//!
//! A charge is a load and a compare-and-swap; a denial is a load. A bucket that is not in the table is full, or as full as
//! the marks of its windows let a newcomer be; it moves in with its first charge. Time comes in with the check.

use tollgate_core::{BucketSet, Demand, Level, Mark, Moment, Ruler, Span, Spend, Tokens};

use crate::clock::{CLOCK_ERROR_MAX, Clock};
use crate::identity::BucketId;
use crate::memory::awaited::Awaited;
use crate::memory::counters::{Counters, Event};
use crate::memory::gates::{Held, WindowMark};
use crate::memory::logs::Logs;
use crate::memory::meters::MeterSource;
use crate::memory::resets::Resets;
use crate::memory::slot::{Slot, Tag, Unread, mutant};
use crate::memory::survey::{Seat, Standing, Survey};
use crate::memory::table::{Likely, Table};
use crate::memory::wish::Wish;
use crate::memory::{LimitId, TableFull};
use crate::sync::{AtomicU64, Ordering, Patience};
use crate::{Breadth, Cause, Verdict};

/// One bucket and what is asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) id: BucketId,
    pub(crate) limit: LimitId,
    pub(crate) demand: Demand,
}

/// When a check happens: at a moment the caller gave, or now by a clock that can be read again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum When<'c> {
    Given(Moment),
    Read(Moment, &'c Clock),
}

/// The buckets of one limiter.
#[derive(Debug)]
pub(crate) struct Store<M> {
    pub(crate) table: Table,
    pub(crate) meters: M,
    pub(crate) counters: Counters,
    /// The buckets whose state is not a word.
    pub(crate) logs: Logs,
    pub(crate) resets: Resets,
    /// The mode of rules that have none of their own.
    table_full: TableFull,
    /// For whom somebody waits.
    pub(crate) awaited: Awaited,
    /// No full bucket was forgotten more than a clock error after this moment; a newcomer starts full no earlier. So a
    /// client that was full when it was forgotten cannot come back at an earlier time and find tokens it had spent.
    reclaimed_at: AtomicU64,
}

/// What moving in is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Only to see what a check would be told.
    Look,
    /// To decide a check over several buckets, before any of them is placed. Changes nothing, but a denial counts.
    Weigh,
    /// To be charged later, together with others.
    Place,
    /// To be charged at once.
    Charge,
}

/// What came of moving in.
#[derive(Debug)]
pub(crate) enum MoveIn {
    /// The check is decided.
    Decided(Verdict),
    /// The bucket is in the table now, or something changed: look again.
    LookAgain,
    /// There is no room: the shared overflow bucket stands for this one.
    UseOverflow,
}

impl<M: MeterSource> Store<M> {
    /// A store over an empty table.
    pub(crate) fn new(table: Table, table_full: TableFull, meters: M) -> Store<M> {
        Store {
            logs: Logs::new(),
            resets: Resets::new(),
            table,
            meters,
            counters: Counters::default(),
            table_full,
            awaited: Awaited::new(),
            reclaimed_at: AtomicU64::new(0),
        }
    }

    /// Decides one check and charges it if it is admitted: as nearly all are, or else in full.
    #[inline]
    pub(crate) fn decide(&self, wish: &Wish, when: When<'_>) -> Verdict {
        self.decide_by(self.quick_level(wish, when.moment()), wish, when)
    }

    /// [`Store::decide`] by the quick level of the wish.
    #[inline]
    pub(crate) fn decide_by(&self, level: Option<Level>, wish: &Wish, when: When<'_>) -> Verdict {
        match self.table.likely(wish.id).charge(wish, level) {
            Some(remaining) => Verdict::Admit { remaining, delay: Span::ZERO },
            None => self.charge(&wish.ask(&self.meters), when),
        }
    }

    /// What [`Likely::charge`] needs to know of the wish's limit; `None` unless it is a token bucket that nobody is changing, of
    /// which no share is to be left alone.
    #[expect(
        clippy::inline_always,
        reason = "read for every bucket of every check; a call costs as much as the level"
    )]
    #[inline(always)]
    pub(crate) fn quick_level(&self, wish: &Wish, now: Moment) -> Option<Level> {
        if wish.left_alone > 0 { None } else { self.meters.try_meter(wish.limit)?.quick_level(now) }
    }

    /// Decides one check in full, and charges it if it is admitted.
    pub(crate) fn charge(&self, ask: &Ask, when: When<'_>) -> Verdict {
        let ruler = self.meters.ruler(ask.limit);
        if ruler.log().is_some() {
            return self.charge_all_fully::<1>([(*ask, Breadth::Client)], when).verdict;
        }
        if ruler.never_admits(ask.demand) {
            return Verdict::Never { denied: BucketSet::FIRST };
        }
        let (now, patience) = (when.moment(), Patience::default());
        let reading = ruler.reading(now);
        loop {
            let Some((slot, tag)) = self.find(ask) else {
                match self.move_in(ask, when, Purpose::Charge) {
                    MoveIn::Decided(verdict) => return verdict,
                    MoveIn::LookAgain | MoveIn::UseOverflow => continue,
                }
            };
            if tag.limit() != Some(ask.limit) {
                self.relabel(ask, when);
                patience.wait();
                continue;
            }
            match slot.mark(tag) {
                Ok(mark) => {
                    let spend = reading.spend(mark, ask.demand);
                    let Spend::Paid { mark: paid, .. } = spend else {
                        return verdict_of(spend, &ruler, mark, ask.demand, now);
                    };
                    if slot.swap(mark, paid) {
                        return verdict_of(spend, &ruler, mark, ask.demand, now);
                    }
                }
                Err(Unread::Locked) => patience.wait(),
                Err(Unread::Gone) => {}
            }
        }
    }

    /// The slot of the ask's bucket and its tag there, if it is in the table: where it most likely is, then anywhere.
    #[inline]
    pub(crate) fn find(&self, ask: &Ask) -> Option<(&Slot, Tag)> {
        let tag = Tag::new(ask.id.fingerprint, ask.limit);
        let likely = self.table.likely(ask.id).find(tag).map(|slot| (slot, tag));
        likely.or_else(|| self.table.find(ask.id))
    }

    /// What a check would be told. Charges nothing.
    pub(crate) fn peek(&self, ask: &Ask, when: When<'_>) -> Verdict {
        let ruler = self.meters.ruler(ask.limit);
        if ruler.never_admits(ask.demand) {
            return Verdict::Never { denied: BucketSet::FIRST };
        }
        let (now, patience) = (when.moment(), Patience::default());
        if let Some(log) = ruler.log() {
            return self.logs.peek(ask, &log, self.meters.log_room(ask.limit), now);
        }
        loop {
            let Some((slot, tag)) = self.find(ask) else {
                match self.move_in(ask, when, Purpose::Look) {
                    MoveIn::Decided(verdict) => return verdict,
                    MoveIn::LookAgain | MoveIn::UseOverflow => continue,
                }
            };
            match slot.mark(tag) {
                Ok(mark) => {
                    let mark = self.under_limit(mark, tag, &ruler, ask, now);
                    let spend = ruler.reading(now).spend(mark, ask.demand);
                    return verdict_of(spend, &ruler, mark, ask.demand, now);
                }
                Err(Unread::Locked) => patience.wait(),
                Err(Unread::Gone) => {}
            }
        }
    }

    /// Gives an absent bucket a slot, or says what becomes of it without one.
    #[cold]
    #[inline(never)]
    pub(crate) fn move_in(&self, ask: &Ask, when: When<'_>, purpose: Purpose) -> MoveIn {
        let mut gates = self.table.gates.hold(ask.id.windows);
        if self.table.find(ask.id).is_some() {
            return MoveIn::LookAgain;
        }
        // After the second look, so that whoever forgot this bucket has said when; and the clock before the meter.
        let reclaimed_at = self.reclaimed_at();
        let now = when.again(reclaimed_at);
        let ruler = self.meters.ruler(ask.limit);
        let survey = Survey::of(&self.table, ask.id, &self.meters, now);
        survey.relieve(&mut gates, &self.meters);

        let mode = self.meters.table_full(ask.limit);
        let open = if self.table_full == TableFull::Inherit {
            survey.open_to(ask.limit, &self.meters)
        } else {
            [true; 2]
        };
        let (vacancy, mut victim) = (survey.vacancy(open), None);
        if vacancy.is_none() && mode == TableFull::Inherit {
            victim = survey.victim(ask.limit, open, &self.meters, now);
        }
        let Some(seat) = vacancy.or(victim) else {
            // Clients can share an overflow bucket only if its state is a mark on a meter.
            return if mode == TableFull::SharedOverflow && ruler.is_inheritable() {
                self.overflow(ask, &survey, &mut gates, purpose, now)
            } else {
                MoveIn::Decided(self.deny_new(&survey, open, purpose, now))
            };
        };

        let (start, is_bounded) = self.start(&survey, &gates, victim, ask.limit, now.max(reclaimed_at));
        let reading = ruler.reading(now);
        let spend = reading.spend(start, ask.demand);
        let cause = if is_bounded { Cause::TableFull(BucketSet::FIRST) } else { Cause::Exceeded };
        let verdict = || verdict_of(spend, &ruler, start, ask.demand, now).because(cause);
        let Spend::Paid { mark: paid, .. } = spend else {
            return MoveIn::Decided(verdict());
        };
        let mark = match purpose {
            Purpose::Look | Purpose::Weigh => return MoveIn::Decided(verdict()),
            Purpose::Place => start,
            Purpose::Charge => paid,
        };
        let mark = reading.other_than(mark, seat.mark);
        if !self.take(seat, Tag::new(ask.id.fingerprint, ask.limit), mark, now) {
            return MoveIn::LookAgain;
        }
        self.note_taken(seat, &mut gates);
        match purpose {
            Purpose::Charge => MoveIn::Decided(verdict()),
            Purpose::Look | Purpose::Weigh | Purpose::Place => MoveIn::LookAgain,
        }
    }

    /// The same check a little later: its clock read again, if it has one.
    pub(crate) fn refresh<'c>(&self, when: When<'c>) -> When<'c> {
        match when {
            When::Given(_) => when,
            When::Read(_, clock) => When::Read(when.again(self.reclaimed_at()), clock),
        }
    }

    /// Returns `true` if a client evicted from this window may be of the rule of `limit`.
    pub(super) fn has_evicted(&self, gates: &Held<'_>, which: usize, limit: LimitId) -> bool {
        gates.has(which, WindowMark::evicted(self.meters.rule(limit))) && self.meters.may_have_evicted(limit)
    }

    /// Returns the mark that a newcomer starts at, and whether it is bounded: full, but no fuller than a client evicted from its
    /// windows may be, or than the overflow bucket that it may have drawn from before. The marks of the windows count whatever the
    /// mode of the rule is now: it may have been another before a reload.
    fn start(
        &self,
        survey: &Survey<'_>,
        gates: &Held<'_>,
        victim: Option<&Seat<'_>>,
        limit: LimitId,
        now: Moment,
    ) -> (Mark, bool) {
        let ruler = self.meters.ruler(limit);
        let reading = ruler.reading(now);
        let full = reading.balance(reading.full_mark());
        if !ruler.is_inheritable() {
            return (reading.mark_of(full), false);
        }
        let mut balance = full;
        if (0..2).any(|which| gates.has(which, WindowMark::TURNED_AWAY)) {
            balance = balance.min(reading.balance(self.meters.overflow(limit).read().1));
        }
        let displaces_kin =
            |which| victim.is_some_and(|seat| seat.window == which && seat.standing == Standing::Live(limit));
        for which in (0..2).filter(|which| self.has_evicted(gates, *which, limit) || displaces_kin(*which)) {
            balance = balance.min(survey.inheritance(which, limit, &self.meters, now).unwrap_or(balance));
        }
        (reading.mark_of(balance), balance < full)
    }

    /// Takes over a slot, if nobody has charged or taken it since it was seen.
    fn take(&self, seat: &Seat<'_>, tag: Tag, mark: Mark, now: Moment) -> bool {
        if matches!(seat.standing, Standing::Full(_)) {
            // At most ten thousand times a second, so that threads that insert do not wait for one another here.
            if self.reclaimed_at() < now - CLOCK_ERROR_MAX {
                self.reclaimed_at.fetch_max(now.as_nanos(), Ordering::Relaxed);
            }
        }
        if !seat.slot.hold(seat.mark) {
            return false;
        }
        seat.slot.retag(tag);
        seat.slot.release(mark);
        true
    }

    fn note_taken(&self, seat: &Seat<'_>, gates: &mut Held<'_>) {
        match seat.standing {
            Standing::Free => self.counters.count(Event::TookFree),
            Standing::Full(_) => self.counters.count(Event::TookFull),
            Standing::Live(limit) => {
                gates.set(seat.window, WindowMark::evicted(self.meters.rule(limit)));
                self.counters.count(Event::Evicted);
            }
        }
    }

    fn deny_new(&self, survey: &Survey<'_>, open: [bool; 2], purpose: Purpose, now: Moment) -> Verdict {
        if purpose != Purpose::Look {
            self.counters.count(Event::DeniedNew);
        }
        Verdict::Deny {
            wait: Span::from_nanos(survey.nanos_to_vacancy(open, &self.meters, now)),
            remaining: Tokens::ZERO,
            denied: BucketSet::FIRST,
            cause: Cause::TableFull(BucketSet::FIRST),
        }
    }

    pub(super) fn reclaimed_at(&self) -> Moment {
        if mutant::is("old clock") {
            return Moment::default();
        }
        Moment::from_nanos(self.reclaimed_at.load(Ordering::Relaxed))
    }

    /// Notes that `buckets` were put in place by other means, none of them newer than `now`.
    pub(crate) fn note_revival(&self, buckets: usize, now: Moment) {
        self.counters.add(Event::TookFree, buckets as u64);
        self.reclaimed_at.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// Carries a bucket over to the limit of `ask`, unless it has gone or was carried over meanwhile: same balance, at most the
    /// new burst; or, if somebody waits for it, in debt for as long as it would have been. Gives no tokens.
    #[cold]
    #[inline(never)]
    pub(crate) fn relabel(&self, ask: &Ask, when: When<'_>) {
        let mut gates = self.table.gates.hold(ask.id.windows);
        let Some((slot, tag)) = self.table.find(ask.id) else { return };
        let Ok(mark) = slot.mark(tag) else { return };
        // The clock after the mark: at an earlier moment the balance would be smaller, but refill from then at the new rate.
        let now = when.again(self.reclaimed_at());
        let ruler = self.meters.ruler(ask.limit);
        let reading = ruler.reading(now);
        let mut carried = self.under_limit(mark, tag, &ruler, ask, now);
        let marked = [0, 1].map(|which| self.has_evicted(&gates, which, ask.limit));
        if marked != [false; 2] {
            // A client evicted from here inherits from the fullest of its limit when it returns: that must not be this one.
            let survey = Survey::of(&self.table, ask.id, &self.meters, now);
            for which in (0..2).filter(|which| marked[*which] && survey.has(*which, slot)) {
                if let Some(fullest) = survey.fullest(which, ask.limit, reading) {
                    carried = reading.emptier(carried, reading.mark_of(fullest));
                }
                self.bequeath(tag, mark, which, &survey, &mut gates, now);
            }
        }
        if slot.hold(mark) {
            slot.retag(Tag::new(ask.id.fingerprint, ask.limit));
            slot.release(carried);
            self.counters.count(Event::Relabelled);
        }
    }

    /// What the mark of a slot tagged `tag` is under the limit of `ask`, whose ruler this is. While somebody waits for the bucket,
    /// what was booked is covered no sooner than by the meter it was booked on.
    fn under_limit(&self, mark: Mark, tag: Tag, ruler: &Ruler, ask: &Ask, now: Moment) -> Mark {
        let old = match tag.limit() {
            Some(old) if old != ask.limit => self.meters.ruler(old),
            _ => return mark,
        };
        if self.awaited.may_be(ask.id) {
            ruler.carry_over_booked(mark, &old, now)
        } else {
            ruler.carry_over(mark, &old, now)
        }
    }
}

impl Likely<'_> {
    /// The check that nearly all are: the bucket is where it most likely is, nobody interferes, and it is admitted. What is
    /// left, or `None` for [`Store::charge`] to decide. The level is [`Store::quick_level`].
    #[expect(
        clippy::inline_always,
        reason = "a third of the time of a check is in calls and spills otherwise"
    )]
    #[inline(always)]
    pub(crate) fn charge(self, wish: &Wish, level: Option<Level>) -> Option<Tokens> {
        let level = level.filter(|level| !level.is_below(wish.cost))?;
        let tag = wish.tag();
        let slot = self.find(tag)?;
        let mark = slot.mark(tag).ok()?;
        match level.spend(mark, wish.cost) {
            Spend::Paid { mark: paid, remaining } if slot.swap(mark, paid) => Some(remaining),
            _ => None,
        }
    }
}

impl When<'_> {
    #[inline]
    pub(crate) fn moment(self) -> Moment {
        match self {
            When::Given(now) | When::Read(now, _) => now,
        }
    }

    /// The time now: what the caller gave, or the clock read again, which by another thread's clock may be `seen` already.
    pub(crate) fn again(self, seen: Moment) -> Moment {
        match self {
            When::Given(now) => now,
            When::Read(_, clock) => clock.now().max(seen),
        }
    }
}

/// A verdict over one bucket, which stood at `mark` before.
#[inline]
pub(crate) fn verdict_of(spend: Spend, ruler: &Ruler, mark: Mark, demand: Demand, now: Moment) -> Verdict {
    match spend {
        Spend::Paid { remaining, .. } => Verdict::Admit { remaining, delay: ruler.delay(mark, now) },
        Spend::Short { held, .. } => Verdict::Deny {
            wait: ruler.wait(mark, demand, now),
            remaining: held,
            denied: BucketSet::FIRST,
            cause: Cause::Exceeded,
        },
    }
}
