//! The default tier that nobody wrote down (P4).
//!
//! In a plain list, a rule without `match` that follows rules of the same keys whose `match` tests only who the caller is
//! applies when none of them did:
//!
//! ```text
//!  enterprise  per x-api-key, match jwt:plan = enterprise ┐
//!  pro         per x-api-key, match jwt:plan = pro        ├ one implicit group, the first that matches applies
//!  free        per x-api-key                              ┘
//!  search      per x-api-key, match path = /search          applies as well: it matches on the route
//! ```

use std::collections::HashMap;

use crate::{Action, Condition, Group, KeySource, Rule};

/// Puts default tiers and the tiers before them into implicit groups, behind the groups that were written out.
pub(super) fn group_tiers(rules: &mut [Rule], groups: &mut Vec<Group>, is_written_out: &[bool]) {
    // The tiers that still wait for a default, by their keys.
    let mut waiting: HashMap<Vec<KeySource>, Vec<usize>> = HashMap::new();
    for at in 0..rules.len() {
        let rule = &rules[at];
        if is_written_out[at] || !matches!(rule.action, Action::Limit(_)) {
            continue;
        }
        if tests_only_the_caller(&rule.condition) {
            waiting.entry(rule.keys.clone()).or_default().push(at);
        } else if matches!(rule.condition, Condition::Always)
            && let Some(mut tiers) = waiting.remove(&rule.keys)
        {
            tiers.push(at);
            let name = rule.name.clone();
            for tier in &tiers {
                rules[*tier].group = Some(groups.len());
            }
            groups.push(Group { name, rules: tiers, is_implicit: true });
        }
    }
}

/// Whether a condition looks at the caller (jwt, header, cookie, user, plan) and at nothing else.
fn tests_only_the_caller(condition: &Condition) -> bool {
    match condition {
        Condition::Value(source, _) => {
            matches!(
                source,
                KeySource::Claim(_)
                    | KeySource::Header(_)
                    | KeySource::Cookie(_)
                    | KeySource::User
                    | KeySource::Plan
            )
        }
        Condition::All(tests) | Condition::Any(tests) => tests.iter().all(tests_only_the_caller),
        Condition::Not(test) => tests_only_the_caller(test),
        Condition::Always
        | Condition::Path(_)
        | Condition::Method(_)
        | Condition::Host(_)
        | Condition::Client(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::Policy;

    /// The groups of a policy whose rules are given by their fields, by name of rule; implicit ones begin with `~`.
    fn groups_of(rules: &[&str]) -> Vec<String> {
        let text: String = rules
            .iter()
            .zip('a'..)
            .map(|(rule, name)| match rule {
                rule if rule.starts_with("group") => format!("- {{{rule}}}\n"),
                rule if rule.contains("action") => format!("- {{name: {name}, {rule}}}\n"),
                rule => format!("- {{name: {name}, {rule}, rate: 1, burst: 1}}\n"),
            })
            .collect();
        let policy = Policy::parse("test", &text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let name = |at: &usize| policy.rules[*at].name.to_string();
        let show = |group: &crate::Group| {
            format!(
                "{}{}",
                if group.is_implicit { "~" } else { "" },
                group.rules.iter().map(name).collect::<String>()
            )
        };
        for (at, group) in policy.groups.iter().enumerate() {
            assert!(group.rules.iter().all(|rule| policy.rules[*rule].group == Some(at)));
        }
        policy.groups.iter().map(show).collect()
    }

    const KEY: &str = "limit_keys: [header:x-api-key]";

    fn tier(test: &str) -> String {
        format!("{KEY}, match: {test}")
    }

    #[test]
    fn a_rule_without_match_is_the_default_of_the_tiers_before_it() {
        for test in [
            "{jwt:plan: pro}",
            "{header:x-plan: pro}",
            "{cookie:plan: pro}",
            "{user: root}",
            "{plan: [pro, max]}",
            "{jwt:plan: {regex: ^pro}}",
            "{not: {plan: free}}",
            "{any: [{plan: pro}, {user: root}]}",
            "{all: [{plan: pro}, {not: {user: root}}]}",
            "{plan: pro, user: root}",
        ] {
            assert_eq!(groups_of(&[&tier(test), KEY]), ["~ab"], "{test}");
        }
        assert_eq!(groups_of(&[&tier("{plan: a}"), &tier("{plan: b}"), KEY]), ["~abc"]);
    }

    #[test]
    fn rules_that_match_on_anything_else_all_apply() {
        for test in [
            "{path: /x}",
            "{method: GET}",
            "{host: a.b}",
            "{query:plan: pro}",
            "{ip:address: 192.0.2.1}",
            "{fingerprint: x}",
            "{plan: pro, path: /x}",
            "{not: {path: /x}}",
            "{any: [{plan: pro}, {path: /x}]}",
            "{all: [{plan: pro}, {method: GET}]}",
        ] {
            assert_eq!(groups_of(&[&tier(test), KEY]), [""; 0], "{test}");
        }
    }

    #[test]
    fn only_rules_of_the_same_keys_are_tiers_of_it() {
        let other = "limit_keys: [ip:address], match: {plan: pro}";
        assert_eq!(groups_of(&[other, KEY]), [""; 0]);
        assert_eq!(groups_of(&[&tier("{plan: pro}"), other, KEY]), ["~ac"]);
        let reversed = "limit_keys: [user, plan], match: {plan: pro}";
        assert_eq!(groups_of(&[reversed, "limit_keys: [plan, user]"]), [""; 0], "in order");
        assert_eq!(
            groups_of(&["scope: user, plan: pro", "limit_keys: [user]"]),
            ["~ab"],
            "a scope stands for its keys"
        );
    }

    #[test]
    fn a_rule_before_its_tiers_is_no_default() {
        assert_eq!(groups_of(&[KEY, &tier("{plan: pro}")]), [""; 0]);
    }

    #[test]
    fn a_default_closes_its_tiers() {
        let pro = tier("{plan: pro}");
        assert_eq!(groups_of(&[&pro, KEY, KEY]), ["~ab"], "the second rule without match applies to all");
        assert_eq!(groups_of(&[&pro, KEY, &tier("{plan: max}"), KEY]), ["~ab", "~cd"]);
    }

    #[test]
    fn other_rules_between_them_change_nothing() {
        let pro = tier("{plan: pro}");
        assert_eq!(groups_of(&[&pro, "scope: global", &tier("{path: /x}"), KEY]), ["~ad"]);
    }

    #[test]
    fn rules_that_allow_or_block_are_no_tiers() {
        assert_eq!(groups_of(&["match: {plan: pro}, action: allow", "scope: global"]), [""; 0]);
        assert_eq!(groups_of(&["match: {plan: pro}, action: block", "scope: global"]), [""; 0]);
    }

    #[test]
    fn rules_of_written_groups_are_left_where_they_are() {
        for combine in ["first", "all"] {
            let group = format!(
                "group: g, combine: {combine}, rules: [{{name: x, {}, rate: 1, burst: 1}}]",
                tier("{plan: pro}")
            );
            let expected: &[&str] = if combine == "first" { &["x"] } else { &[] };
            assert_eq!(groups_of(&[&group, KEY]), expected);
        }
    }

    #[test]
    fn a_match_that_is_empty_is_no_match() {
        assert_eq!(groups_of(&[&tier("{plan: pro}"), &tier("{}")]), ["~ab"]);
    }
}
