//! Places at work on a blackboard: a list of who holds how many, and since when.

use tollgate_core::{Moment, Span};

/// All holders that have not given back.
#[derive(Debug, Clone)]
pub struct PlacesModel {
    timeout: Span,
    holders: Vec<(Moment, u64)>,
}

impl PlacesModel {
    /// Nobody at work.
    pub fn new(timeout: Span) -> PlacesModel {
        PlacesModel { timeout, holders: Vec::new() }
    }

    /// Somebody takes places.
    pub fn take(&mut self, places: u64, now: Moment) {
        self.holders.push((now, places));
    }

    /// Whoever took places at `taken` gives them back.
    ///
    /// # Panics
    /// If nobody did.
    pub fn give_back(&mut self, places: u64, taken: Moment) {
        let position = self.holders.iter().position(|holder| *holder == (taken, places));
        self.holders.remove(position.expect("somebody took these places then"));
    }

    /// Places of holders no older than the timeout: these are safe.
    pub fn surely_held(&self, now: Moment) -> u64 {
        self.held_for(now, u128::from(self.timeout.as_nanos()))
    }

    /// Places of holders no older than one and a half times the timeout: others are free again.
    pub fn possibly_held(&self, now: Moment) -> u64 {
        // A place is free from that age on.
        self.held_for(now, u128::from(self.timeout.as_nanos()) * 3 / 2 - 1)
    }

    /// Forgets holders of more than twice the timeout.
    pub fn forget(&mut self, now: Moment) {
        let longest = u128::from(self.timeout.as_nanos()) * 2;
        self.holders.retain(|(taken, _)| u128::from(now.since(*taken).as_nanos()) <= longest);
    }

    fn held_for(&self, now: Moment, longest: u128) -> u64 {
        let young =
            self.holders.iter().filter(|(taken, _)| u128::from(now.since(*taken).as_nanos()) <= longest);
        young.map(|(_, places)| places).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_safe_for_the_timeout_and_free_after_half_as_much_again() {
        let at = Moment::from_nanos;
        let mut model = PlacesModel::new(Span::from_nanos(10));
        model.take(2, at(0));
        model.take(1, at(5));
        assert_eq!([model.surely_held(at(10)), model.surely_held(at(11))], [3, 1]);
        assert_eq!([model.possibly_held(at(14)), model.possibly_held(at(15))], [3, 1]);
        model.give_back(1, at(5));
        assert_eq!(model.possibly_held(at(14)), 2);
    }
}
