use tollgate_core::{Concurrency, Cost, LeakyBucket, Rate, SlidingLog};

use super::*;
use crate::lint::built_by_hand::{claim, limit, policy, rule, slow};
use crate::{CostPlan, Mode, StoreSettings};

/// What these lints say, of a policy with a store for so many instances.
fn told(rules: impl IntoIterator<Item = Rule>, instances_max: Option<u32>) -> Vec<String> {
    let store = Some(StoreSettings { instances_max, ..StoreSettings::default() });
    told_of(&Policy { store, ..policy(rules) })
}

fn told_of(policy: &Policy) -> Vec<String> {
    let ours = [LintKind::ExactSharedTier, LintKind::CannotLease];
    policy.lints().into_iter().filter(|lint| ours.contains(&lint.kind)).map(|lint| lint.to_string()).collect()
}

fn everyone() -> Rule {
    Rule { scope: Scope::Global, keys: Vec::new(), action: limit(50_000, 100_000), ..rule("everyone") }
}

fn leased(rule: Rule) -> Rule {
    Rule { consistency: Consistency::Leased, ..rule }
}

#[test]
fn a_shared_tier_that_could_be_leased_is_told() {
    assert_eq!(
        told([everyone()], Some(8)),
        [
            "line 1: rule `everyone`: many clients share its bucket, and the store is asked for each of their requests; write \
          `consistency: leased`: instances then take tokens ahead, within the same bound [exact-shared-tier]"
        ]
    );
    assert!(
        told([everyone()], None)[0].contains("instances (up to 200 of them) then"),
        "20,000 per lease, 100 each"
    );
    let organisation = Rule { scope: Scope::Organisation, keys: vec![claim("org")], ..everyone() };
    let route = Rule { scope: Scope::Endpoint, ..everyone() };
    let constant =
        Rule { scope: Scope::Endpoint, keys: vec![KeySource::Constant("all".into())], ..everyone() };
    for shared in [organisation, route, constant] {
        assert_eq!(told([shared], Some(8)).len(), 1);
    }
}

#[test]
fn what_is_not_shared_or_leased_or_too_small_or_off_is_not_told() {
    let user = Rule { scope: Scope::User, keys: vec![KeySource::User], ..everyone() };
    let small = Rule { action: limit(100, 1_000), ..everyone() };
    let off = Rule { mode: Mode::Off, ..everyone() };
    let allowed = Rule { action: Action::Allow, ..everyone() };
    for fine in [user, leased(everyone()), small, off, allowed] {
        assert_eq!(told([fine], Some(8)), Vec::<String>::new());
    }
    assert_eq!(told([everyone()], Some(201)), Vec::<String>::new(), "too small for so many instances");
}

#[test]
fn a_policy_that_says_nothing_of_a_store_is_not_nagged() {
    assert_eq!(told_of(&policy([everyone()])), Vec::<String>::new());
    let other = leased(Rule { name: "other".into(), ..everyone() });
    assert_eq!(
        told_of(&policy([everyone(), other])).len(),
        1,
        "a rule that is leased says that there is one"
    );
}

#[test]
fn a_leased_rule_that_is_too_small_is_told_which_figure_and_what_it_must_be() {
    let small = |per_second, burst| leased(Rule { action: limit(per_second, burst), ..everyone() });
    assert_eq!(
        told([small(1_000, 199)], Some(4)),
        [
            "line 1: rule `everyone`: it stays exact, being too small to be leased to 4 instances at a cost of 1: `burst` is 199, \
          less than 200; write `burst: 200` or more; or delete `consistency` [cannot-lease]"
        ]
    );
    assert_eq!(
        told([small(900, 1_000)], Some(4)),
        [
            "line 1: rule `everyone`: it stays exact, being too small to be leased to 4 instances at a cost of 1: its rate brings \
          back 360 in the 400ms of a lease, less than 400; write `rate: 1000/s` or more or, in `store`, \
          `lease: 445ms`; or delete `consistency` [cannot-lease]"
        ]
    );
    assert_eq!(
        told([small(10, 20)], None),
        [
            "line 1: rule `everyone`: it stays exact, being too small to be leased to one instance (`instances_max` is not said) at \
          a cost of 1: `burst` is 20, less than 50, and its rate brings back 4 in the 400ms of a lease, less than \
          100; write `burst: 50` or more, and `rate: 250/s` or more or, in `store`, `lease: 10s`; or delete `consistency` \
          [cannot-lease]"
        ]
    );
    assert!(told([small(10, 20)], Some(1))[0].contains("leased to one instance at a cost of 1"));
    assert!(
        told([small(9, 50)], Some(1))[0].contains("write `rate: 250/s` or more; or"),
        "no lease is so long"
    );
}

