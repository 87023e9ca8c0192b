//! Which other rules certainly apply to the requests of a rule: a weak rule in good company is no weakness.

use super::terms::{Term, Terms};
use super::{Book, Subject};
use crate::{Action, KeySource, Missing, Mode};

/// The rules that make up for a weak one, chosen once. A weak one is never among them, nor is its group.
pub(super) struct Company<'b, 'p> {
    /// Those that stand for themselves.
    alone: Vec<&'b Subject<'p>>,
    /// The groups of which every rule will do: a rule of a group may give way to any other of it.
    groups: Vec<Vec<&'b Subject<'p>>>,
}

impl<'p> Book<'p> {
    /// The rules that limit whatever meets their condition, and are `enough`.
    pub(super) fn company(&self, enough: impl Fn(&Subject<'p>) -> bool) -> Company<'_, 'p> {
        let counts = |subject: &Subject<'p>| subject.always_limits() && enough(subject);
        let alone = self.rules.iter().filter(|subject| subject.rule.group.is_none() && counts(subject));
        let groups = (0..self.groups.len()).filter(|group| self.members(*group).all(counts));
        Company {
            alone: alone.collect(),
            groups: groups.map(|group| self.members(group).collect()).collect(),
        }
    }
}

impl<'p> Company<'_, 'p> {
    /// Whether every request that meets `terms`, which are those of `subject` or narrower, is limited by one of these.
    pub(super) fn limits(&self, subject: &Subject<'p>, terms: &Terms<'_>) -> bool {
        // One that is too long to judge gets the benefit of the doubt.
        let is_met = |other: &&Subject<'p>| {
            other.sees_claims_as(subject) && (!other.terms.is_judged() || other.terms.covers(terms))
        };
        self.alone.iter().any(is_met)
            || self.groups.iter().any(|members| {
                let members = members.iter().copied().filter(|member| member.sees_claims_as(subject));
                terms.is_covered_by(&terms_of(members))
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
