//! Which other rules certainly apply to the requests of a rule: a weak rule in good company is no weakness.

use super::terms::{Term, Terms};
use super::{Book, Subject};
use crate::{Action, KeySource, Missing, Mode};

impl<'p> Book<'p> {
    /// Whether every request that meets `terms` and `subject` is limited by another rule that is `enough`, too.
    ///
    /// A rule of a group may give way to another of it, so a group counts where all of its rules are enough. The group of
    /// `subject` itself never counts: of it only one rule applies.
    pub(super) fn is_limited_besides(
        &self,
        subject: &Subject<'p>,
        terms: &Terms<'_>,
        enough: impl Fn(&Subject<'p>) -> bool,
    ) -> bool {
        let counts =
            |other: &Subject<'p>| other.always_limits() && other.sees_claims_as(subject) && enough(other);
        let alone = self.rules.iter().filter(|other| other.rule.group.is_none() && !other.is(subject));
        if alone
            .filter(|other| counts(other))
            .any(|other| !other.terms.is_judged() || other.terms.covers(terms))
        {
            return true;
        }
        (0..self.groups.len()).filter(|group| subject.rule.group != Some(*group)).any(|group| {
            self.members(group).all(counts) && terms.is_covered_by(&terms_of(self.members(group)))
        })
    }
}

/// The terms of several rules.
pub(super) fn terms_of<'s, 'p: 's>(subjects: impl Iterator<Item = &'s Subject<'p>>) -> Vec<&'s Term<'p>> {
    subjects.flat_map(|subject| subject.terms.each()).collect()
}

impl Subject<'_> {
    pub(super) fn is(&self, other: &Subject<'_>) -> bool {
        std::ptr::eq(self.rule, other.rule)
    }

    /// Whether it is enforced for everybody.
    pub(super) fn is_enforced(&self) -> bool {
        self.rule.mode == Mode::Enforce && self.rule.rollout_percent >= 100
    }

    /// Whether it charges a bucket for every request that meets its condition.
    pub(super) fn always_limits(&self) -> bool {
        self.is_enforced() && matches!(self.rule.action, Action::Limit(_)) && !self.may_skip()
    }

    /// Whether it lets requests be that lack a part of its key.
    pub(super) fn may_skip(&self) -> bool {
        let is_limit = matches!(self.rule.action, Action::Limit(_));
        is_limit && self.rule.missing == Missing::Skip && self.rule.keys.iter().any(may_lack)
    }

    /// Whether its condition means the same of every token as it would in the place of `other`.
    pub(super) fn sees_claims_as(&self, other: &Subject<'_>) -> bool {
        self.rule.trusts_upstream_claims == other.rule.trusts_upstream_claims || !self.tests_tokens()
    }

    /// Whether its condition looks at something that may come from a token.
    fn tests_tokens(&self) -> bool {
        !self.terms.is_judged()
            || self.terms.each().iter().flat_map(Term::literals).any(|literal| {
                matches!(literal.atom.source(), Some(KeySource::Claim(_) | KeySource::User | KeySource::Plan))
            })
    }
}

/// Whether a client can send a request that has no such part.
pub(super) fn may_lack(part: &KeySource) -> bool {
    match part {
        KeySource::Header(_)
        | KeySource::Query(_)
        | KeySource::Cookie(_)
        | KeySource::Claim(_)
        | KeySource::Plan => true,
        KeySource::Address
        | KeySource::Prefix { .. }
        | KeySource::Path
        | KeySource::Method
        | KeySource::Host
        | KeySource::User
        | KeySource::Fingerprint
        | KeySource::Constant(_) => false,
    }
}
