use super::*;

fn matches(regex: &str, value: &str) -> bool {
    Regex::new(regex).unwrap().is_match(value)
}

#[test]
fn regexes_match_anywhere_unless_anchored() {
    assert!(matches("(?i)bot", "GoogleBot/2.1") && !matches("^bot", "Googlebot"));
    assert!(matches("^$", "") && matches("", "x") && matches("^a+$", "aaa") && !matches("^a+$", "aab"));
    assert!(matches(r"\bbot\b", "a bot b") && !matches(r"\bbot\b", "robots"));
}

#[test]
fn regexes_work_on_bytes_unless_they_say_otherwise() {
    assert!(matches("é", "café") && !matches("^.$", "é") && matches("(?u)^.$", "é"));
    assert!(!matches(r"^\w+$", "café") && matches(r"(?u)^\w+$", "café"));
    assert!(Regex::new(r"a").unwrap().is_match(b"\xffa"));
    let fault = Regex::new("[é]").unwrap_err();
    assert_eq!(fault.fix(), "put `(?u)` in front: without it a regex matches bytes");
    assert_eq!(Regex::new(r"(?u)\bx").unwrap_err(), RegexFault::UnicodeWordBoundary);
}

#[test]
fn a_match_reads_no_more_than_the_first_kibibyte() {
    let long = |tail: &str| format!("{}{tail}", "x".repeat(REGEX_INPUT_BYTES_MAX));
    assert!(!matches("bot", &long("bot")));
    assert!(matches("^x+", &long("")) && matches("^x+$", &long("")));
    assert!(!matches("^x+$", &long("x")), "the end of what is read is not the end of the value");
}

#[test]
fn regexes_with_large_automata_are_refused_with_the_fix() {
    for (regex, fix) in [
        ("a.{0,300}b.{0,300}c", "write `.*` instead of `.{0,300}`"),
        ("(?i)(bot|crawl|spider).{0,200}(scrap|curl|wget)", "write `.*` instead of `.{0,200}`"),
        ("a[^b]{1,200}c.{0,30}d", "write `[^b]+` instead of `[^b]{1,200}`"),
        ("(a{1000}){1000}", "use a smaller count than `(a{1000}){1000}`"),
    ] {
        let fault = Regex::new(regex).unwrap_err();
        assert_eq!(fault.fix(), fix, "{regex}");
        assert_eq!(
            fault.what(),
            "this regex needs a table of more than 262144 bytes, or takes too long to compile"
        );
    }
}

/// One compile takes some hundred milliseconds at the most: what makes it slow is bounded before it begins.
#[test]
fn regexes_that_take_long_to_build_are_refused() {
    let letters: String = ('a'..='z').chain('A'..='Z').flat_map(|letter| [letter, '?']).collect();
    for slow in [format!("({letters}){{10}}!"), "(?iu)(k?s?){200}x".to_owned()] {
        assert!(matches!(Regex::new(&slow), Err(RegexFault::TooLarge { .. })), "{slow}");
    }
    let classes = |count| r"[\w\W]".repeat(count);
    let fault = Regex::new(&format!("(?iu){}", classes(11))).unwrap_err();
    assert_eq!(fault, RegexFault::ManyUnicodeClasses { classes: 33 });
    assert_eq!(
        fault.to_string(),
        "this regex has 33 classes in Unicode mode; write at most 32, or delete `(?u)`"
    );
    let nested = format!("(?iu:[{}])", r"\w&&".repeat(40));
    assert!(matches!(Regex::new(&nested), Err(RegexFault::ManyUnicodeClasses { .. })));
    assert!(Regex::new(&classes(11)).is_ok(), "classes of bytes are small");
}

#[test]
fn ordinary_regexes_fit() {
    for regex in [
        "(?i)(bot|crawl|spider).*(scrap|curl|wget)",
        "(?i)(googlebot|bingbot|yandex|baiduspider|duckduckbot|slurp|facebot|ia_archiver|ahrefs|semrush|mj12bot|dotbot)",
        r"^Mozilla/5\.0 \(.*\) AppleWebKit/\d+\.\d+ .*Chrome/\d+",
        r"^sk_(live|test)_[A-Za-z0-9]{24,99}$",
        r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        r"(?i)[\w.-]{1,64}@[\w.-]{1,255}",
        r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b",
        r"(?u)^\w+$",
        ".{200,}",
    ] {
        let compiled = Regex::new(regex).unwrap();
        assert!(compiled.bytes() <= REGEX_BYTES_MAX, "{regex}");
    }
}

#[test]
fn the_worst_case_is_the_longest_input_without_a_result() {
    for (regex, bytes) in [
        ("bot", REGEX_INPUT_BYTES_MAX),
        ("^bot", 3),
        ("^(curl|wget)/[0-9]", 6),
        ("^a.*b", REGEX_INPUT_BYTES_MAX),
        ("^[0-9a-f]{32}$", 33),
        ("^.{2000}$", REGEX_INPUT_BYTES_MAX),
        ("^$", 1),
        ("", 1),
    ] {
        let Ok(compiled) = Regex::new(regex) else { continue };
        let found = compiled.bytes_read_max();
        assert!(found == bytes || found == bytes + 1, "{regex}: {found} instead of {bytes}");
    }
}
