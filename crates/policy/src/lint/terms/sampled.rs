//! What is said of random conditions is held against every request of a small world.

use super::Terms;
use crate::lint::built_by_hand::path_test;
use crate::{Condition, HostPattern, KeySource, MethodSet, PathPattern, PathTest, ValueTest};

const METHODS: [&str; 3] = ["GET", "POST", "PURGE"];
const PATHS: [&str; 12] =
    ["*", "/", "/a", "/A", "/a/", "/a/b", "/a/B/", "/b", "/b/a", "/a/b/c", "/a/b.png", "/A/b.PNG/"];
const HOSTS: [&str; 4] = ["x.com", "a.x.com", "b.a.x.com", "y.com"];
const VALUES: [Option<&str>; 5] = [None, Some("p"), Some("pq"), Some("10.0.0.1"), Some("11.0.0.1")];

const PATTERNS: [&str; 12] =
    ["/", "/a", "/a/", "/a/b", "/b", "/*", "/a/*", "/a/b/*", "/{x}", "/a/{x}", "/{x}/b", "/a/*.png"];

struct Sample {
    method: &'static str,
    path: &'static str,
    host: &'static str,
    value: Option<&'static str>,
}

#[test]
fn what_covers_really_covers_and_what_never_matches_really_never_does() {
    let world = world();
    let (mut covering, mut never, mut apart) = (0, 0, 0);
    for seed in 0..3_000 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (outer, inner) = (condition(&mut rng, 2), condition(&mut rng, 2));
        let (outer_terms, inner_terms) = (Terms::of(&outer), Terms::of(&inner));
        let holds =
            |condition: &Condition| world.iter().map(|sample| meets(condition, sample)).collect::<Vec<_>>();
        let (in_outer, in_inner) = (holds(&outer), holds(&inner));
        let mut pairs = in_outer.iter().zip(&in_inner);
        if outer_terms.covers(&inner_terms) {
            covering += 1;
            assert!(
                pairs.clone().all(|(outer, inner)| *outer || !inner),
                "seed {seed}: {outer:?}\ncovers {inner:?}"
            );
        }
        if inner_terms.is_never() {
            never += 1;
            assert!(!in_inner.contains(&true), "seed {seed}: never {inner:?}");
        }
        if !outer_terms.may_meet(&inner_terms) {
            apart += 1;
            assert!(
                !pairs.any(|(outer, inner)| *outer && *inner),
                "seed {seed}: {outer:?}\nexcludes {inner:?}"
            );
        }
    }
    assert!(covering > 200 && never > 100 && apart > 200, "too few: {covering} {never} {apart}");
}

#[test]
fn among_single_tests_nearly_all_that_is_covered_is_seen() {
    let world: Vec<_> = world().into_iter().step_by(HOSTS.len() * VALUES.len()).collect();
    let (mut seen, mut true_of_world) = (0, 0);
    for seed in 0..800 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (outer, inner) = (path_condition(&mut rng, false), path_condition(&mut rng, false));
        let is_covered = world.iter().all(|sample| meets(&outer, sample) || !meets(&inner, sample));
        true_of_world += usize::from(is_covered);
        seen += usize::from(Terms::of(&outer).covers(&Terms::of(&inner)));
    }
    // The world is small, so some patterns cover others in it alone.
    assert!(seen * 10 > true_of_world * 7, "{seen} of {true_of_world}");
}

fn world() -> Vec<Sample> {
    let mut world = Vec::new();
    for method in METHODS {
        for path in PATHS {
            for host in HOSTS {
                world.extend(VALUES.iter().map(|value| Sample { method, path, host, value: *value }));
            }
        }
    }
    world
}

fn condition(rng: &mut fastrand::Rng, depth: u32) -> Condition {
    let several = |rng: &mut fastrand::Rng| (0..rng.usize(0..4)).map(|_| condition(rng, depth - 1)).collect();
    match rng.u8(0..if depth == 0 { 4 } else { 8 }) {
        0 => path_condition(rng, true),
        1 => {
            let methods = METHODS.iter().filter(|_| rng.bool()).map(|name| MethodSet::of(name));
            Condition::Method(methods.fold(MethodSet::NONE, MethodSet::with))
        }
        2 => host(rng),
        3 => value(rng),
        4 => Condition::All(several(rng)),
        5 => Condition::Any(several(rng)),
        6 => Condition::Not(Box::new(condition(rng, depth - 1))),
        _ => Condition::Always,
    }
}

