//! Routes whose reads and writes cost the same in the same bucket, so that a flood of cheap reads keeps writes out and
//! dear writes go at the price of reads.
//!
//! Fires where the author cares about methods: for a rule that names GET as well as a method that writes, and, in a policy that
//! tells methods apart in another rule, for one that governs both on a route. Silent if the cost is not fixed, or a rule for
//! writes alone stands beside it.

use tollgate_core::Algorithm;

use super::terms::{Atom, Term, is_every_path};
use super::{Book, Lint, LintKind, Subject};
use crate::{Action, CostSource, MethodSet};

/// `shared-reads-and-writes`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let telling_apart = book.rules().filter(|subject| tells_methods_apart(subject)).count();
    for subject in book.rules().filter(|subject| is_shared(subject)) {
        let others_tell = telling_apart > usize::from(tells_methods_apart(subject));
        let names_both = subject.terms.each().iter().any(names_reads_and_writes);
        let is_split = |other: &Subject<'_>| is_for_writes(other) && other.terms.may_meet(&subject.terms);
        if (names_both || others_tell) && !book.rules().any(is_split) {
            let message = if names_both {
                "the reads and the writes that it names cost the same and share a bucket"
            } else {
                "reads and writes of this route cost the same and share a bucket, though other rules tell methods apart"
            };
            let cure = "write `cost_per_method: {GET: 1, POST: 5}`, or add a rule for the methods that write";
            found.push(subject.lint(LintKind::SharedReadsAndWrites, message, cure));
        }
    }
}

fn is_shared(subject: &Subject<'_>) -> bool {
    let charges = match subject.rule.action {
        Action::Limit(algorithm) => !matches!(algorithm, Algorithm::Concurrency(_)),
        Action::Allow | Action::Block => false,
    };
    charges
        && subject.rule.cost.source == CostSource::Fixed
        && subject
            .terms
            .each()
            .iter()
            .any(|term| governs_both(term) && (names_route(term) || names_reads_and_writes(term)))
}

fn governs_both(term: &Term<'_>) -> bool {
    term.methods().meets(MethodSet::of("GET")) && term.methods().meets(writes())
}

/// Whether it lists them: who leaves methods out leaves the unnamed ones in.
fn names_reads_and_writes(term: &Term<'_>) -> bool {
    governs_both(term) && !term.methods().meets(MethodSet::of("any other"))
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

#[cfg(test)]
mod tests {
    use tollgate_core::Cost;

    use super::*;
    use crate::lint::built_by_hand::{all, found, method, not, path, policy, rule};
    use crate::{Condition, CostPlan, Rule};

    const SHARED: LintKind = LintKind::SharedReadsAndWrites;

    fn on(name: &str, condition: Condition) -> Rule {
        Rule { condition, ..rule(name) }
    }

    #[test]
    fn a_route_for_all_methods_is_told_where_another_rule_tells_methods_apart() {
        let elsewhere = || on("elsewhere", all([path("/b"), method(&["POST"])]));
        assert_eq!(found([on("x", path("/a/*")), elsewhere()]), [(SHARED, "x".into())]);
        let some = on("x", all([path("/a"), method(&["GET", "POST"])]));
        assert_eq!(found([some, elsewhere()]), [(SHARED, "x".into())]);
        let priced = Rule { cost: per_method(), ..on("priced", path("/b")) };
        assert_eq!(found([on("x", path("/a")), priced]), [(SHARED, "x".into())]);
    }

    #[test]
    fn a_policy_that_never_tells_methods_apart_is_simple_on_purpose() {
        assert_eq!(found([on("x", path("/a")), on("y", path("/b"))]), []);
        let no_preflight = not(method(&["OPTIONS"]));
        assert_eq!(found([on("x", all([path("/a"), no_preflight]))]), []);
    }

    #[test]
    fn a_rule_that_names_reads_and_writes_without_a_cost_is_told() {
        let both = || method(&["GET", "POST"]);
        assert_eq!(found([on("x", all([path("/a"), both()]))]), [(SHARED, "x".into())]);
        assert_eq!(found([on("x", both())]), [(SHARED, "x".into())], "on every route");
        assert_eq!(
            policy([on("x", both())]).lints()[0].message,
            "the reads and the writes that it names cost the same and share a bucket"
        );
        assert_eq!(found([Rule { cost: per_method(), ..on("x", both()) }]), []);
        assert_eq!(found([on("x", method(&["GET", "HEAD"]))]), []);
        assert_eq!(found([on("x", method(&["POST", "PUT"]))]), []);
    }

    #[test]
    fn rules_for_reads_or_writes_alone_or_for_everything_share_nothing() {
        let elsewhere = || on("elsewhere", all([path("/b"), method(&["POST"])]));
        assert_eq!(found([on("x", all([path("/a"), method(&["GET", "HEAD"])])), elsewhere()]), []);
        assert_eq!(found([rule("x"), elsewhere()]), []);
        assert_eq!(found([on("x", path("/*")), elsewhere()]), []);
        assert_eq!(found([Rule { cost: per_method(), ..on("x", path("/a")) }, elsewhere()]), []);
    }

    #[test]
    fn a_rule_for_writes_of_the_route_beside_it_is_enough() {
        let writes = |text| on("writes", all([path(text), method(&["POST", "PUT"])]));
        assert_eq!(found([on("x", path("/a/*")), writes("/a/b")]), []);
        assert_eq!(found([on("x", path("/a/*")), writes("/b")]), [(SHARED, "x".into())]);
    }

    fn per_method() -> CostPlan {
        let posts = (MethodSet::of("POST"), Cost::tokens(5));
        CostPlan { source: CostSource::PerMethod(vec![posts]), max: Cost::tokens(5), ..CostPlan::ONE }
    }
}
