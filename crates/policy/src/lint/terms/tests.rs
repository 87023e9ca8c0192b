//! What covers what, by example.

use super::Terms;
use crate::lint::built_by_hand::{
    all, any, claim, header, method, not, one_of, path, path_test, plan_claim, present, within,
};
use crate::{Condition, HostPattern, KeySource, PathPattern, PathTest, ValueTest};

#[track_caller]
fn check(outer: &Condition, inner: &Condition, expected: bool) {
    assert_eq!(Terms::of(outer).covers(&Terms::of(inner)), expected, "{outer:?}\ncovers {inner:?}");
}

fn is_never(condition: &Condition) -> bool {
    Terms::of(condition).is_never()
}

fn host(text: &str) -> Condition {
    Condition::Host(match text.strip_prefix('*') {
        Some(suffix) => HostPattern::Below(suffix.into()),
        None => HostPattern::Exact(text.into()),
    })
}

fn matches(source: KeySource, regex: &str) -> Condition {
    Condition::Value(source, ValueTest::Matches(crate::Regex::new(regex).unwrap()))
}

#[test]
fn always_covers_everything_and_only_always_covers_always() {
    check(&Condition::Always, &path("/a"), true);
    check(&Condition::Always, &Condition::Always, true);
    check(&path("/a"), &Condition::Always, false);
    check(&all([]), &path("/a"), true);
    check(&any([]), &path("/a"), false);
    check(&path("/a"), &any([]), true);
    check(&path("/*"), &path("/a/{b}"), true);
}

#[test]
fn paths_lie_within_prefixes_templates_and_globs() {
    for (outer, inner) in [
        ("/a", "/a"),
        ("/a/*", "/a"),
        ("/a/*", "/a/b/c"),
        ("/a/*", "/a/b/*"),
        ("/a/*", "/a/{id}"),
        ("/a/*", "/a/**/c.png"),
        ("/a/{id}", "/a/7"),
        ("/a/{id}", "/a/{name}"),
        ("/{x}/{y}", "/a/{id}"),
        ("/a/*.png", "/a/b.png"),
        ("/a/*.png", "/a/*.png"),
    ] {
        check(&path(outer), &path(inner), true);
    }
    for (outer, inner) in [
        ("/a", "/a/*"),
        ("/a", "/ab"),
        ("/a/*", "/ab"),
        ("/a/b/*", "/a/*"),
        ("/a/{id}", "/a"),
        ("/a/{id}", "/a/b/c"),
        ("/a/{id}", "/a/*"),
        ("/a/7", "/a/{id}"),
        ("/a/b/*", "/a/{id}/c"),
        ("/a/*.png", "/a/b.jpg"),
        ("/a/*.png", "/a/{id}"),
        ("/a/b/*", "/a/**/c.png"),
    ] {
        check(&path(outer), &path(inner), false);
    }
}

#[test]
fn what_is_strict_never_covers_what_is_lenient() {
    let exact = |text, case, slash| Condition::Path(path_test(text, case, slash));
    check(&exact("/a", true, false), &exact("/a", false, false), false);
    check(&exact("/a", false, true), &exact("/a", false, false), false);
    check(&exact("/a", false, false), &exact("/A", true, false), true);
    check(&exact("/a", false, false), &exact("/a/", false, true), true);
    check(&exact("/a", true, true), &exact("/a/", true, true), false);
    check(&exact("/a/{x}", true, true), &exact("/a/", true, true), false);
    check(&exact("/a/{x}", true, true), &exact("/a/b", true, true), true);
    let with_slash = |slash| {
        let pattern = PathPattern::Prefix("/a/".into());
        Condition::Path(PathTest { pattern, is_case_sensitive: false, keeps_trailing_slash: slash })
    };
    check(&with_slash(true), &exact("/a", false, true), false);
    check(&with_slash(true), &with_slash(true), true);
    check(&path("/a/*"), &with_slash(true), true);
}

#[test]
fn hosts_lie_below_their_domain_but_not_at_it() {
    check(&host("*.example.com"), &host("a.example.com"), true);
    check(&host("*.example.com"), &host("*.a.example.com"), true);
    check(&host("*.example.com"), &host("example.com"), false);
    check(&host("*.example.com"), &host("badexample.com"), false);
    check(&host("a.example.com"), &host("*.example.com"), false);
    assert!(is_never(&all([host("example.com"), host("*.example.com")])));
}

#[test]
fn values_are_tried_on_the_test() {
    let plan = || claim("plan");
    check(&plan_claim(&["a", "b"]), &plan_claim(&["b"]), true);
    check(&plan_claim(&["a"]), &plan_claim(&["a", "b"]), false);
    check(&present(plan()), &plan_claim(&["a"]), true);
    check(&present(plan()), &matches(plan(), "x"), true);
    check(&present(claim("other")), &plan_claim(&["a"]), false);
    check(&matches(plan(), "^ent"), &plan_claim(&["enterprise"]), true);
    check(&matches(plan(), "^ent"), &plan_claim(&["enterprise", "pro"]), false);
    check(&matches(plan(), "^ent"), &matches(plan(), "^enter"), false);
    check(&within(&["10.0.0.0/8"]), &within(&["10.1.0.0/16", "10.2.0.0/16"]), true);
    check(&within(&["10.0.0.0/8"]), &within(&["10.1.0.0/16", "11.0.0.0/8"]), false);
    check(&within(&["10.0.0.0/8"]), &one_of(KeySource::Address, &["10.1.1.1"]), true);
    check(&one_of(KeySource::Address, &["::1"]), &one_of(KeySource::Address, &["0:0::1"]), true);
    check(&within(&["10.0.0.0/8"]), &one_of(KeySource::User, &["10.1.1.1"]), false);
}

