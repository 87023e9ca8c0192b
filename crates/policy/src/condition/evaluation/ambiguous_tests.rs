//! The truth table of ambiguous values, exhaustively and against a model of sets.

use super::*;
use crate::built_by_hand::{header, is};
use crate::path::PathForm;
use crate::request::RequestRoom;
use crate::{Facts, Headers, Regex};

/// The lines of the one field that there is.
struct Lines<'h>(&'h [&'h [u8]]);

impl Headers for Lines<'_> {
    fn get(&self, _name: &str) -> Option<&str> {
        if let [only] = self.0 { std::str::from_utf8(only).ok() } else { None }
    }

    fn each_name(&self, visit: &mut dyn FnMut(&str)) {
        self.0.iter().for_each(|_| visit("x"));
    }

    fn each_value(&self, _name: &str, visit: &mut dyn FnMut(&str)) {
        self.0.iter().filter_map(|line| std::str::from_utf8(line).ok()).for_each(visit);
    }

    fn each_line(&self, _name: &str, visit: &mut dyn FnMut(&[u8])) {
        self.0.iter().for_each(|line| visit(line));
    }
}

/// The possible results of a test whose value could be any of several: it may hold, it may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Yes,
    No,
    /// Ambiguous; `may_hold` if any of the values meets it.
    Perhaps {
        may_hold: bool,
    },
}

fn known(lines: &[&[u8]], test: &ValueTest) -> Known {
    let passes = |line: &[u8]| match (test, std::str::from_utf8(line)) {
        (ValueTest::Present, _) => true,
        (_, _) if line.is_empty() => false,
        (ValueTest::OneOf(values), _) => values.iter().any(|value| value.as_bytes() == line),
        (ValueTest::Matches(_), Err(_)) => true,
        (ValueTest::Matches(_), Ok(line)) if line.len() > 1_024 => true,
        (ValueTest::Matches(regex), Ok(line)) => regex.is_match(line),
        (ValueTest::Within(networks), Ok(line)) => line
            .parse()
            .is_ok_and(|address: IpAddr| networks.iter().any(|network| network.contains(&address))),
        (ValueTest::Within(_), Err(_)) => false,
    };
    let may_hold = lines.iter().any(|line| passes(line));
    match lines {
        [] => Known::No,
        [only] => {
            let is_unreadable = std::str::from_utf8(only).is_err() || only.len() > 4_096;
            let is_too_long = matches!(test, ValueTest::Matches(_)) && only.len() > 1_024;
            match only.is_empty() {
                _ if is_unreadable || is_too_long => Known::Perhaps { may_hold },
                // An empty value is missing, but the name occurs.
                true if matches!(test, ValueTest::Present) => Known::No,
                _ if may_hold => Known::Yes,
                _ => Known::No,
            }
        }
        _ => Known::Perhaps { may_hold },
    }
}

/// A restricting rule takes what may hold, and what may fail under `not`; a favoring rule takes only what is certain.
fn expected(known: Known, nots: usize, is_strict: bool) -> bool {
    let is_negated = nots % 2 == 1;
    match known {
        Known::Yes => !is_negated,
        Known::No => is_negated,
        Known::Perhaps { .. } if is_strict => false,
        Known::Perhaps { may_hold } => is_negated || may_hold,
    }
}

#[test]
fn the_truth_table_of_ambiguous_values_is_kept() {
    let (long, longer) = ([b'a'; 2_000], [b'a'; 5_000]);
    let pieces: [&[u8]; 7] = [b"a", b"b", b"", b"a\xff", b"10.0.0.1", &long, &longer];
    let mut all_lines: Vec<Vec<&[u8]>> = vec![Vec::new()];
    for first in pieces {
        all_lines.push(vec![first]);
        for second in pieces {
            all_lines.push(vec![first, second]);
            all_lines.extend(pieces.map(|third| vec![first, second, third]));
        }
    }
    let tests = [
        ValueTest::Present,
        ValueTest::OneOf(vec!["a".into()]),
        ValueTest::OneOf(vec!["c".into(), "b".into()]),
        ValueTest::Matches(Regex::new("^a$").unwrap()),
        ValueTest::Matches(Regex::new("z").unwrap()),
        ValueTest::Within(vec!["10.0.0.0/8".parse().unwrap()]),
    ];
    for lines in &all_lines {
        let headers = Lines(lines);
        let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
        let mut room = RequestRoom::default();
        let request = Request::new(&facts, &mut room);
        for test in &tests {
            for (is_strict, reading) in [(false, Reading::Wide), (true, Reading::Strict)] {
                let view = View { trusts_upstream: false, reading, form: PathForm::SENT };
                let mut condition = Condition::Value(header("x"), test.clone());
                for nots in 0..4 {
                    let mut wanted = expected(known(lines, test), nots, is_strict);
                    let occurs_empty = lines[..] == [b""] && matches!(test, ValueTest::Present);
                    // `present` of a restricting rule holds if the name occurs, and its `not` if there is no value; those of
                    // a favoring rule hold in neither case.
                    if occurs_empty {
                        wanted = !is_strict;
                    }
                    let shown: Vec<_> = lines.iter().map(|line| line.escape_ascii().to_string()).collect();
                    let held = holds(&condition, &request, view);
                    assert_eq!(held, wanted, "{shown:?} {test:?}, {nots} nots, strict {is_strict}");
                    condition = Condition::Not(Box::new(condition));
                }
            }
        }
    }
}