#[test]
fn the_usual_cost_counts() {
    let cost = |tokens| CostPlan { default: Cost::tokens(tokens), ..CostPlan::ONE };
    let dear = |tokens| leased(Rule { cost: cost(tokens), ..everyone() });
    assert_eq!(told([dear(10)], Some(20)), Vec::<String>::new());
    assert!(told([dear(11)], Some(20))[0].contains("at a cost of 11: its rate brings back 20000"));
}

#[test]
fn figures_that_no_rule_can_have_are_not_asked_for() {
    let cost = CostPlan { default: Cost::tokens(50_000), ..CostPlan::ONE };
    let huge = leased(Rule { cost, action: limit(50_000, 1_000_000_000_000), ..everyone() });
    let lint = &told([huge], Some(10_000))[0];
    assert!(lint.contains("less than 50000000000; delete `consistency`"), "{lint}");
}

#[test]
fn other_algorithms_stay_exact_and_are_told_so() {
    let second = Span::from_secs(1);
    for action in [
        LeakyBucket::new(Rate::per_second(10_000), tollgate_core::Burst::tokens(10_000)).unwrap().into(),
        SlidingLog::new(tollgate_core::Burst::tokens(10_000), second).unwrap().into(),
        Concurrency::new(10_000, second).unwrap().into(),
    ] {
        let lints = told([leased(Rule { action: Action::Limit(action), ..everyone() })], Some(1));
        assert_eq!(
            lints,
            [format!(
                "line 1: rule `everyone`: only token buckets can be leased, and this is a `{}`: it stays exact; delete \
                 `consistency`, or use `token_bucket` [cannot-lease]",
                action.name()
            )]
        );
    }
    assert_eq!(
        told_of(&policy([leased(Rule { action: slow(1, 60, 5), ..everyone() })])).len(),
        1,
        "with or without a store"
    );
}

/// Whoever does as told is not told again.
#[test]
fn what_the_cure_asks_for_is_enough() {
    let mut rng = fastrand::Rng::with_seed(0x63_75_72_65);
    let figure = |text: &str, field: &str, end: char| {
        let value = text.split(&format!("`{field}: ")).nth(1)?;
        value.split([end, '`']).next().map(str::to_owned)
    };
    let (mut told_of_burst, mut told_of_rate, mut told_of_lease) = (0, 0, 0);
    for _ in 0..2_000 {
        let instances = rng.u32(1..50);
        let (mut rate, mut burst) = (rng.u64(1..5_000), rng.u64(1..2_000));
        let mut lease = format!("{}ms", rng.u64(100..=10_000));
        let text = |rate: u64, burst: u64, lease: &str| {
            format!(
                "{{store: {{instances_max: {instances}, lease: {lease}}}, rules: [{{scope: user, rate: {rate}/s, burst: \
                 {burst}, consistency: leased}}]}}"
            )
        };
        let lints = told_of(&Policy::parse("a", &text(rate, burst, &lease)).unwrap());
        let Some(lint) = lints.first() else { continue };
        if let Some(asked) = figure(lint, "burst", '`') {
            (burst, told_of_burst) = (asked.parse().unwrap(), told_of_burst + 1);
        }
        let (asked_rate, asked_lease) = (figure(lint, "rate", '/'), figure(lint, "lease", '`'));
        match (asked_rate, asked_lease) {
            (_, Some(asked)) if rng.bool() => (lease, told_of_lease) = (asked, told_of_lease + 1),
            (Some(asked), _) => (rate, told_of_rate) = (asked.parse().unwrap(), told_of_rate + 1),
            _ => {}
        }
        let cured = text(rate, burst, &lease);
        assert_eq!(told_of(&Policy::parse("a", &cured).unwrap()), Vec::<String>::new(), "{lint}\n{cured}");
    }
    assert!(told_of_burst.min(told_of_rate).min(told_of_lease) > 100);
}
