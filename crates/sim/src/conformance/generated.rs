//! Generated histories: random operations over several rules, keys and tiers, compared step by step with the reference.
//!
//! What the suite leaves to the store is not asked for: how a full bucket changes tier, and whether a check that is refused
//! for good or at fault makes it change tier. Time goes forwards.

use tollgate_core::{Burst, Cost, Limit, Rate, Span};

use super::reference::Reference;
use super::report::Verdict;
use super::stage::{Played, START, Stage};
use super::subject::{Breadth, Charge, ClockControl, Key, Outcome, RuleId, Subject};
use crate::seeds::{Rng, any_magnitude};

/// Operations of one history.
pub const STEPS: usize = 300;

/// Runs the history of this seed.
pub(super) fn run(seed: u64, subject: &mut dyn Subject) -> Verdict {
    if subject.clock() == ClockControl::OfTheStore {
        return Verdict::Skipped;
    }
    let mut history = Writer { rng: Rng::with_seed(seed), reference: Reference::new(), limits: Vec::new() };
    match history.play(&mut Stage::new(subject)) {
        Ok(()) => Verdict::Kept,
        Err(mismatch) => Verdict::Broken(mismatch),
    }
}

/// A limit that a short history can exhaust and refill: to 10^6 per second, periods to 20 s, bursts to 100 tokens.
pub fn any_limit(rng: &mut Rng) -> Limit {
    loop {
        let tokens = if rng.u8(0..4) == 0 { any_magnitude(rng, 1_000_000) } else { rng.u64(1..=50) };
        let burst = if rng.bool() { rng.u64(1..=20) * 1_000_000 } else { any_magnitude(rng, 100_000_000) };
        let rate = Rate::new(tokens, Span::from_secs(rng.u64(1..=20)));
        if let Ok(limit) = Limit::new(rate, Burst::micros(burst)) {
            return limit;
        }
    }
}

/// Makes up a history as it goes.
struct Writer {
    rng: Rng,
    reference: Reference,
    /// The limits of rules and tiers, by number.
    limits: Vec<Limit>,
}

impl Writer {
    fn play(&mut self, stage: &mut Stage<'_>) -> Played {
        self.declare(stage);
        for _ in 0..STEPS {
            let pause = self.any_pause();
            stage.pass(pause);
            match self.rng.u8(0..20) {
                0 => {
                    let (rule, limit) = (self.any_rule(), any_limit(&mut self.rng));
                    self.limits[rule.0] = limit;
                    self.reference.set_limit(rule, limit, stage.now);
                    stage.set_limit(rule, limit);
                }
                1..=2 => {
                    let charge = self.any_charge();
                    let expected = self.reference.peek(&charge, stage.now);
                    if !self.reference.moves_a_full_bucket(&charge, stage.now) {
                        stage.expect_peek(&charge, expected)?;
                    }
                }
                3..=5 => self.batch(stage)?,
                6..=11 => self.joint(stage)?,
                _ => {
                    let charge = self.any_charge();
                    if self.is_settled(std::slice::from_ref(&charge), stage) {
                        let expected = self.reference.check(&charge, stage.now);
                        stage.expect(&charge, expected)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn declare(&mut self, stage: &mut Stage<'_>) {
        for rule in 0..self.rng.usize(1..=3) {
            let (name, limit) = (format!("rule-{rule}"), any_limit(&mut self.rng));
            let breadth = [Breadth::Client, Breadth::Group, Breadth::Everyone][rule];
            let id = self.reference.rule(&name, breadth, limit, START);
            assert_eq!(
                stage.shared_rule(&name, breadth, limit),
                id,
                "rules are numbered as they are declared"
            );
            self.limits.push(limit);
            for tier in 0..self.rng.usize(0..=2) {
                let (name, limit) = (format!("tier-{tier}"), any_limit(&mut self.rng));
                let expected = self.reference.tier(id, &name, limit, START);
                assert_eq!(stage.tier(id, &name, limit), expected, "so are tiers");
                self.limits.push(limit);
            }
        }
    }

    fn batch(&mut self, stage: &mut Stage<'_>) -> Played {
        let charges = self.any_charges(24);
        if !charges.iter().all(|charge| self.is_settled(std::slice::from_ref(charge), stage)) {
            return Ok(());
        }
        let expected = self.reference.check_each(&charges, stage.now);
        stage.expect_each(&charges, &expected)
    }

    fn joint(&mut self, stage: &mut Stage<'_>) -> Played {
        let charges = self.any_charges(6);
        if !self.is_settled(&charges, stage) {
            return Ok(());
        }
        let expected = self.reference.check_all(&charges, stage.now);
        stage.expect_all(&charges, expected)
    }

    /// Whether every store must answer this alike: no full bucket changes tier, and none changes tier for nothing.
    fn is_settled(&self, charges: &[Charge], stage: &Stage<'_>) -> bool {
        if !charges.iter().any(|charge| self.reference.changes_tier(charge)) {
            return true;
        }
        let outcome = self.reference.clone().check_all(charges, stage.now);
        let refused = matches!(outcome, Outcome::Never { .. } | Outcome::Invalid(_));
        let full = charges.iter().any(|charge| self.reference.moves_a_full_bucket(charge, stage.now));
        !refused && !full
    }

    fn any_pause(&mut self) -> Span {
        let rule = self.any_rule();
        let limit = self.limits[rule.0];
        Span::from_nanos(match self.rng.u8(0..4) {
            0 => 0,
            1 => any_magnitude(&mut self.rng, limit.time_to_full().as_nanos()),
            _ => self.rng.u64(0..=limit.time_to_full().as_nanos() / 4),
        })
    }

    fn any_rule(&mut self) -> RuleId {
        RuleId(self.rng.usize(0..self.limits.len()))
    }

    /// Up to `most` charges, no two of which want one bucket under two tiers.
    fn any_charges(&mut self, most: usize) -> Vec<Charge> {
        let mut charges: Vec<Charge> = Vec::new();
        for _ in 0..self.rng.usize(0..=most) {
            let charge = self.any_charge();
            if !charges.iter().any(|other| self.reference.disagree(other, &charge)) {
                charges.push(charge);
            }
        }
        charges
    }

    fn any_charge(&mut self) -> Charge {
        let rule = self.any_rule();
        let key = match self.rng.u8(0..40) {
            0 => Key::from(""),
            1 => Key::Bytes(vec![b'x'; self.rng.usize(510..=514)]),
            2..=9 => Key::Number(self.rng.u64(0..4)),
            _ => Key::Bytes(vec![b'a' + self.rng.u8(0..4)]),
        };
        let burst = self.limits[rule.0].burst().as_micros();
        let cost = match self.rng.u8(0..40) {
            0 => 0,
            1 => burst + 1,
            2 => u64::MAX,
            3..=9 => burst,
            10..=24 => self.rng.u64(1..=burst.div_ceil(2)),
            _ => any_magnitude(&mut self.rng, burst),
        };
        Charge { rule, key, cost: Cost::micros(cost) }
    }
}
