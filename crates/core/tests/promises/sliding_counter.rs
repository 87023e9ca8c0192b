//! A10, sliding counter: exactly the documented estimate, rounded up.

use std::ops::Range;

use tollgate_core::{Burst, COUNTER_TOKENS_MAX, Demand, Mark, Moment, Ruler, SlidingCounter, Span, Start};
use tollgate_sim::models::CounterModel;
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::any_algorithm::{any_counter_quota, any_demand, any_start};
use super::bucket::{Answer, Bucket};

/// Steps of one case.
pub(crate) const STEPS: u64 = 100;

/// A counter, the model that is told of every charge, and the steps that both count in.
struct Beside {
    bucket: Bucket,
    model: CounterModel,
    /// Micro-tokens.
    step: u64,
    quota: u64,
    window: Span,
    now: Moment,
}

/// Estimate, verdict, what is left, waits, refunds and debts are those of the model; in one window of the grid never more than
/// the quota. On the way the clock is replaced and the quota raised and lowered.
pub(crate) fn equals_the_estimate(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (mut beside, changing) = (Beside::any(rng), rng.bool());
        for _ in 0..STEPS {
            beside.now = beside.now + any_pause(rng, beside.window);
            match rng.u8(0..24) {
                0 if changing => beside.change_quota(rng),
                1 if changing => beside.adjust(rng),
                2 => beside.store_and_revive(),
                _ => beside.check(any_demand(rng, beside.quota), changing),
            }
            beside.model.forget(beside.now);
        }
    });
}

/// A thread whose clock is up to a window behind reads the word of one whose clock is right, or the other way round: neither
/// sees more than the fresher of both would, and what one charges the other sees.
pub(crate) fn words_of_neighbouring_windows_give_nothing(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let mut beside = Beside::any(rng);
        let quota = u128::from(beside.quota / beside.step);
        // In both windows of the slow clock together no more than the estimate at the fast one allows.
        for _ in 0..STEPS {
            beside.now = beside.now + any_pause(rng, beside.window);
            let slow = beside.now - Span::from_nanos(rng.u64(0..=beside.window.as_nanos()));
            let slow = slow.max(beside.bucket_start());
            let reading = beside.bucket.ruler.reading(beside.now);
            let fast_sees = reading.balance(beside.bucket.mark);
            let mut other = beside.bucket;
            // The fast clock writes first: the word is of its window.
            let touched = reading.adjust(beside.bucket.mark, 0);
            other.mark = touched;
            assert!(other.balance(slow) <= fast_sees, "a slow clock sees more");
            let demand = any_demand(rng, beside.quota);
            if let (Answer::Admit { .. }, paid) = other.peek(demand, slow) {
                let steps = demand.cost.as_micros().div_ceil(beside.step);
                beside.model.charge(steps.cast_signed(), beside.now);
                beside.bucket.mark = paid;
                assert!(beside.model.used(beside.now) <= quota);
                assert_eq!(beside.used(), beside.model.used(beside.now), "what the slow one charged counts");
            }
        }
    });
}

impl Beside {
    fn any(rng: &mut Rng) -> Beside {
        let (quota, window) = (any_counter_quota(rng), Span::from_nanos(any_magnitude(rng, 1 << 62)));
        let start = Start { now: Moment::from_nanos(rng.u64(..) >> 3), ..any_start(rng) };
        let counter = SlidingCounter::new(quota, window).unwrap();
        let quota = u64::try_from(quota.as_micros()).unwrap();
        Beside {
            bucket: Bucket::new(counter, start),
            model: CounterModel::new(window, start.now),
            step: CounterModel::step_of(quota),
            quota,
            window,
            now: start.now,
        }
    }

    /// When the grid began.
    fn bucket_start(&self) -> Moment {
        self.model.start()
    }

    /// What counts by the bucket, in steps.
    fn used(&self) -> u128 {
        let steps =
            (self.quota / self.step).cast_signed() - self.bucket.balance(self.now) / self.step.cast_signed();
        u128::try_from(steps).unwrap()
    }