/// The truth table for a cookie with several readings, and for claims of a token that occurs twice.
#[test]
fn the_truth_table_of_spellings_is_kept() {
    let tests = [
        ValueTest::Present,
        ValueTest::OneOf(vec!["a".into()]),
        ValueTest::OneOf(vec!["c".into(), "b".into()]),
        ValueTest::Matches(Regex::new("^a$").unwrap()),
        ValueTest::Within(vec!["10.0.0.0/8".parse().unwrap()]),
    ];
    let cookie = || crate::KeySource::Cookie("x".into());
    // The lines of the field, the source, the value that they may mean (`None` if any), and whether they are clear.
    let cases = [
        (&[&b"x=a"[..]][..], cookie(), Some("a"), true),
        (&[b"x=\"a\""], cookie(), Some("a"), false),
        (&[b"x=\"\\141\""], cookie(), Some("a"), false),
        (&[b"x=%61"], cookie(), Some("a"), false),
        (&[b"x=%62; y=a"], cookie(), Some("b"), false),
        (&[b"x=%31%30.0.0.1"], cookie(), Some("10.0.0.1"), false),
        (&[b"y=1 x=b"], cookie(), Some("b"), false),
        (&[b"Bearer a", b"Bearer b"], crate::built_by_hand::claim("sub"), None, false),
        (&[b"Bearer a\xff"], crate::KeySource::User, None, false),
    ];
    for (lines, source, value, is_clear) in cases {
        let headers = Lines(lines);
        let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
        let mut room = RequestRoom::default();
        let request = Request::new(&facts, &mut room);
        for test in &tests {
            let may_hold = value.is_none_or(|value| known(&[value.as_bytes()], test) == Known::Yes);
            let known = match (is_clear, may_hold) {
                (true, true) => Known::Yes,
                (true, false) => Known::No,
                (false, may_hold) => Known::Perhaps { may_hold },
            };
            for (is_strict, reading) in [(false, Reading::Wide), (true, Reading::Strict)] {
                let view = View { trusts_upstream: false, reading, form: PathForm::SENT };
                let mut condition = Condition::Value(source.clone(), test.clone());
                for nots in 0..4 {
                    let held = holds(&condition, &request, view);
                    let wanted = expected(known, nots, is_strict);
                    assert_eq!(held, wanted, "{value:?} {source} {test:?}, {nots} nots, strict {is_strict}");
                    condition = Condition::Not(Box::new(condition));
                }
            }
        }
    }
}

/// The maximum holds for all values of a name together: many values give a client no more of the regex's time than one.
#[test]
fn a_regex_reads_1024_bytes_of_all_values_together() {
    let value = [b'a'; 512];
    let regex = Condition::Value(header("x"), ValueTest::Matches(Regex::new("z").unwrap()));
    let holds_for = |lines: &[&[u8]]| {
        let headers = Lines(lines);
        let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
        let mut room = RequestRoom::default();
        let view = View { trusts_upstream: false, reading: Reading::Wide, form: PathForm::SENT };
        holds(&regex, &Request::new(&facts, &mut room), view)
    };
    assert!(!holds_for(&[&value, &value]), "1,024 bytes are read whole");
    assert!(holds_for(&[&value, &value, b"a"]), "the last value cannot be read");
}

/// Values that are short, empty or undecodable use up the maximum as well.
#[test]
fn at_most_64_values_of_a_name_are_read() {
    let tests = [
        ValueTest::Matches(Regex::new("z").unwrap()),
        ValueTest::Within(vec!["10.0.0.0/8".parse().unwrap()]),
    ];
    for test in tests {
        let condition = Condition::Value(crate::KeySource::Query("k".into()), test);
        let holds_for = |count: usize| {
            let target = format!("/?{}", "k=+&".repeat(count));
            let facts = Facts::new("GET", &target);
            let mut room = RequestRoom::default();
            let view = View { trusts_upstream: false, reading: Reading::Wide, form: PathForm::SENT };
            holds(&condition, &Request::new(&facts, &mut room), view)
        };
        assert!(!holds_for(64) && holds_for(65), "{condition:?}");
    }
}

/// A rule that favors never applies where one that restricts would not, whatever the condition.
#[test]
fn what_is_certain_is_possible() {
    let mut random = fastrand::Rng::with_seed(7);
    let pieces: [&[u8]; 4] = [b"a", b"b", b"", b"\xff"];
    for _ in 0..20_000 {
        let lines: Vec<&[u8]> = (0..random.usize(..4)).map(|_| pieces[random.usize(..4)]).collect();
        let headers = Lines(&lines);
        let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
        let condition = any_condition(&mut random, 3);
        let mut room = RequestRoom::default();
        let request = Request::new(&facts, &mut room);
        let view = |reading| View { trusts_upstream: false, reading, form: PathForm::SENT };
        let (wide, strict) = (view(Reading::Wide), view(Reading::Strict));
        let (may_hold, is_certain) = (holds(&condition, &request, wide), holds(&condition, &request, strict));
        assert!(may_hold || !is_certain, "{lines:?} {condition:?}");
        let is_clear = lines.len() < 2 && lines.iter().all(|line| std::str::from_utf8(line).is_ok());
        if is_clear && lines[..] != [b""] {
            assert_eq!(may_hold, is_certain, "{lines:?} {condition:?}");
        }
    }
}

fn any_condition(random: &mut fastrand::Rng, depth: u8) -> Condition {
    match random.u8(if depth == 0 { 3..6 } else { 0..6 }) {
        0 => Condition::Not(Box::new(any_condition(random, depth - 1))),
        1 => Condition::All((0..2).map(|_| any_condition(random, depth - 1)).collect()),
        2 => Condition::Any((0..2).map(|_| any_condition(random, depth - 1)).collect()),
        3 => is(header("x"), &["a"]),
        4 => Condition::Value(header("x"), ValueTest::Present),
        _ => Condition::Value(header("x"), ValueTest::Matches(Regex::new("b").unwrap())),
    }
}
