//! The reference passes the suite that is built upon it, and broken stores do not.

use tollgate_core::{Limit, Moment};
use tollgate_sim::conformance::{Breadth, Charge, Outcome, Reference, RuleId, Subject, run_all};

#[test]
fn the_reference_conforms() {
    let report = run_all(Reference::new);
    assert!(report.conforms(), "{report}");
}

/// A store with one defect.
struct Broken {
    inner: Reference,
    defect: Defect,
}

#[derive(Clone, Copy, Debug)]
enum Defect {
    /// Several buckets are charged one after the other, also those before the one that denies.
    ChargesBeforeADenial,
    /// A denial is charged with a micro-token.
    ChargesDenials,
    /// The check is made a second late.
    RunsLate,
    /// Changes of a limit are ignored.
    IgnoresChanges,
    /// Every peek spends.
    PeeksSpend,
}

impl Subject for Broken {
    fn rule(&mut self, name: &str, breadth: Breadth, limit: Limit, now: Moment) -> RuleId {
        self.inner.rule(name, breadth, limit, now)
    }

    fn tier(&mut self, of: RuleId, name: &str, limit: Limit, now: Moment) -> RuleId {
        self.inner.tier(of, name, limit, now)
    }

    fn set_limit(&mut self, rule: RuleId, limit: Limit, now: Moment) {
        if !matches!(self.defect, Defect::IgnoresChanges) {
            self.inner.set_limit(rule, limit, now);
        }
    }

    fn check(&mut self, charge: &Charge, now: Moment) -> Outcome {
        let late = matches!(self.defect, Defect::RunsLate);
        let now = if late { now + tollgate_core::Span::from_secs(1) } else { now };
        let outcome = self.inner.check(charge, now);
        if matches!(self.defect, Defect::ChargesDenials) && !outcome.is_admitted() {
            self.inner.check(&Charge { cost: tollgate_core::Cost::micros(1), ..charge.clone() }, now);
        }
        outcome
    }

    fn check_all(&mut self, charges: &[Charge], now: Moment) -> Outcome {
        let outcome = self.inner.check_all(charges, now);
        if matches!(self.defect, Defect::ChargesBeforeADenial) && matches!(outcome, Outcome::Deny { .. }) {
            self.inner.check_each(charges, now);
        }
        outcome
    }

    fn check_each(&mut self, charges: &[Charge], now: Moment) -> Vec<Outcome> {
        self.inner.check_each(charges, now)
    }

    fn peek(&mut self, charge: &Charge, now: Moment) -> Outcome {
        match self.defect {
            Defect::PeeksSpend => self.inner.check(charge, now),
            _ => self.inner.peek(charge, now),
        }
    }
}

#[test]
fn a_store_with_a_defect_does_not_conform() {
    for defect in [
        Defect::ChargesBeforeADenial,
        Defect::ChargesDenials,
        Defect::RunsLate,
        Defect::IgnoresChanges,
        Defect::PeeksSpend,
    ] {
        let report = run_all(|| Broken { inner: Reference::new(), defect });
        assert!(!report.conforms(), "{defect:?} went unnoticed");
    }
}