    fn check(&mut self, demand: Demand, changing: bool) {
        let (quota, used) = (u128::from(self.quota / self.step), self.model.used(self.now));
        assert_eq!(self.used(), used, "the estimate");
        let steps = |micros: u64| u128::from(micros.div_ceil(self.step));
        let (cost, keep) = (steps(demand.cost.as_micros()), steps(demand.keep.as_micros()));
        let step = u128::from(self.step);
        match self.bucket.check(demand, self.now) {
            Answer::Admit { remaining, delay } => {
                assert_eq!(u128::from(remaining), (quota - used - cost - keep) * step);
                assert_eq!(delay, Span::ZERO);
                self.model.charge(i64::try_from(cost).unwrap(), self.now);
                let charged = self.model.charged_in(self.model.place(self.now).0);
                assert!(changing || charged <= quota, "{charged} of {quota} in one window of the grid");
            }
            Answer::Deny { missing, held, wait } => {
                assert_eq!(u128::from(missing), (used + cost + keep - quota) * step);
                assert_eq!(u128::from(held), quota.saturating_sub(used + keep) * step);
                self.bucket.judge_wait(demand, wait, self.now);
            }
            Answer::Never => assert!(cost + keep > quota),
        }
    }

    fn adjust(&mut self, rng: &mut Rng) {
        let micros = any_magnitude(rng, self.quota);
        if rng.bool() {
            self.bucket.adjust(micros.cast_signed(), self.now);
            self.model.charge(-(micros / self.step).cast_signed(), self.now);
        } else if self.used() < 2 * u128::from(self.quota / self.step) {
            self.bucket.adjust(-micros.cast_signed(), self.now);
            self.model.charge(micros.div_ceil(self.step).cast_signed(), self.now);
        }
    }

    /// To at most eight times the quota that there was, and back: what was used stays used.
    fn change_quota(&mut self, rng: &mut Rng) {
        let quota = any_magnitude(rng, (8 * self.quota).min(COUNTER_TOKENS_MAX * 1_000_000));
        let counter = SlidingCounter::new(Burst::micros(quota), self.window).unwrap();
        let used = self.used();
        match self.bucket.ruler.change(counter.into(), self.now) {
            Some(ruler) => (self.bucket.ruler, self.quota) = (ruler, quota),
            None => assert!(!(1..=(1 << 22) - 1).contains(&(quota / self.step)), "steps fit"),
        }
        assert_eq!(self.used(), used);
    }

    /// Onto another clock and back, by way of words.
    fn store_and_revive(&mut self) {
        let elsewhere = Moment::from_nanos(self.now.as_nanos() / 3);
        let (ruler, before) = (self.bucket.ruler, self.bucket.balance(self.now));
        let there = Ruler::try_from_words(ruler.words()).unwrap().transplant(self.now, elsewhere, 0);
        let later = Span::from_nanos(self.window.as_nanos() / 2);
        let at = |ruler: &Ruler, now: Moment, mark: Mark| ruler.reading(now).balance(mark);
        assert_eq!(at(&there, elsewhere, self.bucket.mark), before);
        assert_eq!(at(&there, elsewhere + later, self.bucket.mark), self.bucket.balance(self.now + later));
        self.bucket.ruler = there.transplant(elsewhere, self.now, 0);
        assert_eq!(self.bucket.balance(self.now), before);
    }
}

/// None, any, or a good part of a window.
pub(crate) fn any_pause(rng: &mut Rng, window: Span) -> Span {
    let longest = window.as_nanos().min(u64::MAX >> 9);
    Span::from_nanos(match rng.u8(0..8) {
        0 | 1 => 0,
        2 => rng.u64(0..=longest),
        3 => longest * rng.u64(1..=2),
        _ => any_magnitude(rng, longest.div_ceil(8)),
    })
}
