//! What the checker found, in numbers and in words.

use std::fmt;

use tollgate_core::Moment;

/// The worst interval of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worst {
    /// Whose.
    pub key: u64,
    /// The interval begins here.
    pub start: Moment,
    /// And ends here; both belong to it.
    pub end: Moment,
    /// Charges less refunds that lie in it as a whole, in micro-tokens.
    pub admitted: i128,
    /// How much of that is above `burst + rate·d + 1 micro-token`, in micro-tokens, rounded up. Broken if above 0.
    pub excess: i128,
}

/// The worst interval of every key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Ascending by key; keys of which nothing was admitted are not in it.
    keys: Vec<Worst>,
}

impl Judgement {
    pub(super) fn new(keys: Vec<Worst>) -> Judgement {
        Judgement { keys }
    }

    /// Whether every key was kept within its limit in every interval.
    pub fn is_kept(&self) -> bool {
        self.worst().is_none_or(|worst| worst.excess <= 0)
    }

    /// The worst interval of all keys; `None` if nothing was admitted.
    pub fn worst(&self) -> Option<&Worst> {
        self.keys.iter().max_by_key(|worst| worst.excess)
    }

    /// The worst interval of every key, ascending by key.
    pub fn keys(&self) -> &[Worst] {
        &self.keys
    }

    /// The keys whose promise was broken.
    pub fn broken(&self) -> impl Iterator<Item = &Worst> {
        self.keys.iter().filter(|worst| worst.excess > 0)
    }

    /// For tests.
    ///
    /// # Panics
    /// If a promise was broken, with the worst interval in words.
    #[track_caller]
    pub fn assert_kept(&self) {
        assert!(self.is_kept(), "{self}");
    }
}

/// `over by 1.5 tokens: key 7 was admitted 12 tokens in 100ms, from 5000000 ns to 105000000 ns`.
impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.excess {
            1.. => write!(f, "over by {} tokens", Micros(self.excess))?,
            _ => write!(f, "kept with {} tokens to spare", Micros(-self.excess))?,
        }
        let (start, end) = (self.start.as_nanos(), self.end.as_nanos());
        write!(f, ": key {} was admitted {} tokens", self.key, Micros(self.admitted))?;
        write!(f, " in {}, from {start} ns to {end} ns", self.end.since(self.start))
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(worst) = self.worst() else { return write!(f, "nothing was admitted") };
        write!(f, "{worst} ({} of {} keys over)", self.broken().count(), self.keys.len())
    }
}

/// An amount of micro-tokens as a decimal number of tokens.
struct Micros(i128);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, rest) = (self.0.unsigned_abs() / 1_000_000, self.0.unsigned_abs() % 1_000_000);
        let decimals = if rest == 0 { String::new() } else { format!(".{rest:06}") };
        write!(f, "{sign}{whole}{}", decimals.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_promise_names_key_amount_and_interval() {
        let (start, end) = (Moment::from_nanos(5_000_000), Moment::from_nanos(105_000_000));
        let worst = Worst { key: 7, start, end, admitted: 12_000_000, excess: 1_500_000 };
        assert_eq!(
            Judgement::new(vec![worst]).to_string(),
            "over by 1.5 tokens: key 7 was admitted 12 tokens in 100ms, from 5000000 ns to 105000000 ns (1 of 1 keys over)"
        );
        assert_eq!(Judgement::new(Vec::new()).to_string(), "nothing was admitted");
    }
}
