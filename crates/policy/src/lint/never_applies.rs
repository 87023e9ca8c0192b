//! Rules that do nothing: contradictions, tiers behind wider tiers, limits behind `allow` and `block` (which win wherever
//! they stand), rules that skip all that they match. And kill switches that contradict themselves.

use super::company::terms_of;
use super::terms::Terms;
use super::{Book, Lint, LintKind, Subject};
use crate::{Action, Condition, KeySource, ValueTest};

const CONTRADICTION: &str =
    "no request can meet its `match`: tests contradict each other, or no value passes one of them";
const CONTRADICTION_CURE: &str = "use `any` where one of the tests is enough, mend the value, or delete it";

/// `never-matches` and `unreachable-tier`; of one rule at most one of them.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let overruling: Vec<_> = book.rules().filter(|rule| overrules(rule)).collect();
    for subject in book.rules() {
        found.extend(
            contradiction(subject)
                .or_else(|| always_skipped(subject))
                .or_else(|| overruled(subject, &overruling))
                .or_else(|| behind_tiers(book, subject)),
        );
    }
    let switches = book.policy.kill_switches.iter().filter(|switch| !switch.source.is_order());
    found.extend(switches.filter(|switch| Terms::of(&switch.condition).is_never()).map(|switch| Lint {
        kind: LintKind::NeverMatches,
        rule: None,
        source: switch.source.clone(),
        line: switch.line,
        message: format!("kill switch `{}`: {CONTRADICTION}", switch.name),
        cure: CONTRADICTION_CURE.to_owned(),
    }));
}

fn contradiction(subject: &Subject<'_>) -> Option<Lint> {
    let is_never = subject.terms.is_never();
    is_never.then(|| subject.lint(LintKind::NeverMatches, CONTRADICTION, CONTRADICTION_CURE))
}

/// `missing: skip` for just the requests that it asks for.
fn always_skipped(subject: &Subject<'_>) -> Option<Lint> {
    let is_lacking = |part: &&KeySource| {
        let present = Condition::Value((*part).clone(), ValueTest::Present);
        !subject.terms.may_meet(&Terms::of(&present))
    };
    let part = subject.rule.keys.iter().filter(|_| subject.may_skip()).find(is_lacking)?;
    let message = format!("its `match` holds only without `{part}`, and `missing: skip` skips such requests");
    let cure = format!("take `{part}` out of `limit_keys`, or write `missing: anonymous`");
    Some(subject.lint(LintKind::NeverMatches, message, cure))
}

/// Whether it decides without a bucket, and nothing displaces it.
fn overrules(subject: &Subject<'_>) -> bool {
    subject.is_enforced() && subject.rule.group.is_none() && !matches!(subject.rule.action, Action::Limit(_))
}

fn overruled(subject: &Subject<'_>, overruling: &[&Subject<'_>]) -> Option<Lint> {
    let wins = |other: &Subject<'_>| match (other.rule.action, subject.rule.action) {
        (Action::Block, Action::Limit(_) | Action::Allow) | (Action::Allow, Action::Limit(_)) => true,
        (Action::Block | Action::Allow | Action::Limit(_), _) => false,
    };
    let by = overruling
        .iter()
        .find(|other| wins(other) && other.sees_claims_as(subject) && other.terms.covers(&subject.terms))?;
    let verb = if by.rule.action == Action::Block { "blocks" } else { "allows" };
    let message =
        format!("rule `{}` {} {verb} every request that it governs", by.rule.name, by.rule.place_text());
    let cure = "narrow the `match` of that rule, or delete this one";
    Some(subject.lint(LintKind::NeverMatches, message, cure))
}

