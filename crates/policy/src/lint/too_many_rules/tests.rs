use super::*;
use crate::built_by_hand::host;
use crate::lint::built_by_hand::{
    all, any, found, found_in, grouped, header, method, not, one_of, path, path_test, plan_claim, policy,
    rule, within,
};
use crate::{Condition, Facts, Missing, Policy, Rule, RuleBook, Ruling};

const TOO_MANY: LintKind = LintKind::TooManyRules;

/// So many rules of one condition, with names of their own.
fn many(count: usize, name: &str, condition: &Condition) -> Vec<Rule> {
    let one = |at: usize| Rule { condition: condition.clone(), ..rule(&format!("{name}{at}")) };
    (1..=count).map(one).collect()
}

/// The rules that are told to be one too many.
fn told(rules: Vec<Rule>) -> Vec<String> {
    of_kind(&policy(rules))
}

fn of_kind(policy: &Policy) -> Vec<String> {
    found_in(policy).into_iter().filter(|(kind, _)| *kind == TOO_MANY).map(|(_, rule)| rule).collect()
}

#[test]
fn the_seventeenth_rule_for_every_request_is_told() {
    assert_eq!(found(many(16, "r", &Condition::Always)), []);
    assert_eq!(found(many(17, "r", &Condition::Always)), [(TOO_MANY, "r17".into())]);
    assert_eq!(found(many(30, "r", &Condition::Always)), [(TOO_MANY, "r17".into())], "once");
    assert_eq!(
        policy(many(17, "r", &Condition::Always)).lints()[0].to_string(),
        "line 17: rule `r17`: with this rule, more than 16 apply to one request, from `r1` on line 1 on, and such a request \
         is refused; put rules of which one is enough into a group with `combine: first`, or narrow their `match` \
         [too-many-rules]"
    );
}

#[test]
fn what_is_told_is_refused_and_what_is_one_less_is_not() {
    let ruling = |count| {
        let book = RuleBook::new(policy(many(count, "r", &path("/a"))));
        book.rule_on(&Facts::new("GET", "/a"), 0, |_| {})
    };
    assert_eq!((ruling(16), ruling(17)), (Ruling::ByBuckets, Ruling::TooManyRules));
    assert_eq!(told(many(17, "r", &path("/a"))), ["r17"]);
    assert_eq!(told(many(16, "r", &path("/a"))), [""; 0]);
}

#[test]
fn rules_that_one_request_meets_are_counted_together() {
    let with = |some: &Condition, others: &Condition| {
        told([many(9, "some", some), many(8, "other", others)].concat())
    };
    assert_eq!(with(&Condition::Always, &path("/a")), ["other8"]);
    assert_eq!(with(&path("/a/*"), &path("/a/{id}")), ["other8"]);
    assert_eq!(with(&path("/a/*"), &method(&["POST"])), ["other8"]);
    assert_eq!(with(&host("*.example.com"), &path("/a")), ["other8"]);
    assert_eq!(with(&host("*.example.com"), &host("a.example.com")), ["other8"]);
    assert_eq!(with(&one_of(header("x"), &["a", "b"]), &one_of(header("x"), &["b", "c"])), ["other8"]);
    assert_eq!(with(&one_of(header("x"), &["a"]), &one_of(header("y"), &["b"])), ["other8"]);
    assert_eq!(with(&not(one_of(header("x"), &["a"])), &path("/a")), ["other8"]);
    assert_eq!(with(&any([path("/b"), path("/a")]), &path("/a")), ["other8"]);
}

#[test]
fn rules_that_no_request_meets_together_are_not() {
    let with = |some: &Condition, others: &Condition| {
        told([many(16, "some", some), many(16, "other", others)].concat())
    };
    assert_eq!(with(&path("/a"), &path("/b")), [""; 0]);
    assert_eq!(with(&path("/a/b"), &path("/a/c")), [""; 0]);
    assert_eq!(with(&path("/a/b"), &path("/a/*.png")), [""; 0]);
    assert_eq!(with(&method(&["GET"]), &method(&["POST", "PUT"])), [""; 0]);
    assert_eq!(with(&host("a.example.com"), &host("b.example.com")), [""; 0]);
    assert_eq!(with(&plan_claim(&["a"]), &plan_claim(&["b"])), [""; 0]);
    assert_eq!(with(&within(&["10.0.0.0/8"]), &within(&["11.0.0.0/8"])), [""; 0]);
    assert_eq!(with(&path("/a"), &not(path("/a"))), [""; 0]);
    let strict = |text| Condition::Path(path_test(text, false, true));
    assert_eq!(with(&strict("/a"), &strict("/a/")), [""; 0], "a slash that tells them apart");
    let routes: Vec<Rule> =
        (0..100).flat_map(|at| many(3, &format!("r{at}-"), &path(&format!("/{at}")))).collect();
    assert_eq!(told(routes), [""; 0]);
}

