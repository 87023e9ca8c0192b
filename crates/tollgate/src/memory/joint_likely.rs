//! The check over several buckets that nearly all are: every bucket is in the table and can pay, and nobody interferes.
//!
//! The same steps in the same order as `joint.rs`, which decides all other checks. Nothing is written before it is known
//! that all can pay.

use tollgate_core::{Mark, Moment, Spend, Tokens};

use crate::Breadth;
use crate::memory::meters::MeterSource;
use crate::memory::slot::{Slot, mutant};
use crate::memory::store::Store;
use crate::memory::wish::Wish;

/// One bucket, and what the charge makes of it.
#[derive(Debug, Clone, Copy)]
struct Step<'t> {
    slot: &'t Slot,
    before: Mark,
    paid: Mark,
    breadth: Breadth,
}

impl<M: MeterSource> Store<M> {
    /// Charges all of at most `N` buckets and says what is left in the tightest, or leaves all as they are.
    #[inline]
    pub(crate) fn charge_all_likely<'w, const N: usize>(
        &self,
        wishes: impl IntoIterator<Item = (&'w Wish, Breadth)>,
        now: Moment,
    ) -> Option<Tokens> {
        let (mut steps, mut len, mut tightest) = ([None; N], 0, Tokens::from_micros(u64::MAX));
        for (wish, breadth) in wishes {
            let level = self.quick_level(wish, now).filter(|level| !level.is_below(wish.cost))?;
            let tag = wish.tag();
            let slot = self.table.likely(wish.id).find(tag).or_else(|| self.find_elsewhere(wish))?;
            let before = slot.mark(tag).ok()?;
            let spend = level.spend(before, wish.cost);
            let Spend::Paid { mark: paid, remaining } = spend else { return None };
            tightest = tightest.min(remaining);
            insert(&mut steps, len, Step { slot, before, paid, breadth })?;
            len += 1;
        }
        let (last, held) = steps[..len].split_last()?;
        let held_until = held.iter().flatten().position(|step| !step.slot.hold(step.before));
        let committed =
            held_until.is_none() && last.is_some_and(|step| step.slot.swap(step.before, step.paid));
        for step in held[..held_until.unwrap_or(held.len())].iter().flatten() {
            step.slot.release(if committed { step.paid } else { step.before });
        }
        committed.then_some(tightest)
    }

    /// The slot of a wish that is not where it most likely is. Of four buckets, one is elsewhere in every seventh check.
    #[cold]
    #[inline(never)]
    fn find_elsewhere(&self, wish: &Wish) -> Option<&Slot> {
        self.table.find(wish.id).filter(|(_, tag)| *tag == wish.tag()).map(|(slot, _)| slot)
    }
}

/// Puts a step in its place, narrow to broad and then by address, as `joint.rs` orders them; `None` if there is no room, or if
/// the bucket is there already.
#[inline]
fn insert<'t, const N: usize>(steps: &mut [Option<Step<'t>>; N], len: usize, step: Step<'t>) -> Option<()> {
    let place = |step: &Step<'_>| (step.breadth, std::ptr::from_ref(step.slot).addr());
    let mut at = len;
    while let Some(before) = at.checked_sub(1).and_then(|index| steps[index]) {
        if place(&before) <= place(&step) || mutant::is("unsorted") {
            break;
        }
        steps[at] = Some(before);
        at -= 1;
    }
    if at > 0 && steps[at - 1].is_some_and(|before| std::ptr::eq(before.slot, step.slot)) {
        return None;
    }
    *steps.get_mut(at)? = Some(step);
    Some(())
}
