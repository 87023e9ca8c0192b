//! Generated histories: random operations over several rules, keys and tiers, compared step by step with the reference.
//!
//! What the suite leaves to the store is not asked for: how a full bucket changes tier, and whether a check that is refused
//! for good or at fault makes it change tier. Time goes forwards.

mod any;

use tollgate_core::Algorithm;

use super::action::{Action, Answer};
use super::answer::Outcome;
use super::precision::Precision;
use super::reference::Reference;
use super::report::Verdict;
use super::stage::{Played, START, Stage};
use super::subject::{Breadth, Charge, ClockControl, Subject, Ticket};
use crate::seeds::Rng;
pub use any::{any_algorithm, any_limit};

/// Operations of one history.
pub const STEPS: usize = 300;

/// Runs the history of this seed.
pub(super) fn run(seed: u64, subject: &mut dyn Subject) -> Verdict {
    if subject.clock() == ClockControl::OfTheStore {
        return Verdict::Skipped;
    }
    let mut history = Writer {
        rng: Rng::with_seed(seed),
        reference: Reference::new(),
        limits: Vec::new(),
        changes: Vec::new(),
        precision: subject.precision(),
        tickets: 0,
        held: Vec::new(),
    };
    match history.play(&mut Stage::new(subject)) {
        Ok(()) => Verdict::Kept,
        Err(mismatch) => Verdict::Broken(mismatch),
    }
}

/// Makes up a history as it goes.
struct Writer {
    rng: Rng,
    reference: Reference,
    /// The limits of rules and tiers, by number.
    limits: Vec<Algorithm>,
    /// How often each was changed.
    changes: Vec<usize>,
    /// How finely the store tells time.
    precision: Precision,
    /// How many tickets were given.
    tickets: usize,
    /// Those that hold places.
    held: Vec<Ticket>,
}

impl Writer {
    fn play(&mut self, stage: &mut Stage<'_>) -> Played {
        self.declare(stage)?;
        for _ in 0..STEPS {
            let pause = self.any_pause();
            stage.pass(pause);
            if self.rng.u8(0..20) == 0 {
                self.change(stage)?;
                continue;
            }
            let action = self.any_action();
            if self.is_settled(&action, stage) {
                let expected = action.perform(&mut self.reference, stage.now);
                self.note(&action, &expected);
                stage.expect_answer(&action, &expected)?;
                if matches!(action, Action::Reset(_)) {
                    // A store need not tell what was charged just before a reset from what was charged just after it.
                    stage.tick_if_coarse();
                }
            }
        }
        Ok(())
    }

    fn declare(&mut self, stage: &mut Stage<'_>) -> Played {
        for rule in 0..self.rng.usize(1..=4) {
            let (name, limit) = (format!("rule-{rule}"), any_algorithm(&mut self.rng));
            let breadth = [Breadth::Client, Breadth::Group, Breadth::Everyone][rule % 3];
            let id = self.reference.rule(&name, breadth, limit, START);
            let declared = stage.shared_rule(&name, breadth, limit);
            stage.compare("rules are numbered as they are declared", &id, &declared)?;
            self.limits.push(limit);
            self.changes.push(0);
            let is_metered = matches!(limit, Algorithm::TokenBucket(_) | Algorithm::LeakyBucket(_));
            let has_tiers = is_metered || self.precision.has_tiers_of_windows;
            for tier in 0..if has_tiers { self.rng.usize(0..=2) } else { 0 } {
                let (name, limit) = (format!("tier-{tier}"), any::another(&mut self.rng, limit));
                let expected = self.reference.tier(id, &name, limit, START);
                let declared = stage.try_tier(id, &name, limit);
                stage.compare("so are tiers", &expected, &declared)?;
                self.limits.extend(expected.map(|_| limit));
                self.changes.extend(expected.map(|_| 0));
            }
        }
        Ok(())
    }

    /// Changes a limit, now and then to one that makes no sense.
    fn change(&mut self, stage: &mut Stage<'_>) -> Played {
        let rule = self.any_rule();
        let limit = any::another(&mut self.rng, self.limits[rule.0]);
        if self.changes[rule.0] >= self.precision.changes_max {
            return Ok(());
        }
        // A limit holds for as long as the store can tell.
        stage.tick_if_coarse();
        let changed = self.reference.set_limit(rule, limit, stage.now);
        if changed {
            self.limits[rule.0] = limit;
            self.changes[rule.0] += 1;
        }
        let found = stage.set_limit(rule, limit);
        stage.compare(&format!("change {rule:?} to {limit:?}"), &changed, &found)
    }

    /// Whether every store must answer this alike: no full bucket changes tier, and none changes tier for nothing.
    fn is_settled(&self, action: &Action, stage: &Stage<'_>) -> bool {
        if let Action::Leave(ticket) | Action::Settle(ticket, _) = action {
            return !self.reference.settles_a_full_bucket(*ticket, stage.now);
        }
        if !action.charges().iter().any(|charge| self.reference.changes_tier(charge)) {
            return true;
        }
        let full = |charge: &Charge| self.reference.moves_a_full_bucket(charge, stage.now);
        if action.charges().iter().any(full) {
            return false;
        }
        let is_refused = |outcome: &Outcome| matches!(outcome, Outcome::Never { .. } | Outcome::Invalid(_));
        match action.perform(&mut self.reference.clone(), stage.now) {
            Answer::Outcome(outcome) | Answer::Reserved(Err(outcome)) => !is_refused(&outcome),
            Answer::Each(outcomes) => !outcomes.iter().any(is_refused),
            _ => true,
        }
    }

    /// Remembers who holds places.
    fn note(&mut self, action: &Action, answer: &Answer) {
        match (action, answer) {
            (Action::Enter(ticket, _), Answer::Outcome(Outcome::Admit { .. })) => self.held.push(*ticket),
            (Action::Leave(ticket), _) => self.held.retain(|held| held != ticket),
            _ => {}
        }
    }
}
