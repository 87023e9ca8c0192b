//! The bytes that all regexes and globs together read of the worst request.
//!
//! An upper bound for requests with one form of the path and one value of each name; of others, regexes and globs read no
//! more than [`PATTERNS_READ_BYTES_MAX`] (see [`crate::condition::evaluation`]). Rules count together if they share the beginning of a path, whatever hosts, methods and clients they ask for.

use std::collections::{BTreeMap, BTreeSet};

use super::lead::Lead;
use crate::value::cookie;
use crate::{Condition, KeySource, Mode, PathPattern, Policy, ValueTest};

/// Most bytes that all regexes and globs together may read of one request: 1,000 times 1 KiB, about 2 ms.
pub const PATTERNS_READ_BYTES_MAX: usize = 1_000 * 1_024;

/// The requests for which regexes and globs read most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WorstRequest {
    /// First segments of their paths.
    beginning: Vec<String>,
    /// Bytes that are read, each time that a regex or glob reads one.
    pub(crate) bytes: usize,
    /// Positions of the rules whose regexes and globs are met, in order, with the bytes of each.
    pub(crate) rules: Vec<(usize, usize)>,
}

impl WorstRequest {
    /// Where these requests go, for messages: `below /api`.
    pub(crate) fn place(&self) -> String {
        format!("below `/{}`", self.beginning.join("/"))
    }
}

impl Policy {
    /// Returns the requests for which regexes and globs read most. Rules that are off, and those about one client, do not count.
    pub(crate) fn worst_request(&self) -> WorstRequest {
        let rules = self.rules.iter().enumerate().filter(|(_, rule)| rule.mode != Mode::Off);
        let rules = rules.map(|(at, rule)| (Some(at), &rule.condition));
        let switches = self.kill_switches.iter().map(|switch| (None, &switch.condition));
        let mut by_beginning: BTreeMap<Vec<String>, Vec<(Option<usize>, usize)>> = BTreeMap::new();
        for (position, condition) in switches.chain(rules) {
            let bytes = bytes_read(condition);
            if bytes > 0 {
                for beginning in beginnings(condition) {
                    by_beginning.entry(beginning).or_default().push((position, bytes));
                }
            }
        }
        let own = |met: &Vec<(Option<usize>, usize)>| {
            met.iter().fold(0_usize, |sum, one| sum.saturating_add(one.1))
        };
        let own: BTreeMap<&[String], usize> =
            by_beginning.iter().map(|(beginning, met)| (beginning.as_slice(), own(met))).collect();
        let total = |beginning: &[String]| {
            let above = (0..=beginning.len()).filter_map(|len| own.get(beginning.get(..len)?));
            above.fold(0_usize, |sum, bytes| sum.saturating_add(*bytes))
        };
        let Some((bytes, beginning)) = own.keys().map(|beginning| (total(beginning), *beginning)).max()
        else {
            return WorstRequest::default();
        };
        let above = (0..=beginning.len()).filter_map(|len| by_beginning.get(beginning.get(..len)?));
        let met = above.flatten().filter_map(|(position, bytes)| Some(((*position)?, *bytes)));
        let mut rules: Vec<_> = met.collect();
        rules.sort_unstable();
        WorstRequest { beginning: beginning.to_vec(), bytes, rules }
    }
}

/// The bytes that the regexes and globs of a condition read at most.
fn bytes_read(condition: &Condition) -> usize {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().map(bytes_read).fold(0, usize::saturating_add)
        }
        Condition::Not(inner) => bytes_read(inner),
        Condition::Path(test) => match &test.pattern {
            PathPattern::Glob { regex, .. } => regex.bytes_read_max(),
            PathPattern::Exact(_) | PathPattern::Prefix(_) | PathPattern::Template(_) => 0,
        },
        Condition::Value(KeySource::Cookie(_), ValueTest::Matches(regex)) => {
            cookie::READINGS_MAX * regex.bytes_read_max()
        }
        Condition::Value(_, ValueTest::Matches(regex)) => regex.bytes_read_max(),
        Condition::Always
        | Condition::Method(_)
        | Condition::Host(_)
        | Condition::Value(..)
        | Condition::Client(_) => 0,
    }
}

/// The first segments, in lower case, of the paths for which the index considers a condition; none if it is about one client.
fn beginnings(condition: &Condition) -> BTreeSet<Vec<String>> {
    let lead = Lead::of(condition);
    if lead.client.is_some() {
        return BTreeSet::new();
    }
    let Some(paths) = lead.paths else { return BTreeSet::from([Vec::new()]) };
    let literal = |path: &super::lead::PathLead<'_>| {
        path.segments.iter().map_while(|segment| segment.map(str::to_ascii_lowercase)).collect()
    };
    let all: BTreeSet<Vec<String>> = paths.iter().map(literal).collect();
    // What lies below another beginning is considered there already.
    let is_below = |one: &Vec<String>| (0..one.len()).any(|len| all.contains(&one[..len]));
    all.iter().filter(|one| !is_below(one)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use crate::Policy;

    fn worst(rules: &str) -> (usize, String) {
        let worst = Policy::parse("p.yaml", &format!("rules: [{rules}]")).unwrap().worst_request();
        (worst.bytes, worst.place())
    }

    #[test]
    fn rules_below_one_path_count_together() {
        let rule = |name: &str, path: &str, regex: &str| {
            format!(
                "{{name: {name}, action: block, path: {path}, match: {{'header:x': {{regex: '{regex}'}}}}}}, "
            )
        };
        let a = rule("a", "/api/*", "bot");
        let b = rule("b", "/API/users", "spider");
        let c = rule("c", "/other", "crawl");
        let everywhere = "{name: d, action: block, match: {'header:x': {regex: wget}}}, ";
        assert_eq!(
            worst(&[&a, &b, &c].map(String::as_str).concat()),
            (2 * 1_024, "below `/api/users`".to_owned())
        );
        assert_eq!(worst(&(everywhere.to_owned() + &a + &b)).0, 3 * 1_024);
        assert_eq!(worst("{name: e, scope: ip, rate: 1/s, burst: 1}").0, 0);
    }

    #[test]
    fn a_request_that_may_meet_too_many_regexes_refuses_the_policy() {
        let tests = |count: usize| {
            let tests: Vec<_> = (0..count).map(|at| format!("{{'header:x': {{regex: 'x{at}'}}}}")).collect();
            format!("{{name: a, action: block, match: {{any: [{}]}}}}", tests.join(", "))
        };
        assert!(Policy::parse("p.yaml", &tests(1_000)).is_ok());
        let refused = Policy::parse("p.yaml", &tests(1_001)).unwrap_err().to_string();
        assert!(
            refused.contains(
                "from `a` on line 1 to `a` on line 1 read up to 1025024 bytes of one request below `/`"
            ),
            "{refused}"
        );
    }
}
