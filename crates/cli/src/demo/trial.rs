//! Plays the same requests on one algorithm after the other, each on a fresh limiter in virtual time.

use tollgate::{BuildError, Cost, Limit, Moment, Span, Verdict};
use tollgate_sim::playground::{Booth, Passage, Passages};

use super::contender::Contender;

/// One algorithm's run. What counts is when a request *leaves*.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub(crate) contender: Contender,
    /// What was admitted, of one token each.
    pub(crate) passages: Passages,
}

impl Trial {
    /// Sends a request of one token at each of `arrivals`, which ascend.
    pub(crate) fn play(contender: Contender, arrivals: &[Moment]) -> Result<Trial, BuildError> {
        let booth = Booth::new(contender.limit)?;
        let pass = |&came: &Moment| match booth.check_at(Cost::ONE, came) {
            Verdict::Admit { delay, .. } => Some(Passage { came, leaves: came + delay, cost: Cost::ONE }),
            _ => None,
        };
        let passages = arrivals.iter().filter_map(pass).collect();
        Ok(Trial { contender, passages })
    }

    /// The worst `left − (burst + rate · d)` over all intervals, in micro-tokens; 0 if the promise was kept.
    pub(crate) fn over(&self, promise: Limit) -> u64 {
        self.passages.over(promise).as_micros()
    }
}

/// Spends all that is there at `spent_at`, asks for nothing for a while, and then sends requests at once until one is denied or
/// told to wait: how many leave that very moment, for each of the `idle` spans.
pub(crate) fn let_through_after(
    contender: &Contender,
    spent_at: Moment,
    idle: impl Iterator<Item = Span>,
) -> Result<Vec<u64>, BuildError> {
    let all = Cost::micros(contender.limit.full().as_micros());
    idle.map(|idle| {
        let booth = Booth::new(contender.limit)?;
        let _ = booth.check_at(all, spent_at);
        let check = || booth.check_at(Cost::ONE, spent_at + idle);
        let leaves_now = |verdict: &Verdict| matches!(verdict, Verdict::Admit { delay: Span::ZERO, .. });
        Ok(std::iter::repeat_with(check).take_while(leaves_now).count() as u64)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate::Rate;

    #[test]
    fn who_was_idle_is_let_through() {
        let contender = Contender::token_bucket(Rate::per_second(10), 20).unwrap();
        let idle = [0, 1, 2, 3].map(Span::from_secs).into_iter();
        assert_eq!(let_through_after(&contender, Moment::default(), idle).unwrap(), [0, 10, 20, 20]);
    }
}
