//! The three facts of a run: the first second, the first denial, the steady state.
//!
//! All counted from the verdicts. A steady state is "1 in n" only if every distance between admissions is n.
//! Does not know what the facts ought to be.

use tollgate::{BuildError, Moment, Span, Tokens};

use super::replay::{Replay, Request, Tally};
use super::scenario::Scenario;

/// What happened, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) first_second: Tally,
    pub(crate) first_denial: Option<FirstDenial>,
    /// `None` if nothing was denied or the run ends too soon to tell.
    pub(crate) steady: Option<Steady>,
}

/// How the bucket behaves once it is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steady {
    /// Every so many requests one is admitted, without exception.
    OneIn(u64),
    /// The distances differ; this is all that came after the first denial.
    Uneven(Tally),
}

/// The first request that was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FirstDenial {
    pub(crate) request: Request,
    /// What had flowed into the bucket by then.
    pub(crate) refilled: Tokens,
}

impl Facts {
    /// Plays the scenario once.
    pub(crate) fn of(scenario: &Scenario) -> Result<Facts, BuildError> {
        let one_second = Moment::default() + Span::from_secs(1);
        let (mut first_second, mut first_denial, mut tail) = (Tally::default(), None, Tail::default());
        for request in Replay::new(scenario)? {
            if request.at < one_second {
                first_second.extend([request]);
            }
            if first_denial.is_some() {
                tail.note(&request);
            } else if !request.verdict.is_admitted() {
                first_denial = Some(FirstDenial { request, refilled: refilled(scenario, &request) });
            }
        }
        Ok(Facts { first_second, first_denial, steady: tail.steady() })
    }
}

/// Everything before the first denial was admitted at one token each; what that and the balance exceed the burst by has
/// flowed in.
fn refilled(scenario: &Scenario, denied: &Request) -> Tokens {
    let spent = (denied.number - 1) * 1_000_000;
    let held = denied.verdict.remaining().unwrap_or_default().as_micros();
    Tokens::from_micros((spent + held).saturating_sub(scenario.limit.burst().as_micros()))
}

/// What came after the first denial.
#[derive(Debug, Default)]
struct Tail {
    all: Tally,
    last_admitted: Option<u64>,
    /// From one admission to the next, counted in requests.
    shortest: Option<u64>,
    longest: Option<u64>,
}

impl Tail {
    fn note(&mut self, request: &Request) {
        self.all.extend([*request]);
        if !request.verdict.is_admitted() {
            return;
        }
        if let Some(last) = self.last_admitted.replace(request.number) {
            let distance = request.number - last;
            self.shortest = Some(self.shortest.map_or(distance, |shortest| shortest.min(distance)));
            self.longest = self.longest.max(Some(distance));
        }
    }

    fn steady(&self) -> Option<Steady> {
        let (shortest, longest) = (self.shortest?, self.longest?);
        Some(if shortest == longest { Steady::OneIn(longest) } else { Steady::Uneven(self.all) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrivals::Arrivals;
    use super::*;
    use crate::decimal::Decimal;
    use tollgate::{Burst, Limit, Rate};

    fn facts(rate: u64, burst: u64, per_second: u64, seconds: u64) -> Facts {
        let whole = |digits| Decimal { digits, places: 0 };
        let scenario = Scenario {
            limit: Limit::new(Rate::per_second(rate), Burst::tokens(burst)).unwrap(),
            rate: whole(rate),
            burst: whole(burst),
            arrivals: Arrivals::PerSecond(whole(per_second)),
            length: Span::from_secs(seconds),
        };
        Facts::of(&scenario).unwrap()
    }

    #[test]
    fn the_worked_example_admits_59_then_denies_the_60th_then_admits_1_in_6() {
        let facts = facts(10, 50, 60, 5);
        assert_eq!(facts.first_second, Tally { requests: 60, admitted: 59 });
        let denial = facts.first_denial.unwrap();
        assert_eq!(denial.request.number, 60);
        assert_eq!(denial.refilled, Tokens::from_micros(9_833_333));
        assert_eq!(facts.steady, Some(Steady::OneIn(6)));
    }

    #[test]
    fn an_uneven_steady_state_is_not_called_one_in_n() {
        assert_eq!(facts(3, 2, 5, 10).steady, Some(Steady::Uneven(Tally { requests: 46, admitted: 28 })));
        assert_eq!(facts(1, 1, 2, 2).steady, None, "one admission after the first denial is too few to tell");
    }

    #[test]
    fn requests_at_the_rate_are_never_denied() {
        let facts = facts(7, 1, 7, 60);
        assert_eq!((facts.first_denial, facts.steady), (None, None));
    }
}
