//! Sliding windows and places: lists of what was charged, and when.

use tollgate_core::{Concurrency, Moment, SlidingCounter, SlidingLog};

use super::law::{Law, Made, State};
use crate::models::CounterModel;

const MICROS_PER_PLACE: u64 = 1_000_000;
/// Most steps of a counter's quota.
const STEPS_MAX: u64 = 4_194_303;

/// Every charge counts for one window, exactly.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExactWindow(pub(super) SlidingLog);

impl ExactWindow {
    fn counts(&self, at: i128, now: Moment) -> bool {
        at + i128::from(self.0.window().as_nanos()) > i128::from(now.as_nanos())
    }
}

impl Law for ExactWindow {
    fn full(&self) -> i128 {
        i128::from(self.0.quota().as_micros())
    }

    fn fresh(&self, _now: Moment) -> State {
        State::default()
    }

    fn balance(&self, state: &State, now: Moment) -> i128 {
        let counted = state.noted.iter().filter(|(at, _)| self.counts(**at, now));
        self.full() - counted.map(|(_, micros)| i128::from(*micros)).sum::<i128>()
    }

    fn charge(&self, state: &mut State, cost: u64, now: Moment) -> i128 {
        let at = i128::from(now.as_nanos());
        *state.noted.entry(at).or_default() += cost;
        at
    }

    /// The youngest first.
    fn give(&self, state: &mut State, mut micros: u64, now: Moment) {
        for (_, charged) in state.noted.iter_mut().rev().filter(|(at, _)| self.counts(**at, now)) {
            let part = micros.min(*charged);
            *charged -= part;
            micros -= part;
        }
    }

    fn returnable(&self, _state: &State, _made: Made, micros: u64, _now: Moment) -> u64 {
        micros
    }

    fn give_back(&self, state: &mut State, made: Made, micros: u64, now: Moment) {
        if let Some(charged) = state.noted.get_mut(&made.noted).filter(|_| self.counts(made.noted, now)) {
            *charged = charged.saturating_sub(micros);
        }
    }
}

/// Charges of this window count, and those of the one before as if they had come evenly. In steps; costs are rounded up.
#[derive(Debug, Clone, Copy)]
pub(super) struct EstimatedWindow {
    quota: u64,
    window: i128,
    step: u64,
    /// A window begins here.
    birth: i128,
}

impl EstimatedWindow {
    pub(super) fn new(counter: SlidingCounter, now: Moment) -> EstimatedWindow {
        let quota = counter.quota().as_micros();
        let step = CounterModel::step_of(quota);
        let window = i128::from(counter.window().as_nanos());
        EstimatedWindow { quota, window, step, birth: i128::from(now.as_nanos()) }
    }

    /// Another quota in the same steps of the same windows, if it has a sensible number of them.
    pub(super) fn change(&self, counter: SlidingCounter) -> Option<EstimatedWindow> {
        let quota = counter.quota().as_micros();
        let fits = (1..=STEPS_MAX).contains(&(quota / self.step));
        let same = i128::from(counter.window().as_nanos()) == self.window;
        (fits && same).then_some(EstimatedWindow { quota, ..*self })
    }

    /// The number of the window at `now`, and how far into it that is. A bucket that a faster clock has charged is in the
    /// window of that clock, at its beginning.
    fn place(&self, state: &State, now: Moment) -> (i128, i128) {
        let since = i128::from(now.as_nanos()) - self.birth;
        let number = since.div_euclid(self.window);
        match state.noted.last_key_value() {
            Some((latest, _)) if *latest > number => (*latest, 0),
            _ => (number, since.rem_euclid(self.window)),
        }
    }

    fn steps(&self, micros: u64) -> u64 {
        micros.div_ceil(self.step)
    }
}

impl Law for EstimatedWindow {
    fn full(&self) -> i128 {
        i128::from(self.quota / self.step * self.step)
    }

    fn fresh(&self, _now: Moment) -> State {
        State::default()
    }

