//! A place at work, given back when its holder is done.

use std::fmt;
use std::sync::Arc;

use tollgate_core::{CHARGES_MAX, Cost};

use crate::charged::Charged;
use crate::memory::store::When;
use crate::rule::{Charge, Rule};
use crate::shared::Shared;
use crate::{Key, Limiter, Verdict};

/// Places of [`crate::Concurrency`] limits, held until this is dropped or [`Guard::leave`] is called.
///
/// Whoever holds it longer than the timeout has lost its places: they are others' by then, and dropping the guard gives back
/// nothing. A guard that is leaked keeps its places until then.
#[must_use = "the places are given back as soon as the guard is dropped"]
pub struct Guard {
    shared: Arc<Shared>,
    charged: Charged,
    verdict: Verdict,
    has_left: bool,
}

/// What became of a guard's places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// They are free again.
    InTime,
    /// At least one had timed out and was somebody else's already, or had been reset.
    TooLate,
}

impl Guard {
    /// What the check was told: [`Verdict::Admit`], with what was left and, for a leaky bucket, how long to wait.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Gives the places back, as dropping the guard does, and says whether they were still its own.
    pub fn leave(mut self) -> Left {
        self.has_left = true;
        if self.charged.give_places_back(&self.shared) { Left::InTime } else { Left::TooLate }
    }

    /// Corrects what was charged besides places to its true cost, told by the position of each charge. To be called once.
    #[cfg(feature = "policy")]
    pub(crate) fn correct(&self, actual: impl Fn(usize) -> Cost) {
        self.charged.correct_tokens(&self.shared, actual);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.has_left {
            self.charged.give_places_back(&self.shared);
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("places", &self.charged.places().count()).finish_non_exhaustive()
    }
}

impl Rule {
    /// Takes a place of a [`crate::Concurrency`] limit, to be given back when the guard is dropped. Under any other limit it
    /// charges one token, and the guard gives back nothing.
    ///
    /// ```
    /// # use tollgate::*;
    /// # let limiter = Limiter::new(Limit::new(Rate::per_second(10), Burst::tokens(50))?);
    /// let reports = limiter.rule("reports", Concurrency::new(2, Span::from_secs(60))?)?;
    /// let (first, second) = (reports.enter("ann"), reports.enter("ann"));
    /// assert!(first.is_ok() && second.is_ok());
    /// assert!(reports.enter("ann").is_err(), "two are at work");
    /// drop(first);
    /// assert!(reports.enter("ann").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn enter(&self, key: impl Key) -> Result<Guard, Verdict> {
        Limiter { default: self.clone() }.enter_all(&[self.charge_n(key, Cost::ONE)])
    }
}

impl Limiter {
    /// Decides one check over several buckets, all or nothing, as [`Limiter::check_all`] does, and holds the places it takes.
    pub fn enter_all(&self, charges: &[Charge]) -> Result<Guard, Verdict> {
        let shared = Arc::clone(&self.default.shared);
        let wishes = self.accept_all(charges).map_err(Verdict::Invalid)?;
        let asks = wishes.map(|(wish, breadth)| (wish.ask(&shared.store.meters), breadth));
        let when = When::Read(shared.clock.now(), &shared.clock);
        let outcome = shared.store.charge_all_fully::<CHARGES_MAX>(asks, when);
        let verdict = outcome.verdict;
        if !verdict.is_admitted() {
            return Err(verdict);
        }
        Ok(Guard { charged: Charged::of(outcome), shared, verdict, has_left: false })
    }
}
