//! More rules for one request than a check has room for: every such request is refused.
//!
//! Certain where it fires: some request meets all the rules that are counted, and nothing lets it through. Finds rules for
//! every request and rules for the same route, host, method or caller; does not find all others, and gives up on policies in
//! which thousands of rules may meet.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_core::CHARGES_MAX;

use super::company::terms_of;
use super::terms::{Atom, Literal, Term, Terms, first_segments};
use super::{Book, Lint, LintKind, Subject};
use crate::{Action, KeySource, Mode, PathPattern, ValueTest};

/// So many times a rule is held against what the rules so far have in common, before the rest is left unjudged.
const COMPARISONS_MAX: usize = 100_000;

/// What charges a request once: a rule of its own, or a group, of which the first rule that matches does.
type Slot<'b, 'p> = Vec<&'b Subject<'p>>;

/// The segments that a path must begin with.
type Beginning = Vec<String>;

/// `too-many-rules`, at the first rule that is one too many; told once for each beginning of a path, and not again below it.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let slots = slots(book);
    if slots.len() <= CHARGES_MAX {
        return;
    }
    let overruling: Vec<_> = book.rules().filter(|subject| overrules(subject)).collect();
    let lets_pass = |terms: &Terms<'_>| terms.is_covered_by(&terms_of(overruling.iter().copied()));
    let by_beginning = by_beginning(&slots);
    let mut comparisons_left = COMPARISONS_MAX;
    let mut told: Vec<&Beginning> = Vec::new();
    for beginning in by_beginning.keys() {
        if told.iter().any(|above| beginning.starts_with(above)) {
            continue;
        }
        // Rules that a request meets together ask for beginnings of its path: the longest of them, and its own beginnings.
        let above = (0..=beginning.len()).filter_map(|len| by_beginning.get(beginning.get(..len)?));
        let positions: BTreeSet<usize> = above.flatten().copied().collect();
        let candidates: Vec<_> = positions.iter().filter_map(|at| slots.get(*at)).collect();
        let crowd = crowd(&candidates, beginning, lets_pass, &mut comparisons_left);
        if let Some((first, last)) = crowd.as_ref().and_then(|crowd| crowd.first().zip(crowd.last())) {
            found.push(last.lint(LintKind::TooManyRules, message(first), CURE));
            told.push(beginning);
        }
    }
}

const CURE: &str =
    "put rules of which one is enough into a group with `combine: first`, or narrow their `match`";

fn message(first: &Subject<'_>) -> String {
    format!(
        "with this rule, more than {CHARGES_MAX} apply to one request, from `{}` {} on, and such a request is refused",
        first.rule.name,
        first.rule.place_text()
    )
}

/// All that may charge a request, in the order of the policy.
fn slots<'b, 'p>(book: &'b Book<'p>) -> Vec<Slot<'b, 'p>> {
    let alone = book.rules().filter(|subject| subject.rule.group.is_none() && may_charge(subject));
    let groups = (0..book.groups.len()).map(|group| book.members(group).collect::<Vec<_>>());
    let whole =
        groups.filter(|members| !members.is_empty() && members.iter().all(|member| may_charge(member)));
    let mut slots: Vec<Slot<'b, 'p>> = alone.map(|subject| vec![subject]).chain(whole).collect();
    slots.sort_by_key(|slot| slot.first().map(|subject| (&subject.rule.source, subject.rule.line)));
    slots
}

/// Whether a bucket is charged, for some keys at least, by every request that meets its condition.
fn may_charge(subject: &Subject<'_>) -> bool {
    let rule = subject.rule;
    let is_in_force = rule.mode == Mode::Enforce && rule.rollout_percent > 0;
    is_in_force && matches!(rule.action, Action::Limit(_)) && !subject.may_skip() && subject.terms.is_judged()
}

/// Whether it decides before any bucket does.
fn overrules(subject: &Subject<'_>) -> bool {
    subject.is_enforced() && subject.rule.group.is_none() && !matches!(subject.rule.action, Action::Limit(_))
}