#[test]
fn the_opposite_covers_what_cannot_be_both() {
    check(&not(path("/admin/*")), &path("/api/*"), true);
    check(&not(path("/admin/*")), &path("/admin/x"), false);
    check(&not(plan_claim(&["free"])), &plan_claim(&["pro"]), true);
    check(&not(plan_claim(&["free"])), &not(plan_claim(&["free", "pro"])), true);
    check(&not(plan_claim(&["free", "pro"])), &not(plan_claim(&["free"])), false);
    check(&not(method(&["GET"])), &method(&["POST"]), true);
    check(&plan_claim(&["pro"]), &not(plan_claim(&["free"])), false);
}

#[test]
fn several_cover_together_what_none_covers_alone() {
    let tiers = any([plan_claim(&["a"]), plan_claim(&["b"])]);
    check(&tiers, &plan_claim(&["a", "b"]), true);
    check(&tiers, &plan_claim(&["a", "c"]), false);
    check(&any([method(&["GET"]), not(method(&["GET"]))]), &path("/a"), true);
    let halves = any([all([method(&["GET"]), path("/a")]), all([method(&["POST"]), path("/a/*")])]);
    check(&halves, &all([method(&["GET", "POST"]), path("/a")]), true);
    check(&halves, &all([method(&["GET", "POST"]), path("/a/b")]), false);
}

#[test]
fn all_covers_only_what_every_part_covers() {
    check(&all([method(&["GET"]), path("/a/*")]), &all([path("/a/b"), method(&["GET"])]), true);
    check(&all([method(&["GET"]), path("/a/*")]), &path("/a/b"), false);
    check(&path("/a/*"), &all([path("/a/b"), plan_claim(&["x"])]), true);
}

#[test]
fn contradictions_are_seen() {
    for never in [
        all([path("/a"), path("/b")]),
        all([path("/a"), path("/a/{id}")]),
        all([path("/a/*"), not(path("/*"))]),
        all([path("/a/b"), not(path("/a/*"))]),
        all([path("/a/b.jpg"), path("/a/*.png")]),
        all([method(&["GET"]), method(&["POST"])]),
        all([plan_claim(&["a"]), plan_claim(&["b"])]),
        all([plan_claim(&["a"]), not(present(claim("plan")))]),
        all([plan_claim(&["a", "b"]), not(plan_claim(&["a"])), not(plan_claim(&["b"]))]),
        all([plan_claim(&["free"]), matches(claim("plan"), "^pro")]),
        all([within(&["10.0.0.0/8"]), within(&["11.0.0.0/8"])]),
        plan_claim(&[]),
        within(&[]),
        method(&[]),
        not(Condition::Always),
        any([]),
    ] {
        assert!(is_never(&never), "{never:?}");
    }
}

#[test]
fn what_may_be_is_no_contradiction() {
    for may_be in [
        all([path("/a/*"), path("/a/{id}")]),
        all([path("/{x}/b"), path("/a/{y}")]),
        all([path("/a/b.png"), Condition::Path(path_test("/a/*.PNG", true, false))]),
        all([path("/a/b"), not(path("/a/c"))]),
        all([plan_claim(&["a", "b"]), plan_claim(&["b", "c"])]),
        all([one_of(header("x"), &["a"]), one_of(header("y"), &["b"])]),
        all([one_of(KeySource::User, &["a"]), one_of(KeySource::User, &["A"])]),
        all([matches(claim("plan"), "^a"), matches(claim("plan"), "^b")]),
        all([within(&["10.0.0.0/8"]), within(&["10.1.0.0/16"])]),
        not(present(header("x"))),
    ] {
        assert!(!is_never(&may_be), "{may_be:?}");
    }
}

#[test]
fn a_cover_that_takes_too_many_splits_to_see_is_given_up() {
    let names: Vec<String> = (0..20).map(|at| format!("h{at}")).collect();
    let (last, others) = names.split_last().unwrap();
    let wide = Condition::All(names.iter().map(|name| one_of(header(name), &["a", "b"])).collect());
    let distraction = Condition::All(others.iter().map(|name| one_of(header(name), &["c"])).collect());
    let halves = || any([one_of(header(last), &["a"]), one_of(header(last), &["b"])]);
    check(&halves(), &wide, true);
    check(&any([distraction, halves()]), &wide, false);
}

#[test]
fn what_is_too_long_to_judge_covers_nothing_and_is_not_called_never() {
    let names: Vec<String> = (0..9).map(|at| format!("h{at}")).collect();
    let either = |name: &String| any([one_of(header(name), &["a"]), one_of(header(name), &["b"])]);
    let long = Condition::All(names.iter().map(either).collect());
    assert!(!Terms::of(&long).is_judged());
    assert!(!is_never(&long));
    check(&long, &long, false);
    check(&path("/*"), &long, false);
    check(&Condition::Always, &long, true);
}
