//! Headers and queries that are made to be slow: the work grows with their bytes, and no rule lets them by.

use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::against_the_naive::RawHeaders;
use super::spellings::{BLOCKED, block, rule_on};
use crate::built_by_hand::{header, is, path, policy, rule};
use crate::{
    Condition, Facts, Headers, KeySource, REGEX_INPUT_BYTES_MAX, Regex, Rule, RuleBook, Ruling, ValueTest,
    steps,
};

/// Most bytes that all rules of [`rules_on`] look at, for each byte of the request.
const STEPS_PER_BYTE_MAX: usize = 100;

/// A rule for each kind of test of the source, and one with it as the key. The request meets none of the tests.
fn rules_on(source: &KeySource) -> Vec<Rule> {
    let value = |test| block(Condition::Value(source.clone(), test));
    vec![
        block(is(source.clone(), &["wanted", "%77anted"])),
        value(ValueTest::Matches(Regex::new("wanted").unwrap())),
        value(ValueTest::Within(vec!["10.0.0.0/8".parse().unwrap()])),
        Rule { keys: vec![source.clone()], ..rule("by-value") },
    ]
}

fn steps_for(source: &KeySource, facts: &Facts<'_>) -> usize {
    let rules = rules_on(source).into_iter();
    let book = |rule| RuleBook::new(policy(vec![rule]));
    rules.map(book).map(|book| steps::of(|| _ = book.rule_on(facts, 1_000, |_| ()))).sum()
}

/// Sizes of a line and of a query, in bytes.
const SIZES: [usize; 2] = [2_000, 16_000];

#[track_caller]
fn is_linear(source: &KeySource, facts: &Facts<'_>, bytes: usize, shown: &impl Display) {
    let steps = steps_for(source, facts);
    assert!(steps < STEPS_PER_BYTE_MAX * bytes, "{shown}: {steps} steps for {bytes} bytes");
}

/// What some server takes for white space, a bracket or a separator before a name, and names with long values.
const PIECES: [&[u8]; 22] = [
    b"+ ",
    b"%20 ",
    b"%u0020 ",
    b"[ ",
    b"%5b\t",
    b"]",
    b"\xa0",
    b"\xc2\xa0 ",
    b", ",
    b"k",
    b"k ",
    b"k+ ",
    b"k=",
    b",k=",
    b"k=;",
    b",k=\"",
    b",k=\"\\",
    b",k=%77",
    b" k=\xa0",
    b"k[ k] [k]=",
    b"=",
    b"%",
];

#[test]
fn the_work_for_a_cookie_grows_with_its_line() {
    let source = KeySource::Cookie("k".into());
    for (bytes, piece) in SIZES.into_iter().flat_map(|bytes| PIECES.map(|piece| (bytes, piece))) {
        for end in [&b""[..], b"=x", b"k=x; k=y", b"\xa0"] {
            let line = [&piece.repeat(bytes / piece.len()), end].concat();
            for lines in [vec![("cookie", &line[..])], vec![("cookie", &b"k=1"[..]), ("cookie", &line)]] {
                let headers = RawHeaders(lines);
                let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
                is_linear(&source, &facts, bytes, &piece.escape_ascii());
            }
        }
    }
}

#[test]
fn the_work_for_a_parameter_grows_with_the_query() {
    let source = KeySource::Query("k".into());
    for bytes in SIZES {
        for piece in ["k=&", "k=;", "k=a%62;", "+", "%20", "[", "k=1#", "k&", "%5B=", "%u006b=;"] {
            let target = format!("/?{}", piece.repeat(bytes / piece.len()));
            is_linear(&source, &Facts::new("GET", &target), bytes, &piece);
        }
    }
}

#[test]
fn the_work_for_a_header_grows_with_its_fields() {
    let source = header("x-k");
    for name in ["x-k", "x_k"] {
        for count in [10, 100, 1_000] {
            let lines: Vec<_> = (0..count).map(|_| (name, &b"\xa0value"[..])).collect();
            let headers = RawHeaders(lines);
            let steps = steps_for(&source, &Facts { headers: &headers, ..Facts::new("GET", "/") });
            assert!(steps < 200 * count, "{name}: {steps} steps for {count} fields");
        }
    }
}

/// Counts how often a header is looked for.
#[derive(Default)]
struct CountingHeaders(AtomicUsize);

