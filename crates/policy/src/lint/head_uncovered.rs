//! Rules for `GET` that leave `HEAD` out (`strict_method: true`), though servers answer `HEAD` by the handler of `GET`.
//!
//! Silent if another rule that limits or blocks names `HEAD`.

use super::terms::Term;
use super::{Book, Lint, LintKind, Subject};
use crate::{Action, MethodSet};

/// `head-uncovered`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let restricts = |subject: &&Subject<'_>| subject.rule.action != Action::Allow;
    let names_head = |subject: &Subject<'_>| {
        subject
            .terms
            .each()
            .iter()
            .any(|term| term.tests_methods() && term.methods().meets(MethodSet::of("HEAD")))
    };
    if book.rules().filter(restricts).any(names_head) {
        return;
    }
    for subject in book.rules().filter(restricts) {
        if subject.terms.each().iter().any(leaves_head_out) {
            let message = "`strict_method` leaves out `HEAD`, which servers handle with the `GET` handler";
            let cure = "delete `strict_method`, or add a rule with `method: HEAD`";
            found.push(subject.lint(LintKind::HeadUncovered, message, cure));
        }
    }
}

/// Whether it lists `GET` and not `HEAD`. A term with methods that have no name excludes some instead of listing others.
fn leaves_head_out(term: &Term<'_>) -> bool {
    let methods = term.methods();
    let lists = !methods.meets(MethodSet::of("any other"));
    lists && methods.meets(MethodSet::of("GET")) && !methods.meets(MethodSet::of("HEAD"))
}

#[cfg(test)]
mod tests {
    use crate::{LintKind, Policy};

    fn lints(rules: &str) -> Vec<LintKind> {
        let policy = Policy::parse("p.yaml", rules).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let kinds = policy.lints().into_iter().map(|lint| lint.kind);
        kinds.filter(|kind| *kind == LintKind::HeadUncovered).collect()
    }

    #[test]
    fn a_rule_for_get_alone_is_pointed_out() {
        let get = "{name: get, scope: ip, method: GET, strict_method: true, rate: 1/s, burst: 5}";
        let head = "{name: head, scope: ip, method: HEAD, rate: 1/s, burst: 5}";
        assert_eq!(lints(get), [LintKind::HeadUncovered]);
        assert_eq!(lints(&format!("[{get}, {head}]")), []);
        assert_eq!(lints("{name: get, scope: ip, method: GET, rate: 1/s, burst: 5}"), []);
        assert_eq!(lints("{name: a, scope: ip, match: {not: {method: HEAD}}, rate: 1/s, burst: 5}"), []);
        assert_eq!(
            lints("{name: post, scope: ip, method: POST, strict_method: true, rate: 1/s, burst: 5}"),
            []
        );
    }
}
