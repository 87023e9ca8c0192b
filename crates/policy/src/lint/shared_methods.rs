//! Routes whose reads and writes cost the same in the same bucket, so that a flood of cheap reads keeps writes out and
//! dear writes go at the price of reads.
//!
//! Fires only in a policy that tells methods apart in another rule (its author cares), for a rule that names a route, governs
//! GET as well as a method that writes, has a fixed cost, and has no rule for writes alone beside it.

use tollgate_core::Algorithm;

use super::terms::{Atom, Term, is_every_path};
use super::{Book, Lint, LintKind, Subject};
use crate::{Action, CostSource, MethodSet};

/// `shared-reads-and-writes`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let telling_apart = book.rules.iter().filter(|subject| tells_methods_apart(subject)).count();
    for subject in book.rules.iter().filter(|subject| is_shared(subject)) {
        let others_tell = telling_apart > usize::from(tells_methods_apart(subject));
        let is_split = |other: &Subject<'_>| is_for_writes(other) && other.terms.may_meet(&subject.terms);
        if others_tell && !book.rules.iter().any(is_split) {
            let message = "reads and writes of this route cost the same and share a bucket, though other rules tell \
                           methods apart";
            let cure = "give it a cost per method, or add a rule for the methods that write";
            found.push(subject.lint(LintKind::SharedReadsAndWrites, message, cure));
        }
    }
}

fn is_shared(subject: &Subject<'_>) -> bool {
    let charges = match subject.rule.action {
        Action::Limit(algorithm) => !matches!(algorithm, Algorithm::Concurrency(_)),
        Action::Allow | Action::Block => false,
    };
    let writes = writes();
    charges
        && subject.rule.cost.source == CostSource::Fixed
        && subject.terms.each().iter().any(|term| {
            names_route(term) && term.methods().meets(MethodSet::of("GET")) && term.methods().meets(writes)
        })
}

fn names_route(term: &Term<'_>) -> bool {
    term.literals().iter().any(|literal| {
        !literal.is_negated && matches!(literal.atom, Atom::Path(test) if !is_every_path(test))
    })
}

fn tells_methods_apart(subject: &Subject<'_>) -> bool {
    subject.terms.each().iter().any(Term::tests_methods)
        || matches!(subject.rule.cost.source, CostSource::PerMethod(_))
}

/// Whether it limits or blocks writes and no reads.
fn is_for_writes(subject: &Subject<'_>) -> bool {
    let get = MethodSet::of("GET");
    subject.rule.action != Action::Allow
        && subject
            .terms
            .each()
            .iter()
            .all(|term| !term.methods().meets(get) && term.methods().meets(writes()))
}

fn writes() -> MethodSet {
    ["POST", "PUT", "PATCH", "DELETE"].map(MethodSet::of).into_iter().fold(MethodSet::NONE, MethodSet::with)
}