/// The positions of the slots that ask for each beginning; a slot may ask for one of several.
fn by_beginning(slots: &[Slot<'_, '_>]) -> BTreeMap<Beginning, Vec<usize>> {
    let mut by_beginning = BTreeMap::<Beginning, Vec<usize>>::new();
    for (at, slot) in slots.iter().enumerate() {
        for term in slot.iter().flat_map(|subject| subject.terms.each()) {
            by_beginning.entry(beginning(term)).or_default().push(at);
        }
    }
    by_beginning
}

/// What a path must begin with.
fn beginning(term: &Term<'_>) -> Beginning {
    let paths = term.literals().iter().filter(|literal| !literal.is_negated);
    let paths = paths.filter_map(|literal| match literal.atom {
        Atom::Path(test) => Some(first_segments(test)),
        Atom::Host(_) | Atom::OneOf(..) | Atom::Value(..) => None,
    });
    paths.max_by_key(Vec::len).unwrap_or_default()
}

/// The first rules, one too many, that some request meets together; one of them asks for the `longest` beginning.
fn crowd<'b, 'p>(
    slots: &[&Slot<'b, 'p>],
    longest: &Beginning,
    lets_pass: impl Fn(&Terms<'_>) -> bool,
    comparisons_left: &mut usize,
) -> Option<Vec<&'b Subject<'p>>> {
    if slots.len() <= CHARGES_MAX {
        return None;
    }
    let terms = slots.iter().flat_map(|slot| slot.iter()).flat_map(|subject| subject.terms.each());
    let seeds = terms.filter(|term| is_plain(term) && beginning(term) == *longest);
    for seed in seeds {
        if *comparisons_left < slots.len() {
            return None;
        }
        *comparisons_left -= slots.len();
        let mut common = Terms::only(seed);
        let mut crowd = Vec::new();
        for slot in slots {
            crowd.extend(join(slot, &mut common));
            if crowd.len() > CHARGES_MAX {
                break;
            }
        }
        if crowd.len() > CHARGES_MAX && !lets_pass(&common) {
            return Some(crowd);
        }
    }
    None
}

/// The rule of a slot that some request meets together with all that have `common`, which is narrowed to such requests.
fn join<'b, 'p>(slot: &Slot<'b, 'p>, common: &mut Terms<'p>) -> Option<&'b Subject<'p>> {
    if let Some(wide) = slot.iter().find(|subject| subject.terms.covers(common)) {
        return Some(wide);
    }
    for subject in slot {
        let both = common.and(&subject.terms);
        if let Some(term) = both.each().iter().find(|term| is_plain(term)) {
            *common = Terms::only(term);
            return Some(subject);
        }
    }
    None
}

/// Whether some request certainly meets it: its tests do not contradict each other two by two, and are such that no three do.
fn is_plain(term: &Term<'_>) -> bool {
    term.literals().iter().all(is_plain_literal)
}

fn is_plain_literal(literal: &Literal<'_>) -> bool {
    match (&literal.atom, literal.is_negated) {
        (Atom::Path(test), false) => {
            let is_glob = matches!(test.pattern, PathPattern::Glob { .. });
            !is_glob && !test.is_case_sensitive && !test.keeps_trailing_slash
        }
        (Atom::Host(_), false) => true,
        (Atom::OneOf(source, _) | Atom::Value(source, ValueTest::Present), _) => is_free_of_others(source),
        (Atom::Value(..), _) | (Atom::Path(_) | Atom::Host(_), true) => false,
    }
}

/// Whether a request may have any value of it, and none, whatever else it has.
fn is_free_of_others(source: &KeySource) -> bool {
    matches!(
        source,
        KeySource::Header(_)
            | KeySource::Query(_)
            | KeySource::Cookie(_)
            | KeySource::Claim(_)
            | KeySource::Plan
    )
}

#[cfg(test)]
mod tests;
