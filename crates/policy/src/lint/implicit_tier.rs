//! Default tiers that follow from the order of the rules (P4): right as it is, yet one moved rule makes it wrong.

use super::{Book, Lint, LintKind};

/// `implicit-tier`, at the rule that is the default tier.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    for (at, group) in book.policy.groups.iter().enumerate().filter(|(_, group)| group.is_implicit) {
        let mut members = book.members(at);
        let (Some(first), Some(last)) = (members.next(), members.next_back()) else { continue };
        let message = format!(
            "it is the default tier of the rules from `{}` {} on, and applies only where none of them does",
            first.rule.name,
            first.rule.place_text()
        );
        let cure = format!("write the group out: `- {{group: {}, combine: first, rules: […]}}`", group.name);
        found.push(last.lint(LintKind::ImplicitTier, message, cure));
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::built_by_hand::{found_in, grouped, one_of, policy, rule};
    use crate::{KeySource, Rule};

    #[test]
    fn a_default_tier_that_is_not_written_out_is_told_where_it_stands() {
        let rules = || [Rule { condition: one_of(KeySource::Plan, &["pro"]), ..rule("pro") }, rule("free")];
        assert_eq!(
            grouped(policy(rules()), &[0, 1], true).lints()[0].to_string(),
            "line 2: rule `free`: it is the default tier of the rules from `pro` on line 1 on, and applies only where none \
             of them does; write the group out: `- {group: tiers, combine: first, rules: […]}` [implicit-tier]"
        );
        assert_eq!(found_in(&grouped(policy(rules()), &[0, 1], false)), []);
    }
}