    fn balance(&self, state: &State, now: Moment) -> i128 {
        let (number, elapsed) = self.place(state, now);
        let of = |number| i128::from(state.noted.get(&number).copied().unwrap_or(0));
        let looked_back_on = of(number - 1) * (self.window - elapsed);
        // Rounded up.
        let used = (looked_back_on + self.window - 1) / self.window + of(number);
        self.full() - used * i128::from(self.step)
    }

    fn weight(&self, cost: u64) -> i128 {
        i128::from(self.steps(cost)) * i128::from(self.step)
    }

    fn charge(&self, state: &mut State, cost: u64, now: Moment) -> i128 {
        let (number, _) = self.place(state, now);
        *state.noted.entry(number).or_default() += self.steps(cost);
        number
    }

    /// Only what this window counts: the rest counts less and less anyway.
    fn give(&self, state: &mut State, micros: u64, now: Moment) {
        let (number, _) = self.place(state, now);
        if let Some(here) = state.noted.get_mut(&number) {
            *here = here.saturating_sub(micros / self.step);
        }
    }

    /// What was charged in the window that the bucket is in.
    fn returnable(&self, state: &State, made: Made, micros: u64, now: Moment) -> u64 {
        let (number, _) = self.place(state, now);
        if made.noted < number { 0 } else { micros.min(made.cost) }
    }
}

/// Places, each taken in a generation and free again after two more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub(super) concurrency: Concurrency,
    /// A generation begins here.
    birth: i128,
}

impl Places {
    pub(super) fn new(concurrency: Concurrency, now: Moment) -> Places {
        Places { concurrency, birth: i128::from(now.as_nanos()) }
    }

    /// Another number of places with the same timeout.
    pub(super) fn change(&self, concurrency: Concurrency) -> Option<Places> {
        (concurrency.timeout() == self.concurrency.timeout()).then_some(Places { concurrency, ..*self })
    }

    fn generation(&self, state: &State, now: Moment) -> i128 {
        let length = i128::from(self.concurrency.timeout().as_nanos() / 2);
        let number = (i128::from(now.as_nanos()) - self.birth).div_euclid(length);
        state.noted.last_key_value().map_or(number, |(latest, _)| number.max(*latest))
    }
}

impl Law for Places {
    fn full(&self) -> i128 {
        i128::from(self.concurrency.places()) * i128::from(MICROS_PER_PLACE)
    }

    fn fresh(&self, _now: Moment) -> State {
        State::default()
    }

    fn balance(&self, state: &State, now: Moment) -> i128 {
        let generation = self.generation(state, now);
        let taken: u64 = state.noted.range(generation - 2..).map(|(_, places)| places).sum();
        self.full() - i128::from(taken) * i128::from(MICROS_PER_PLACE)
    }

    fn weight(&self, cost: u64) -> i128 {
        i128::from(cost.div_ceil(MICROS_PER_PLACE)) * i128::from(MICROS_PER_PLACE)
    }

    fn charge(&self, state: &mut State, cost: u64, now: Moment) -> i128 {
        let generation = self.generation(state, now);
        *state.noted.entry(generation).or_default() += cost.div_ceil(MICROS_PER_PLACE);
        generation
    }

    /// Places are given back by their holders alone.
    fn give(&self, _state: &mut State, _micros: u64, _now: Moment) {}

    fn returnable(&self, _state: &State, _made: Made, _micros: u64, _now: Moment) -> u64 {
        0
    }

    /// In the same generation, which may be that of a faster clock.
    fn reset(&self, state: &mut State, now: Moment) {
        let generation = self.generation(state, now);
        *state = State::default();
        state.noted.insert(generation, 0);
    }

    fn give_back(&self, state: &mut State, made: Made, _micros: u64, now: Moment) {
        let oldest = self.generation(state, now) - 2;
        if let Some(places) = state.noted.get_mut(&made.noted).filter(|_| made.noted >= oldest) {
            *places = places.saturating_sub(made.cost.div_ceil(MICROS_PER_PLACE));
        }
    }
}