#[test]
fn every_crowded_route_is_told_and_no_other() {
    let rules = [many(10, "all", &Condition::Always), many(7, "a", &path("/a")), many(6, "b", &path("/b"))];
    assert_eq!(told([rules.concat(), many(8, "c", &path("/c/*"))].concat()), ["a7", "c7"]);
}

#[test]
fn a_crowded_route_is_found_among_thousands() {
    let route = |at: usize| Rule { condition: path(&format!("/api/r{at}")), ..rule(&format!("r{at}")) };
    let rules: Vec<Rule> = (0..5_000).map(route).chain(many(17, "crowd", &path("/api/z/{id}"))).collect();
    assert_eq!(told(rules), ["crowd17"]);
}

#[test]
fn of_a_group_one_rule_counts() {
    let tiers: Vec<usize> = (0..10).collect();
    let beside = |others| {
        many(10, "tier", &Condition::Always).into_iter().chain(many(others, "r", &Condition::Always))
    };
    assert_eq!(of_kind(&grouped(policy(beside(15)), &tiers, false)), [""; 0]);
    assert_eq!(of_kind(&grouped(policy(beside(16)), &tiers, false)), ["r16"]);
}

#[test]
fn rules_that_may_charge_nothing_are_not_counted() {
    let always = Condition::Always;
    let with = |last: Rule| told(many(16, "r", &always).into_iter().chain([last]).collect());
    assert_eq!(with(rule("x")), ["x"]);
    assert_eq!(with(Rule { rollout_percent: 10, ..rule("x") }), ["x"], "a tenth of the keys is refused");
    for last in [
        Rule { mode: Mode::Shadow, ..rule("x") },
        Rule { mode: Mode::Off, ..rule("x") },
        Rule { rollout_percent: 0, ..rule("x") },
        Rule { keys: vec![header("x-api-key")], missing: Missing::Skip, ..rule("x") },
        Rule { action: Action::Block, condition: path("/a"), ..rule("x") },
    ] {
        assert_eq!(with(last), [""; 0]);
    }
}

#[test]
fn what_is_let_through_is_not_refused() {
    let rules = |allowed: &str| {
        let allow = Rule { action: Action::Allow, condition: path(allowed), ..rule("allow") };
        [many(17, "r", &path("/a/b")), vec![allow]].concat()
    };
    assert_eq!(told(rules("/a/*")), [""; 0]);
    assert_eq!(told(rules("/b/*")), ["r17"]);
}

#[test]
fn whatever_is_told_some_request_is_refused() {
    let world = world();
    let (mut fired, mut refused) = (0, 0);
    for seed in 0..400 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let rules: Vec<Rule> = (0..rng.usize(17..40))
            .map(|at| Rule { condition: condition(&mut rng), ..rule(&format!("r{at}")) })
            .collect();
        let policy = policy(rules);
        let is_told = !of_kind(&policy).is_empty();
        let book = RuleBook::new(policy);
        let is_refused = world.iter().any(|(method, target, host, plan)| {
            let facts = Facts { host, plan: *plan, ..Facts::new(method, target) };
            book.rule_on(&facts, 0, |_| {}) == Ruling::TooManyRules
        });
        assert!(is_refused || !is_told, "seed {seed}");
        fired += usize::from(is_told);
        refused += usize::from(is_refused);
    }
    assert!(fired > 50 && fired < 400, "{fired}");
    assert!(fired * 10 >= refused * 9, "{fired} of {refused} are found");
}

type Sample = (&'static str, &'static str, &'static str, Option<&'static str>);

fn world() -> Vec<Sample> {
    let mut world = Vec::new();
    for method in ["GET", "POST"] {
        for target in ["/", "/a", "/a/b", "/a/c", "/b"] {
            for host in ["x.com", "a.x.com"] {
                world.extend([None, Some("p"), Some("q")].map(|plan| (method, target, host, plan)));
            }
        }
    }
    world
}

fn condition(rng: &mut fastrand::Rng) -> Condition {
    let one = |rng: &mut fastrand::Rng| match rng.u8(..8) {
        0 => Condition::Always,
        1..=3 => path(["/a", "/a/*", "/a/{x}", "/b", "/*"][rng.usize(..5)]),
        4 => method([&["GET"][..], &["POST"], &["GET", "POST"]][rng.usize(..3)]),
        5 => host(["x.com", "*.x.com"][rng.usize(..2)]),
        6 => not(one_of(KeySource::Plan, &["p"])),
        _ => one_of(KeySource::Plan, [&["p"][..], &["q"], &["p", "q"]][rng.usize(..3)]),
    };
    match rng.u8(..4) {
        0 => all([one(rng), one(rng)]),
        1 => any([one(rng), one(rng)]),
        _ => one(rng),
    }
}
