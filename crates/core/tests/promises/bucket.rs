//! One bucket of any algorithm whose state is a word.

use tollgate_core::{Algorithm, Demand, Mark, Moment, Ruler, Span, Spend, Start};

/// A ruler, and the word of one bucket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    pub(crate) ruler: Ruler,
    pub(crate) mark: Mark,
}

/// What a check is told. Amounts in micro-tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Admit { remaining: u64, delay: Span },
    Deny { missing: u64, held: u64, wait: Span },
    Never,
}

impl Bucket {
    /// A full one.
    pub(crate) fn new(algorithm: impl Into<Algorithm>, start: Start) -> Bucket {
        let ruler = Ruler::new(algorithm.into(), start);
        Bucket { ruler, mark: ruler.reading(start.now).full_mark() }
    }

    /// What a check would be told, and the word it would leave.
    pub(crate) fn peek(&self, demand: Demand, now: Moment) -> (Answer, Mark) {
        if self.ruler.never_admits(demand) {
            return (Answer::Never, self.mark);
        }
        match self.ruler.reading(now).spend(self.mark, demand) {
            Spend::Paid { mark, remaining } => {
                let delay = self.ruler.delay(self.mark, now);
                (Answer::Admit { remaining: remaining.as_micros(), delay }, mark)
            }
            Spend::Short { missing, held } => {
                let wait = self.ruler.wait(self.mark, demand, now);
                (Answer::Deny { missing, held: held.as_micros(), wait }, self.mark)
            }
        }
    }

    /// Charges if it is admitted.
    pub(crate) fn check(&mut self, demand: Demand, now: Moment) -> Answer {
        let (answer, mark) = self.peek(demand, now);
        self.mark = mark;
        answer
    }

    pub(crate) fn admits(&self, demand: Demand, now: Moment) -> bool {
        matches!(self.peek(demand, now).0, Answer::Admit { .. })
    }

    /// Micro-tokens.
    pub(crate) fn balance(&self, now: Moment) -> i64 {
        self.ruler.reading(now).balance(self.mark)
    }

    pub(crate) fn full(&self) -> u64 {
        self.ruler.full().as_micros()
    }

    pub(crate) fn adjust(&mut self, micros: i64, now: Moment) {
        self.mark = self.ruler.reading(now).adjust(self.mark, micros);
    }

    /// A6: a nanosecond before the wait is over the demand is denied, then it is admitted.
    pub(crate) fn judge_wait(&self, demand: Demand, wait: Span, now: Moment) {
        if (now + wait).as_nanos() == u64::MAX {
            return; // after the end of time
        }
        assert!(
            wait > Span::ZERO && self.admits(demand, now + wait),
            "still denied after {wait}: {demand:?}"
        );
        assert!(!self.admits(demand, now + wait - Span::from_nanos(1)), "admitted before {wait}: {demand:?}");
    }
}
