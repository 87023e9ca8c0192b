//! Who may ask the store: a breaker, and one line in the log for an outage and for its end ([`Outage`]). In Cluster one for each node, so that the loss of one does not
//! keep anybody from asking the others.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_core::{Breaker, BreakerChange, BreakerState, Moment, Pass, Span};

use super::declaring::Declaring;
use super::outage::Outage;
use crate::{AskError, LinkError};
use tollgate::policy::StoreSettings;

/// Breakers of one ledger, at most: nodes beyond share one with another.
const PLACES: usize = 64;

/// For how long a breaker says something that nobody has asked for.
const LATELY: Span = Span::from_secs(60);

/// The breakers of one ledger.
#[derive(Debug)]
pub(super) struct Gate {
    breakers: [Mutex<Breaker>; PLACES],
    /// When each was last asked for, in nanoseconds of the node's clock.
    asked: [AtomicU64; PLACES],
    /// Nanoseconds without any reply after which a node counts as unreachable.
    away_after: AtomicU64,
    outage: Arc<Outage>,
}

/// Which node is asked: its number in Cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(usize);

/// Leave to ask a node once.
#[derive(Debug)]
#[must_use = "tell the gate what came of it"]
pub(super) struct Leave {
    place: Place,
    pass: Pass,
}

impl Place {
    /// The one server, or whatever node of a cluster: for whoever asks several for nobody in particular.
    pub(super) const ANY: Place = Place(0);

    /// That of the node with this number in a cluster; of one that is not known, [`Place::ANY`].
    pub(super) fn of_node(number: Option<usize>) -> Place {
        number.map_or(Place::ANY, |number| Place(1 + number % (PLACES - 1)))
    }
}

impl Default for Gate {
    fn default() -> Gate {
        let breakers = std::array::from_fn(|_| Mutex::default());
        let asked = std::array::from_fn(|_| AtomicU64::new(0));
        let away_after = AtomicU64::new(StoreSettings::default().away_after.as_nanos());
        Gate { breakers, asked, away_after, outage: Arc::default() }
    }
}

impl Gate {
    /// What is told of outages, by whoever else notices them.
    pub(super) fn outage(&self) -> Arc<Outage> {
        Arc::clone(&self.outage)
    }

    /// Leave to ask wherever it may be.
    pub(super) fn allow(&self, now: Moment) -> Option<Leave> {
        self.allow_at(Place::ANY, now)
    }

    /// Leave to ask one node.
    pub(super) fn allow_at(&self, place: Place, now: Moment) -> Option<Leave> {
        self.asked[place.0 % PLACES].store(now.as_nanos(), Ordering::Relaxed);
        let pass = self.lock(place).allow(now)?;
        Some(Leave { place, pass })
    }

    /// Whether everybody may ask a node.
    pub(super) fn is_closed(&self, place: Place) -> bool {
        self.lock(place).state() == BreakerState::Closed
    }

    /// The store answered. When it is back, it may be another one, or empty: limits are declared anew.
    pub(super) fn succeeded(&self, leave: Leave, now: Moment, declaring: &Declaring) {
        if let Some(BreakerChange::Closed { after }) = self.lock(leave.place).succeeded(leave.pass, now) {
            let after_ms = after.as_nanos() / 1_000_000;
            self.outage.answers(leave.place.0, after_ms);
            declaring.wake_all();
        }
    }

    /// There will be no reply, or the store replied that it cannot.
    pub(super) fn failed(&self, leave: Leave, now: Moment, error: &AskError) {
        let away_after = self.away_after();
        if let Some(BreakerChange::Opened) = self.lock(leave.place).failed(leave.pass, now, away_after) {
            self.outage.is_silent(leave.place.0, error, now);
        }
    }

    /// A reply is overdue, and may still come: then the leave is told of it.
    pub(super) fn overdue(&self, leave: &Leave, now: Moment) {
        let away_after = self.away_after();
        if let Some(BreakerChange::Opened) = self.lock(leave.place).overdue(&leave.pass, now, away_after) {
            self.outage.is_silent(leave.place.0, &LinkError::TimedOut, now);
        }
    }

    /// Sets the time without any reply after which a node counts as unreachable.
    pub(super) fn set_away_after(&self, away_after: Span) {
        self.away_after.store(away_after.as_nanos(), Ordering::Relaxed);
    }

    fn away_after(&self) -> Span {
        Span::from_nanos(self.away_after.load(Ordering::Relaxed))
    }

    /// That of the node which is asked least, of those that anybody wanted to ask within [`LATELY`]: nobody finds out that a node is back which
    /// nobody asks.
    pub(super) fn state(&self, now: Moment) -> BreakerState {
        let since = now.as_nanos().saturating_sub(LATELY.as_nanos());
        let lately = self.breakers.iter().zip(&self.asked);
        let lately = lately.filter(|(_, asked)| asked.load(Ordering::Relaxed) >= since);
        let states = lately.map(|(breaker, _)| locked(breaker).state());
        let rank = |state: &BreakerState| match state {
            BreakerState::Closed => 0,
            BreakerState::HalfOpen => 1,
            BreakerState::Open => 2,
        };
        states.max_by_key(rank).unwrap_or(BreakerState::Closed)
    }

    fn lock(&self, place: Place) -> MutexGuard<'_, Breaker> {
        locked(&self.breakers[place.0 % PLACES])
    }
}

fn locked(breaker: &Mutex<Breaker>) -> MutexGuard<'_, Breaker> {
    breaker.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_of_one_node_keeps_nobody_from_asking_another() {
        let (gate, now) = (Gate::default(), Moment::default());
        let [lost, other] = [0, 1].map(|number| Place::of_node(Some(number)));
        gate.set_away_after(Span::ZERO);
        gate.failed(gate.allow_at(lost, now).unwrap(), now, &LinkError::Lost.into());
        assert!(gate.allow_at(lost, now).is_none());
        assert!(gate.allow_at(other, now).is_some() && gate.allow(now).is_some());
        assert_eq!(gate.state(now), BreakerState::Open, "the worst is told");
        let later = now + LATELY + LATELY;
        assert_eq!(gate.state(later), BreakerState::Closed, "nobody knows any more");
    }
}
