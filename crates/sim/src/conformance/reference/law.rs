//! What every algorithm must say of itself; the rest follows from it, and is the same for all.

use std::collections::BTreeMap;

use tollgate_core::{Moment, Span};

/// What is known of one bucket. Each algorithm uses what it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    /// How far along its line the bucket has spent.
    pub(super) mark: i128,
    /// What was charged, by when: a moment, or the number of a window or generation.
    pub(super) noted: BTreeMap<i128, u64>,
}

/// What is asked of a bucket, in micro-tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) cost: u64,
    /// What must be left afterwards.
    pub(super) keep: u64,
}

/// A charge that was made: where it was noted, and how much it was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Made {
    pub(super) noted: i128,
    pub(super) cost: u64,
}

/// The promise of one limit. All amounts are micro-tokens.
pub(super) trait Law {
    /// The most that a bucket can ever hold.
    fn full(&self) -> i128;

    /// A bucket never seen before.
    fn fresh(&self, now: Moment) -> State;

    /// What the bucket holds; negative is debt.
    fn balance(&self, state: &State, now: Moment) -> i128;

    /// What a charge of `cost` takes out of the balance; what must stay is rounded likewise.
    fn weight(&self, cost: u64) -> i128 {
        i128::from(cost)
    }

    /// What the bucket must hold before anyone is charged to it.
    fn least(&self) -> i128 {
        0
    }

    /// Charges, whether the bucket holds that or not. Where the charge is noted.
    fn charge(&self, state: &mut State, cost: u64, now: Moment) -> i128;

    /// Gives, at most until the bucket is full.
    fn give(&self, state: &mut State, micros: u64, now: Moment);

    /// How much of a charge may be given back if `micros` of it are not wanted: so much that no more is there than if only
    /// the rest had been charged to the bucket.
    fn returnable(&self, state: &State, made: Made, micros: u64, now: Moment) -> u64;

    /// Gives back so much of a charge.
    fn give_back(&self, state: &mut State, _made: Made, micros: u64, now: Moment) {
        self.give(state, micros, now);
    }

    /// Fills the bucket, whatever was taken from it.
    fn reset(&self, state: &mut State, now: Moment) {
        *state = self.fresh(now);
    }

    /// How long whoever is charged now must wait before it goes ahead.
    fn delay(&self, _state: &State, _now: Moment) -> Span {
        Span::ZERO
    }

    /// How long until the demand would be admitted, if nobody else spends: by trying.
    fn wait(&self, state: &State, demand: Demand, now: Moment) -> Span {
        first(|span| self.admits(state, demand, now + span))
    }

    /// What of a balance a check may take: all but what must be kept, but nothing where there is less than the least that must be.
    fn usable(&self, balance: i128, keep: u64) -> i128 {
        if balance < self.least() { 0 } else { balance - self.weight(keep) }
    }

    /// Whether the bucket can pay.
    fn admits(&self, state: &State, demand: Demand, now: Moment) -> bool {
        let balance = self.balance(state, now);
        balance >= self.weight(demand.cost) + self.weight(demand.keep) && balance >= self.least()
    }

    /// Whether it never can.
    fn never_admits(&self, demand: Demand) -> bool {
        self.full() < self.weight(demand.cost) + self.weight(demand.keep)
    }
}

/// The shortest span for which `holds`, which once true stays true.
pub(super) fn first(holds: impl Fn(Span) -> bool) -> Span {
    let holds = |nanos| holds(Span::from_nanos(nanos));
    if holds(0) {
        return Span::ZERO;
    }
    let (mut too_short, mut enough) = (0, 1_u64);
    while !holds(enough) {
        if enough == u64::MAX {
            return Span::MAX;
        }
        (too_short, enough) = (enough, enough.saturating_mul(2));
    }
    while enough - too_short > 1 {
        let middle = too_short + (enough - too_short) / 2;
        if holds(middle) { enough = middle } else { too_short = middle }
    }
    Span::from_nanos(enough)
}

/// Algorithms whose buckets are marks on a line that grows.
pub(super) trait Line {
    /// The most that a bucket can ever hold.
    fn burst(&self) -> i128;

    /// The most that one can hold now.
    fn capacity(&self, now: Moment) -> i128;

    /// What a bucket at `mark` holds.
    fn balance_at(&self, mark: i128, now: Moment) -> i128;

    /// Where a bucket stands that holds so much.
    fn mark_of(&self, balance: i128, now: Moment) -> i128;

    /// What must be there before anyone is charged.
    fn threshold(&self) -> i128 {
        0
    }

    /// Whether others wait behind whoever was charged, and know when to leave.
    fn is_queue(&self) -> bool {
        false
    }

    /// How long until a bucket at `mark` holds so much.
    fn wait_at(&self, mark: i128, need: i128, now: Moment) -> Span {
        first(|span| self.balance_at(mark, now + span) >= need)
    }

    /// See [`Law::delay`].
    fn delay_at(&self, _mark: i128, _now: Moment) -> Span {
        Span::ZERO
    }
}

impl<L: Line> Law for L {
    fn full(&self) -> i128 {
        self.burst()
    }

    fn fresh(&self, now: Moment) -> State {
        State { mark: self.mark_of(self.capacity(now), now), ..State::default() }
    }

    fn balance(&self, state: &State, now: Moment) -> i128 {
        self.balance_at(state.mark, now)
    }

    fn least(&self) -> i128 {
        self.threshold()
    }

    fn charge(&self, state: &mut State, cost: u64, now: Moment) -> i128 {
        state.mark = self.mark_of(self.balance(state, now) - i128::from(cost), now);
        state.mark
    }

    fn give(&self, state: &mut State, micros: u64, now: Moment) {
        if !self.is_queue() {
            let balance = self.balance(state, now) + i128::from(micros);
            state.mark = self.mark_of(balance.min(self.capacity(now)), now);
        }
    }

    /// The last of a queue gives back; behind the others somebody stands.
    fn give_back(&self, state: &mut State, made: Made, micros: u64, now: Moment) {
        if !self.is_queue() || state.mark == made.noted {
            let balance = self.balance(state, now) + i128::from(micros);
            state.mark = self.mark_of(balance.min(self.capacity(now)), now);
        }
    }

    /// Had nobody else spent since, the bucket would hold so much; there is room for the rest alone. One that is further in debt
    /// than it can be was charged at a later time, when there was that much less room.
    fn returnable(&self, state: &State, made: Made, micros: u64, now: Moment) -> u64 {
        let later = (-self.balance(state, now) - self.burst()).max(0);
        let room = self.capacity(now) - self.balance_at(made.noted, now) - later;
        u64::try_from(room.clamp(0, i128::from(made.cost.min(micros)))).unwrap_or(0)
    }

    fn delay(&self, state: &State, now: Moment) -> Span {
        self.delay_at(state.mark, now)
    }

    fn wait(&self, state: &State, demand: Demand, now: Moment) -> Span {
        let need = i128::from(demand.cost) + i128::from(demand.keep);
        self.wait_at(state.mark, need.max(self.threshold()), now)
    }
}