fn path_condition(rng: &mut fastrand::Rng, may_be_strict: bool) -> Condition {
    let keeps_slash = may_be_strict && rng.bool();
    let mut pattern = PATTERNS[rng.usize(0..PATTERNS.len())];
    if !keeps_slash && pattern.len() > 1 {
        pattern = pattern.trim_end_matches('/');
    }
    let mut test = path_test(pattern, may_be_strict && rng.bool(), keeps_slash);
    if keeps_slash
        && rng.bool()
        && let PathPattern::Prefix(prefix) = &mut test.pattern
        && **prefix != *"/"
    {
        *prefix = format!("{prefix}/").into();
    }
    Condition::Path(test)
}

fn host(rng: &mut fastrand::Rng) -> Condition {
    let host = HOSTS[rng.usize(0..HOSTS.len())];
    Condition::Host(if rng.bool() {
        HostPattern::Exact(host.into())
    } else {
        HostPattern::Below(format!(".{host}").into())
    })
}

fn value(rng: &mut fastrand::Rng) -> Condition {
    let values = VALUES.iter().flatten();
    let networks = ["10.0.0.0/8", "10.0.0.0/16", "11.0.0.0/8", "0.0.0.0/0"];
    let test = match rng.u8(0..4) {
        0 => ValueTest::OneOf(values.filter(|_| rng.bool()).map(|value| (*value).into()).collect()),
        1 => ValueTest::Matches(crate::Regex::new(["^p", "q", "0", "^1"][rng.usize(0..4)]).unwrap()),
        2 => ValueTest::Within(
            networks.iter().filter(|_| rng.bool()).map(|net| net.parse().unwrap()).collect(),
        ),
        _ => ValueTest::Present,
    };
    Condition::Value(KeySource::Header("h".into()), test)
}

/// Whether a request meets a condition: the plainest evaluation there is.
fn meets(condition: &Condition, sample: &Sample) -> bool {
    match condition {
        Condition::Always => true,
        Condition::All(all) => all.iter().all(|one| meets(one, sample)),
        Condition::Any(any) => any.iter().any(|one| meets(one, sample)),
        Condition::Not(inner) => !meets(inner, sample),
        Condition::Path(test) => path_meets(test, sample.path),
        Condition::Method(methods) => methods.meets(MethodSet::of(sample.method)),
        Condition::Host(HostPattern::Exact(host)) => **host == *sample.host,
        Condition::Host(HostPattern::Below(suffix)) => {
            sample.host.len() > suffix.len() && sample.host.ends_with(&**suffix)
        }
        Condition::Value(_, test) => sample.value.is_some_and(|value| match test {
            ValueTest::OneOf(values) => values.iter().any(|one| **one == *value),
            ValueTest::Matches(regex) => regex.is_match(value),
            ValueTest::Within(networks) => value
                .parse()
                .is_ok_and(|address: std::net::IpAddr| networks.iter().any(|net| net.contains(&address))),
            ValueTest::Present => true,
        }),
        Condition::Client(_) => false,
    }
}

fn path_meets(test: &PathTest, path: &str) -> bool {
    let path = if test.is_case_sensitive { path.to_owned() } else { path.to_ascii_lowercase() };
    let path = match path.strip_suffix('/') {
        Some(trimmed) if !test.keeps_trailing_slash && !trimmed.is_empty() => trimmed,
        _ => &path,
    };
    match &test.pattern {
        PathPattern::Exact(exact) => **exact == *path,
        PathPattern::Prefix(prefix) if **prefix == *"/" => true,
        PathPattern::Prefix(prefix) if prefix.ends_with('/') => path.starts_with(&**prefix),
        PathPattern::Prefix(prefix) => path == &**prefix || path.starts_with(&format!("{prefix}/")),
        PathPattern::Template(parts) => path.strip_prefix('/').is_some_and(|path| {
            let segments: Vec<_> = path.split('/').collect();
            segments.len() == parts.len()
                && segments.iter().zip(parts).all(|(segment, part)| match part {
                    Some(part) => **part == **segment,
                    None => !segment.is_empty(),
                })
        }),
        PathPattern::Glob { regex, .. } => regex.is_match(path),
    }
}