impl Headers for CountingHeaders {
    fn get(&self, _name: &str) -> Option<&str> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Some("value")
    }

    fn each_name(&self, _visit: &mut dyn FnMut(&str)) {}

    fn each_value(&self, _name: &str, _visit: &mut dyn FnMut(&str)) {}
}

#[test]
fn a_header_is_tested_once_whatever_forms_the_path_has() {
    let regex = || Condition::Value(header("x"), ValueTest::Matches(Regex::new("wanted").unwrap()));
    let not = |condition| Condition::Not(Box::new(condition));
    let conditions = [
        regex(),
        not(regex()),
        Condition::All(vec![path("/a/*"), regex()]),
        Condition::Any(vec![path("/none"), not(not(regex())), path("/nothing")]),
    ];
    for condition in conditions {
        let limit = Rule { condition, ..rule("limit") };
        let book = RuleBook::new(policy(vec![limit]));
        for target in ["/a/b", "/a/x%2fy\\z%5c..%5cb%20", "/a/b%2f../x%2f..\\c"] {
            let headers = CountingHeaders::default();
            book.rule_on(&Facts { headers: &headers, ..Facts::new("GET", target) }, 1_000, |_| ());
            assert_eq!(headers.0.into_inner(), 1, "{target}: {:?}", book.policy().rules[0].condition);
        }
    }
}

/// A path with forms below several beginnings meets the patterns of all of them.
#[test]
fn all_patterns_together_read_1024000_bytes_of_one_request() {
    let of_header = |below: &str, at: usize| {
        let regex = Regex::new(&format!("wanted{at}")).unwrap();
        block(Condition::All(vec![Condition::Value(header("x"), ValueTest::Matches(regex)), path(below)]))
    };
    let rules: Vec<Rule> =
        (0..600).flat_map(|at| ["/a/*", "/b/*"].map(|below| of_header(below, at))).collect();
    let long = "x".repeat(REGEX_INPUT_BYTES_MAX);
    let headers = RawHeaders(vec![("x", long.as_bytes())]);
    let ruling = |rules: &[Rule], target: &str| {
        rule_on(rules, &Facts { headers: &headers, ..Facts::new("GET", target) }).0
    };
    assert_eq!(ruling(&rules, "/a/x"), Ruling::ByBuckets);
    assert_eq!(ruling(&rules, "/a/..%2f..%2fb/x"), Ruling::Blocked { rule: 1_000 });

    let globs: Vec<Rule> = (0..600).map(|at| block(path(&format!("/a/*.png{at}")))).collect();
    let target = |end: &str| format!("/a/{}{end}", &long[..1_000]);
    assert_eq!(ruling(&globs, &target("y")), Ruling::ByBuckets);
    assert!(matches!(ruling(&globs, &target("%2fy")), Ruling::Blocked { rule: 500.. }));
}

/// A restricting rule applies if there are too many values to look at.
#[test]
fn a_value_is_hidden_behind_no_number_of_others() {
    let cookie = || KeySource::Cookie("k".into());
    let with_cookie = |rule: Rule, line: &str| {
        let headers = RawHeaders(vec![("cookie", line.as_bytes())]);
        rule_on(&[rule], &Facts { headers: &headers, ..Facts::new("GET", "/") }).0
    };
    for count in [2, 16, 17, 1_000] {
        let line = "k=1; ".repeat(count);
        let expected = if count > 16 { BLOCKED } else { Ruling::ByBuckets };
        assert_eq!(with_cookie(block(is(cookie(), &["wanted"])), &line), expected, "{count}");
        assert_eq!(with_cookie(block(is(cookie(), &["wanted"])), &(line + "k=wanted")), BLOCKED, "{count}");
    }
    let with_fields = |count: usize, last: &'static [u8]| {
        let mut lines = vec![("x_k", &b"1"[..]); count];
        lines.push(("x_k", last));
        let headers = RawHeaders(lines);
        rule_on(
            &[block(is(header("x-k"), &["wanted"]))],
            &Facts { headers: &headers, ..Facts::new("GET", "/") },
        )
        .0
    };
    assert_eq!([2, 50].map(|count| with_fields(count, b"wanted")), [BLOCKED; 2]);
    assert_eq!(with_fields(2, b"1"), Ruling::ByBuckets);
}
