//! Which rules apply, without asking any bucket: what it costs must not grow with the rules that cannot.

use std::hint::black_box;

use tollgate::policy::{Facts, RuleBook};

use super::policies;
use crate::core_suite::subject::Subject;
use crate::problem::Problem;

/// A rule book of so many rules, two of which apply to each request.
pub(crate) struct Matching {
    book: RuleBook,
    targets: Vec<String>,
}

impl Matching {
    /// Compiles the book.
    pub(crate) fn new(rules: u32) -> Result<Self, Problem> {
        let targets = (1..rules).map(|rule| format!("/service{}/v1/items/{rule}", rule % 97));
        // The same number of targets for all, so that their own cache misses are the same.
        Ok(Self { book: RuleBook::new(policies::wide(rules)?), targets: targets.take(9).collect() })
    }
}

impl Subject for Matching {
    fn check_stream(&self, keys: &[String]) -> u64 {
        let targets = self.targets.iter().cycle();
        let checks = keys.iter().zip(targets).map(|(user, target)| {
            let mut hits = 0_u64;
            let facts = Facts { user: Some(user), host: "api.example.com", ..Facts::new("GET", target) };
            black_box(self.book.rule_on(&facts, 0, |_| hits += 1));
            u64::from(hits == 2)
        });
        checks.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Matching, Subject};

    #[test]
    fn two_rules_apply_however_many_there_are() {
        for rules in [10, 1_000] {
            let keys: Vec<String> = (0..20).map(|key| format!("user:{key}")).collect();
            assert_eq!(Matching::new(rules).unwrap().check_stream(&keys), 20);
        }
    }
}