fn behind_tiers(book: &Book<'_>, subject: &Subject<'_>) -> Option<Lint> {
    let group = subject.rule.group?;
    let before = book.members(group).take_while(|other| !other.is(subject));
    let earlier: Vec<_> = before
        .filter(|other| other.is_enforced() && !other.may_skip() && other.sees_claims_as(subject))
        .collect();
    let one = earlier.iter().find(|other| other.terms.covers(&subject.terms));
    let who = match one {
        Some(other) => {
            format!("rule `{}` {}, an earlier tier, takes", other.rule.name, other.rule.place_text())
        }
        None if earlier.len() > 1 && subject.terms.is_covered_by(&terms_of(earlier.iter().copied())) => {
            "the earlier tiers together take".to_owned()
        }
        None => return None,
    };
    let message = format!("{who} every request that it governs, so this tier never applies");
    let cure = "put the narrower tier first, or delete this one";
    Some(subject.lint(LintKind::UnreachableTier, message, cure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::built_by_hand::{
        all, found, found_in, grouped, header, method, not, one_of, path, plan_claim, policy, present, rule,
        tiers,
    };
    use crate::{Condition, KeySource, KillSwitch, Missing, Mode, Rule, Source, ValueTest};

    #[test]
    fn a_rule_that_contradicts_itself_never_matches() {
        let never = Rule { condition: all([path("/a"), path("/b")]), ..rule("x") };
        assert_eq!(found([never]), [(LintKind::NeverMatches, "x".into())]);
        let no_method = Rule { condition: all([method(&["GET"]), method(&["POST"])]), ..rule("x") };
        assert_eq!(found([no_method]), [(LintKind::NeverMatches, "x".into())]);
        let may_match = Rule { condition: all([path("/a/*"), path("/a/{id}")]), ..rule("x") };
        assert_eq!(found([may_match]), []);
    }

    #[test]
    fn a_test_that_no_value_passes_never_matches() {
        let tests = |condition| found([Rule { condition, ..rule("x") }]);
        let never = [(LintKind::NeverMatches, "x".into())];
        assert_eq!(tests(one_of(KeySource::Fingerprint, &["curl", "ab"])), never, "no hash");
        assert_eq!(tests(one_of(KeySource::Fingerprint, &["curl", &"aB".repeat(32)])), []);
        let inside = |v4, network: &str| {
            let networks = ValueTest::Within(vec![network.parse().unwrap()]);
            tests(Condition::Value(KeySource::Prefix { v4, v6: 64 }, networks))
        };
        assert_eq!(inside(24, "10.0.0.7/32"), never, "a network of 24 bits is in none of 32");
        assert_eq!(inside(24, "2001:db8::7/128"), never);
        assert_eq!(inside(24, "10.0.0.0/24"), []);
        assert_eq!(inside(24, "2001:db8::/64"), []);
    }

    #[test]
    fn a_rule_that_skips_whatever_it_matches_never_applies() {
        let skipping = |condition| {
            let missing = Missing::Skip;
            let rule = Rule { keys: vec![header("x-api-key")], missing, condition, ..rule("x") };
            found([rule, super::tests::rule("rest")])
        };
        assert_eq!(skipping(not(present(header("x-api-key")))), [(LintKind::NeverMatches, "x".into())]);
        assert_eq!(skipping(not(present(header("x-other")))), []);
        assert_eq!(skipping(not(one_of(header("x-api-key"), &["a"]))), []);
    }

    #[test]
    fn a_kill_switch_that_contradicts_itself_is_told() {
        let switched = |condition| {
            let mut policy = policy([rule("x")]);
            policy.kill_switches.push(KillSwitch {
                name: "stop".into(),
                condition,
                reason: "flood".into(),
                until_unix_s: None,
                trusts_upstream_claims: false,
                source: Source::File,
                line: 9,
            });
            policy.lints()
        };
        assert_eq!(
            switched(all([path("/a"), path("/b")]))[0].to_string(),
            "line 9: kill switch `stop`: no request can meet its `match`: tests contradict each other, or no value passes one \
             of them; use `any` where one of the tests is enough, mend the value, or delete it [never-matches]"
        );
        assert_eq!(switched(all([path("/a/*"), path("/a/b")])), []);
    }

    #[test]
    fn a_limit_behind_allow_or_block_never_matches_wherever_it_stands() {
        for action in [Action::Allow, Action::Block] {
            let wide = || Rule { action, condition: path("/a/*"), ..rule("wide") };
            let inner = || Rule { condition: path("/a/b"), ..rule("inner") };
            assert_eq!(found([wide(), inner()]), [(LintKind::NeverMatches, "inner".into())]);
            assert_eq!(found([inner(), wide()]), [(LintKind::NeverMatches, "inner".into())]);
            assert_eq!(found([wide(), rule("wider")]), []);
            let trial = Rule { rollout_percent: 50, ..wide() };
            assert_eq!(found([trial, inner()]), [(LintKind::PartialRollout, "wide".into())]);
            assert_eq!(found([Rule { mode: Mode::Off, ..wide() }, inner()]), []);
        }
    }

    #[test]
    fn an_allow_that_an_earlier_tier_may_displace_decides_nothing_for_others() {
        let pro = Rule { condition: one_of(KeySource::Plan, &["pro"]), ..rule("pro") };
        let allow = Rule { action: Action::Allow, ..rule("allow") };
        let outside = Rule { condition: path("/a"), ..rule("outside") };
        assert_eq!(found_in(&grouped(policy([pro, allow, outside]), &[0, 1], false)), []);
    }

    #[test]
    fn block_wins_over_allow_and_not_the_reverse() {
        let block = || Rule { action: Action::Block, condition: path("/a/*"), ..rule("block") };
        let allow = || Rule { action: Action::Allow, condition: path("/a/b"), ..rule("allow") };
        assert_eq!(found([allow(), block()]), [(LintKind::NeverMatches, "allow".into())]);
        let wide_allow = Rule { condition: path("/*"), ..allow() };
        assert_eq!(found([wide_allow, block()]), []);
    }

    #[test]
    fn a_tier_behind_a_wider_one_is_unreachable() {
        let tier =
            |name: &str, plans: &[&str]| Rule { condition: one_of(KeySource::Plan, plans), ..rule(name) };
        let lints = tiers([tier("both", &["pro", "max"]), tier("pro", &["pro"]), rule("free")]).lints();
        assert_eq!(
            lints[0].to_string(),
            "line 2: rule `pro`: rule `both` on line 1, an earlier tier, takes every request that it governs, so this \
             tier never applies; put the narrower tier first, or delete this one [unreachable-tier]"
        );
        assert_eq!(lints.len(), 1);
        let sorted = [tier("pro", &["pro"]), tier("both", &["pro", "max"]), rule("free")];
        assert_eq!(found_in(&tiers(sorted)), []);
        let together = [tier("pro", &["pro"]), tier("max", &["max"]), tier("both", &["pro", "max"])];
        assert_eq!(found_in(&tiers(together)), [(LintKind::UnreachableTier, "both".into())]);
    }

    #[test]
    fn a_tier_behind_one_that_may_step_aside_is_reachable() {
        let first = || Rule { keys: vec![header("x-api-key")], ..rule("first") };
        assert_eq!(found_in(&tiers([first(), rule("rest")])), [(LintKind::UnreachableTier, "rest".into())]);
        assert_eq!(found_in(&tiers([Rule { missing: Missing::Skip, ..first() }, rule("rest")])), []);
        let watching = tiers([Rule { mode: Mode::Shadow, ..first() }, rule("rest")]);
        assert_eq!(found_in(&watching), [(LintKind::ForgottenShadow, "first".into())]);
        let trusting = |trusts| Rule {
            condition: plan_claim(&["pro"]),
            trusts_upstream_claims: trusts,
            ..rule(if trusts { "trusting" } else { "verified" })
        };
        let mut policy = tiers([trusting(false), trusting(true), rule("rest")]);
        assert_eq!(found_in(&policy), [], "a claim that only the second trusts passes the first");
        policy.rules[1].trusts_upstream_claims = false;
        assert_eq!(found_in(&policy), [(LintKind::UnreachableTier, "trusting".into())]);
    }

    #[test]
    fn outside_a_group_all_rules_apply_however_wide() {
        assert_eq!(found([rule("wide"), Rule { condition: path("/a"), ..rule("inner") }]), []);
    }
}
