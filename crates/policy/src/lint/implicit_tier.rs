//! Default tiers that follow from the order of the rules (P4): right as it is, yet one moved rule makes it wrong.

use super::{Book, Lint, LintKind};

/// `implicit-tier`, at the rule that is the default tier.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    for (at, group) in book.policy.groups.iter().enumerate().filter(|(_, group)| group.is_implicit) {
        let mut members = book.members(at);
        let (Some(first), Some(last)) = (members.next(), members.next_back()) else { continue };
        let message = format!(
            "it is the default tier of the rules from `{}` on line {} on, and applies only where none of them does",
            first.rule.name, first.rule.line
        );
        let cure = format!("write the group out: `- {{group: {}, combine: first, rules: […]}}`", group.name);
        found.push(last.lint(LintKind::ImplicitTier, message, cure));
    }
}
