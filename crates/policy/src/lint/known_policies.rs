//! The policies of the contract, and exactly the lints that they get.

use tollgate_core::{Cost, Limit, Rate, Span};

use super::LintKind;
use super::built_by_hand::{
    found, found_in, grouped, header, limit, one_of, path, plan_claim, policy, rule, slow,
};
use crate::{Action, CostPlan, CostSource, KeySource, Rule};

#[test]
fn one_limit_per_address_is_told_of_ipv6_and_nothing_else() {
    let per_client = Rule { action: limit(5, 10), ..rule("per-address") };
    let per_address = Rule { keys: vec![KeySource::Address], ..per_client.clone() };
    assert_eq!(found([per_address]), [(LintKind::RotatableKey, "per-address".into())]);
    assert_eq!(found([per_client]), []);
}

#[test]
fn enterprise_before_free_is_asked_to_write_its_group_out_and_nothing_else() {
    let by_key = |name: &str, action| Rule { keys: vec![header("x-api-key")], action, ..rule(name) };
    let enterprise =
        Rule { condition: plan_claim(&["enterprise"]), ..by_key("enterprise", limit(1_000, 2_000)) };
    let rules = [enterprise, by_key("free", limit(10, 20))];
    let implicit = [(LintKind::ImplicitTier, "free".into())];
    assert_eq!(found_in(&grouped(policy(rules.clone()), &[0, 1], true)), implicit);
    assert_eq!(found_in(&grouped(policy(rules), &[0, 1], false)), [], "written out");
}

#[test]
fn users_endpoints_and_global_together_get_none() {
    let user = |name: &str, plan: &str, action| Rule {
        keys: vec![KeySource::User],
        condition: one_of(KeySource::Plan, &[plan]),
        action,
        ..rule(name)
    };
    let search = Rule {
        keys: Vec::new(),
        condition: path("/api/search"),
        action: limit(1_000, 2_000),
        ..rule("search")
    };
    let global = Rule { keys: Vec::new(), action: limit(50_000, 100_000), ..rule("global") };
    let rules = [user("free", "free", limit(10, 50)), user("pro", "pro", limit(100, 500)), search, global];
    assert_eq!(found(rules.clone()), []);
    assert_eq!(found_in(&grouped(policy(rules.clone()), &[0, 1], false)), []);
    let per_address = [rule("ip")];
    assert_eq!(found(rules.into_iter().chain(per_address)), []);
}

#[test]
fn presets_get_none() {
    for action in [limit(1, 60), limit(10, 100), limit(50, 500), slow(3, 1_000, 5)] {
        assert_eq!(found([Rule { action, ..rule("preset") }]), []);
        assert_eq!(found([Rule { action, keys: vec![KeySource::User], ..rule("preset") }]), []);
    }
    let reset =
        Rule { action: slow(3, 1_000, 5), condition: path("/password/reset"), ..rule("password-reset") };
    assert_eq!(found([reset]), []);
}

#[test]
fn burst_hints_get_none_at_any_rate() {
    for per_second in [1, 10, 1_000, 100_000] {
        for times in [5, 1, 10] {
            assert_eq!(found([Rule { action: limit(per_second, times * per_second), ..rule("hint") }]), []);
        }
        let credit = Limit::with_credit(Rate::per_second(per_second), Span::from_secs(300)).unwrap();
        assert_eq!(found([Rule { action: Action::Limit(credit.into()), ..rule("burst-credit") }]), []);
    }
}

#[test]
fn the_cost_header_of_llm_tools_is_fine_with_a_burst_of_one_second() {
    let tools = |burst, max| {
        let source = CostSource::Header("x-cost".into());
        let cost = CostPlan { source, max: Cost::tokens(max), ..CostPlan::ONE };
        Rule { action: limit(100, burst), cost, ..rule("llm-tools") }
    };
    assert_eq!(found([tools(100, 100)]), []);
    assert_eq!(found([tools(500, 100)]), []);
    assert_eq!(found([tools(500, 500)]), [(LintKind::UnboundedCost, "llm-tools".into())]);
}

#[test]
fn thousands_of_tiers_and_routes_are_judged() {
    let tier = |at: usize| Rule {
        condition: one_of(KeySource::Plan, &[&format!("p{at}")]),
        ..rule(&format!("t{at}"))
    };
    let route = |at: usize| Rule {
        condition: path(&format!("/r{at}")),
        keys: vec![header("x-device")],
        ..rule(&format!("r{at}"))
    };
    let rules = (0..300).map(tier).chain((0..2_000).map(route));
    let members: Vec<_> = (0..300).collect();
    let lints = grouped(policy(rules), &members, false).lints();
    assert_eq!(lints.len(), 2_000);
    assert!(lints.iter().all(|lint| lint.kind == LintKind::RotatableKey));
}
