//! Lints: what a policy may say but hardly means, each with its cure.
//!
//! "Never" and "unreachable" are certain. Lints that ask for a second rule do not see one whose condition holds for
//! reasons that only a regular expression knows. Judges the policy alone: no clock, no traffic, no file. Rules that are
//! `off` are not judged, nor are standing orders: those are an operator's, for the moment.

mod auth_path;
mod bucket_size;
mod claims;
mod company;
mod cost_bounds;
mod fixed_window;
mod head_uncovered;
mod implicit_tier;
mod kind;
mod leases;
mod log_entries;
mod missing_key;
mod never_applies;
mod rollout;
mod rotation;
mod shared_methods;
mod slow_patterns;
mod spoofable_allow;
mod store_failure;
mod terms;
mod too_many_rules;
mod trusted_proxies;

#[cfg(test)]
mod built_by_hand;
#[cfg(test)]
mod known_policies;

use std::fmt;

use crate::{Mode, Policy, Rule, Source, Stop, TableRoom};
pub use kind::LintKind;
use terms::Terms;

/// Something that a policy may say but hardly means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// Which lint it is.
    pub kind: LintKind,
    /// The rule that it is about; `None`: the policy as a whole.
    pub rule: Option<Box<str>>,
    /// Whose word it is about.
    pub source: Source,
    /// The line of the file or the entry, from 1; 0 of a row or an order.
    pub line: u32,
    /// What is found, and what comes of it.
    pub message: String,
    /// What to write instead.
    pub cure: String,
}

/// `` line 12: rule `x`: message; cure [lint-name] ``, or with another source in place of the line: `entry "x", line 3`, `row 7`.
impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::File => write!(f, "line {}: ", self.line)?,
            entry @ Source::Entry(_) => write!(f, "{entry}, line {}: ", self.line)?,
            other => write!(f, "{other}: ")?,
        }
        if let Some(rule) = &self.rule {
            write!(f, "rule `{rule}`: ")?;
        }
        write!(f, "{}; {} [{}]", self.message, self.cure, self.kind)
    }
}

impl Policy {
    /// What this policy says but hardly means, by source and line. At most one lint of a kind for each rule. The time grows with the
    /// rules, and with the pairs of rules that could make up for each other.
    pub fn lints(&self) -> Vec<Lint> {
        self.lints_for(TableRoom::default())
    }

    /// [`Policy::lints`] for an instance whose tables have this room.
    pub fn lints_for(&self, room: TableRoom) -> Vec<Lint> {
        self.lints_until(room, &Stop::default()).unwrap_or_default()
    }

    /// [`Policy::lints_for`]; ends between two rules with `None` after [`Stop::request`].
    pub fn lints_until(&self, room: TableRoom, stop: &Stop) -> Option<Vec<Lint>> {
        let book = Book::of(self, room, stop);
        let mut found = Vec::new();
        for lint in EVERY {
            lint(&book, &mut found);
        }
        found.sort_by(|a, b| (&a.source, a.line, a.kind).cmp(&(&b.source, b.line, b.kind)));
        (!stop.is_requested()).then_some(found)
    }
}

/// A lint looks at the whole policy and adds what it finds.
type Look = fn(&Book<'_>, &mut Vec<Lint>);

/// Every lint.
const EVERY: [Look; 19] = [
    never_applies::look,
    bucket_size::look,
    cost_bounds::look,
    rotation::look,
    auth_path::look,
    rollout::look,
    shared_methods::look,
    implicit_tier::look,
    fixed_window::look,
    missing_key::look,
    claims::look,
    too_many_rules::look,
    trusted_proxies::look,
    spoofable_allow::look,
    leases::look,
    store_failure::look,
    log_entries::look,
    head_uncovered::look,
    slow_patterns::look,
];

/// A policy with what every lint wants to know of its rules.
struct Book<'p> {
    policy: &'p Policy,
    /// Room of the tables of an instance.
    room: TableRoom,
    /// The rules that are judged, in order.
    rules: Vec<Subject<'p>>,
    /// Of each group, the positions in `rules`, in order.
    groups: Vec<Vec<usize>>,
    stop: &'p Stop,
}

/// A rule that is judged.
struct Subject<'p> {
    rule: &'p Rule,
    /// Its condition, taken apart.
    terms: Terms<'p>,
}

impl<'p> Book<'p> {
    fn of(policy: &'p Policy, room: TableRoom, stop: &'p Stop) -> Book<'p> {
        let judged = policy.rules.iter().filter(|rule| rule.mode != Mode::Off && !rule.source.is_order());
        let rules: Vec<_> = judged.map(|rule| Subject { rule, terms: Terms::of(&rule.condition) }).collect();
        let mut groups = vec![Vec::new(); policy.groups.len()];
        for (at, subject) in rules.iter().enumerate() {
            if let Some(group) = subject.rule.group.and_then(|group| groups.get_mut(group)) {
                group.push(at);
            }
        }
        Book { policy, room, rules, groups, stop }
    }

    /// The rules that are judged, in order; none after a request to stop.
    fn rules(&self) -> impl Iterator<Item = &Subject<'p>> + Clone {
        self.rules.iter().take_while(|_| !self.stop.is_requested())
    }

    /// The rules of a group, in order.
    fn members(&self, group: usize) -> impl DoubleEndedIterator<Item = &Subject<'p>> {
        let positions = self.groups.get(group).map_or(&[][..], Vec::as_slice);
        positions.iter().filter_map(|at| self.rules.get(*at))
    }
}

impl Subject<'_> {
    /// A lint about this rule.
    fn lint(&self, kind: LintKind, message: impl Into<String>, cure: impl Into<String>) -> Lint {
        let rule = self.rule;
        Lint {
            kind,
            rule: Some(rule.name.clone()),
            source: rule.source.clone(),
            line: rule.line,
            message: message.into(),
            cure: cure.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judging_ends_after_a_request_to_stop() {
        let policy = built_by_hand::policy([built_by_hand::rule("x")]);
        let stop = Stop::default();
        assert!(policy.lints_until(TableRoom::default(), &stop).is_some());
        stop.request();
        assert_eq!(policy.lints_until(TableRoom::default(), &stop), None);
        assert_eq!(Book::of(&policy, TableRoom::default(), &stop).rules().count(), 0);
    }

    #[test]
    fn a_lint_reads_as_one_line_with_place_rule_cure_and_name() {
        let mut lint = Lint {
            kind: LintKind::BurstBelowRate,
            rule: Some("x".into()),
            source: Source::File,
            line: 12,
            message: "the burst is small".into(),
            cure: "write more".into(),
        };
        assert_eq!(lint.to_string(), "line 12: rule `x`: the burst is small; write more [burst-below-rate]");
        lint.rule = None;
        assert_eq!(lint.to_string(), "line 12: the burst is small; write more [burst-below-rate]");
        lint.source = Source::Entry("x".into());
        assert_eq!(
            lint.to_string(),
            "entry \"x\", line 12: the burst is small; write more [burst-below-rate]"
        );
        lint.source = Source::Row(7);
        assert_eq!(lint.to_string(), "row 7: the burst is small; write more [burst-below-rate]");
    }
}
