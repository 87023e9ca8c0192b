//! Which conditions hold whenever others do, and which can never hold.
//!
//! A condition is taken apart into terms, of which one must hold; a term is a set of literals, which must all hold.
//! Conservative: "covers" and "never" are certain, their opposites are not. Knows nothing of rules.

mod atom;
mod path;
mod term;

#[cfg(test)]
mod sampled;
#[cfg(test)]
mod tests;

use crate::Condition;
pub(super) use atom::Atom;
pub(super) use path::{first_segments, has_segment, is_every_path};
pub(super) use term::{Literal, Term};

/// A condition of more terms than this is not judged: it covers nothing, and only [`Condition::Always`] covers it.
const TERMS_MAX: usize = 256;
/// So many times a term is split before the question whether others cover it together is given up.
const SPLITS_MAX: usize = 512;

/// A condition, taken apart.
#[derive(Debug, Clone)]
pub(super) struct Terms<'c>(Option<Vec<Term<'c>>>);

impl<'c> Terms<'c> {
    /// Takes a condition apart.
    pub(super) fn of(condition: &'c Condition) -> Terms<'c> {
        Terms(take_apart(condition, false))
    }

    /// What meets both.
    pub(super) fn and(&self, other: &Terms<'c>) -> Terms<'c> {
        let (Some(some), Some(others)) = (&self.0, &other.0) else { return Terms(None) };
        Terms(product(some, others))
    }

    /// One term alone.
    pub(super) fn only(term: &Term<'c>) -> Terms<'c> {
        Terms(Some(vec![term.clone()]))
    }

    /// Whether it is short enough to be judged.
    pub(super) fn is_judged(&self) -> bool {
        self.0.is_some()
    }

    /// The terms; none if it is too long to judge.
    pub(super) fn each(&self) -> &[Term<'c>] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Whether it certainly holds for no request.
    pub(super) fn is_never(&self) -> bool {
        self.0.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether some request may meet both.
    pub(super) fn may_meet(&self, other: &Terms<'c>) -> bool {
        !self.and(other).is_never()
    }

    /// Whether every request that meets `other` certainly meets this.
    pub(super) fn covers(&self, other: &Terms<'c>) -> bool {
        if self.each().iter().any(Term::is_always) {
            return true;
        }
        let (Some(these), Some(others)) = (&self.0, &other.0) else { return false };
        // Splitting helps only where there are several to share the parts.
        others.iter().all(|other| these.iter().any(|one| other.implies(one)))
            || these.len() > 1 && other.is_covered_by(&these.iter().collect::<Vec<_>>())
    }

    /// Whether every request that meets this certainly meets one of `terms`.
    pub(super) fn is_covered_by(&self, terms: &[&Term<'c>]) -> bool {
        let Some(own) = &self.0 else { return false };
        let mut splits_left = SPLITS_MAX;
        own.iter().all(|term| covered(terms, term, &mut splits_left))
    }
}

/// Whether the terms together take all that meets `term`: one of them all of it, or several its parts.
fn covered<'c>(terms: &[&Term<'c>], term: &Term<'c>, splits_left: &mut usize) -> bool {
    if terms.iter().any(|one| term.implies(one)) {
        return true;
    }
    let parts = term.parts(terms);
    if parts.len() < 2 || *splits_left < parts.len() {
        return false;
    }
    *splits_left -= parts.len();
    parts.iter().all(|part| covered(terms, part, splits_left))
}

/// The terms of a condition or of its opposite; `None` if they are too many.
fn take_apart(condition: &Condition, is_negated: bool) -> Option<Vec<Term<'_>>> {
    match (condition, is_negated) {
        (Condition::Always, false) => Some(vec![Term::ALWAYS]),
        (Condition::Always, true) => Some(Vec::new()),
        (Condition::Not(inner), _) => take_apart(inner, !is_negated),
        (Condition::All(inner), false) | (Condition::Any(inner), true) => {
            let start = Some(vec![Term::ALWAYS]);
            inner.iter().fold(start, |terms, one| product(&terms?, &take_apart(one, is_negated)?))
        }
        (Condition::Any(inner), false) | (Condition::All(inner), true) => {
            let mut terms = Vec::new();
            for one in inner {
                terms.extend(take_apart(one, is_negated)?);
                if terms.len() > TERMS_MAX {
                    return None;
                }
            }
            Some(terms)
        }
        (Condition::Method(methods), _) => Some(Term::of_methods(*methods, is_negated).into_iter().collect()),
        (Condition::Path(test), _) => single(Atom::Path(test), is_negated),
        (Condition::Host(pattern), _) => single(Atom::Host(pattern), is_negated),
        (Condition::Value(source, test), _) => single(Atom::of_value(source, test), is_negated),
        // Only standing orders say this, and those are not judged.
        (Condition::Client(_), _) => None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "one arm of a match whose others may fail")]
fn single(atom: Atom<'_>, is_negated: bool) -> Option<Vec<Term<'_>>> {
    Some(Term::of_atom(atom, is_negated).into_iter().collect())
}

/// What meets one of each; terms that contradict themselves are gone. `None` if they are too many.
fn product<'c>(some: &[Term<'c>], others: &[Term<'c>]) -> Option<Vec<Term<'c>>> {
    if some.len() * others.len() > TERMS_MAX * TERMS_MAX {
        return None;
    }
    let pairs = some.iter().flat_map(|one| others.iter().filter_map(|other| one.and(other)));
    let terms: Vec<_> = pairs.take(TERMS_MAX + 1).collect();
    (terms.len() <= TERMS_MAX).then_some(terms)
}
