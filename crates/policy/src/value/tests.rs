use serde_json::json;

use super::*;
use crate::built_by_hand::{claim, header, header_fields};
use crate::request::RequestRoom;
use crate::{Claims, Facts};

fn found(source: &KeySource, facts: &Facts<'_>) -> Option<String> {
    let mut room = RequestRoom::default();
    let request = Request::new(facts, &mut room);
    match find(source, &request, false, &mut Scratch::default()) {
        Lookup::One(found) | Lookup::Encoded(found) => Some(found.to_string()),
        Lookup::Missing | Lookup::Ambiguous(_) => None,
    }
}

/// Why the value is ambiguous, if it is.
fn ambiguity(source: &KeySource, facts: &Facts<'_>) -> Option<Ambiguity> {
    let mut room = RequestRoom::default();
    let request = Request::new(facts, &mut room);
    find(source, &request, false, &mut Scratch::default()).ambiguity()
}

fn of_query(target: &str) -> Option<String> {
    found(&KeySource::Query("key".into()), &Facts::new("GET", target))
}

fn of_cookies(fields: &[&str]) -> Option<String> {
    let fields: Vec<(&str, &str)> = fields.iter().map(|field| ("Cookie", *field)).collect();
    let headers = header_fields(&fields);
    found(&KeySource::Cookie("id".into()), &Facts { headers: &headers, ..Facts::new("GET", "/") })
}

#[test]
fn a_field_of_the_query_is_decoded() {
    assert_eq!(of_query("/?key=abc").as_deref(), Some("abc"));
    assert_eq!(of_query("/?a=1&k%65y=a%62c&b").as_deref(), Some("abc"));
    assert_eq!(of_query("/?key=a+b%20c").as_deref(), Some("a b c"));
    assert_eq!(of_query("/?key=100%25").as_deref(), Some("100%"));
    assert_eq!(of_query("/?key=a=b").as_deref(), Some("a=b"));
    assert_eq!(of_query("/?key=abc#top").as_deref(), Some("abc"));
}

#[test]
fn a_field_of_the_query_that_is_ambiguous_empty_or_no_text_is_missing() {
    for target in
        ["/", "/?", "/?key", "/?key=", "/?KEY=1", "/?key=1&key=1", "/?key=1&k%65y=2", "/?key=%ff", "/#?key=1"]
    {
        assert_eq!(of_query(target), None, "{target}");
    }
}

#[test]
fn a_field_of_the_query_is_too_long_in_every_spelling_or_in_none() {
    let (longest, longer) = ("a".repeat(VALUE_BYTES_MAX), "a".repeat(VALUE_BYTES_MAX + 1));
    assert_eq!(of_query(&format!("/?key={longest}")), Some(longest.clone()));
    assert_eq!(of_query(&format!("/?key=%61{}", &longest[1..])), Some(longest));
    assert_eq!(of_query(&format!("/?key={longer}")), None);
    assert_eq!(of_query(&format!("/?key=%61{}", &longer[1..])), None);
}

/// K26: what other servers take for the same parameter.
#[test]
fn query_spellings_that_servers_read_differently_are_ambiguous() {
    let why = |target: &str| ambiguity(&KeySource::Query("key".into()), &Facts::new("GET", target));
    for (target, expected) in [
        ("/?key=1&key=2", Ambiguity::Repeated),
        ("/?key=1&%6bey=2", Ambiguity::Repeated),
        ("/?key=1&key=", Ambiguity::Repeated),
        ("/?key=F1;key=REAL", Ambiguity::Repeated),
        ("/?key=F1#&key=REAL", Ambiguity::Repeated),
        ("/?key=F1&KEY=REAL", Ambiguity::Repeated),
        ("/?key=REAL;1", Ambiguity::Spelling),
        ("/?x=1;key=REAL", Ambiguity::Spelling),
        ("/?x=1#key=REAL", Ambiguity::Spelling),
        ("/#?key=REAL", Ambiguity::Spelling),
        ("/?Key=REAL", Ambiguity::Spelling),
        ("/?key=%ff", Ambiguity::Undecodable),
        ("/?key=100%", Ambiguity::Undecodable),
        ("/?key=%zz", Ambiguity::Undecodable),
    ] {
        assert_eq!(why(target), Some(expected), "{target}");
    }
    let long = format!("/?key=%61{}", "a".repeat(VALUE_BYTES_MAX));
    assert_eq!(why(&long), Some(Ambiguity::TooLong));
    for target in ["/", "/?", "/?key", "/?key=", "/?keys=1;x", "/?xkey=1", "/key=1", "/?key=1;"] {
        let expected = if target == "/?key=1;" { Some(Ambiguity::Spelling) } else { None };
        assert_eq!(why(target), expected, "{target}");
    }
    assert_eq!(of_query("/?key=1&a;b").as_deref(), Some("1"), "a `;` in another parameter does not matter");
}

#[test]
fn a_cookie_is_found_in_one_field_or_in_many() {
    for fields in
        [&["id=7"][..], &["a=1; id=7; b=2"], &["a=1;id=\"7\""], &["a=1", "id=7"], &["id=7", "b=2; c=3"]]
    {
        assert_eq!(of_cookies(fields).as_deref(), Some("7"), "{fields:?}");
    }
    for fields in
        [&["id=7; id=8"][..], &["id=7", "id=7"], &["id="], &["id=\"\""], &["ID=7"], &["xid=7"], &["id"], &[]]
    {
        assert_eq!(of_cookies(fields), None, "{fields:?}");
    }
}

#[test]
fn a_header_counts_if_it_occurs_once_and_is_not_empty() {
    let headers = header_fields(&[("X-Key", " a "), ("x-two", "1"), ("X-Two", "2"), ("x-empty", " ")]);
    let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
    assert_eq!(found(&header("x-key"), &facts).as_deref(), Some("a"));
    assert_eq!(found(&header("x-two"), &facts), None);
    assert_eq!(found(&header("x-empty"), &facts), None);
    assert_eq!(found(&header("x-none"), &facts), None);
}

#[test]
fn claims_are_text_numbers_and_booleans() {
    let claims = json!({
        "sub": "alice", "n": 42, "f": 42.0, "e": 4.2e1, "half": 0.5, "minus": -7, "yes": true, "empty": "", "none": null,
        "list": [1], "org": {"id": "acme", "deep": {"er": 1}}, "https://example.com/plan": "pro", "a.b": {"c.d": "x"},
    });
    let facts = Facts { claims: Claims::Verified(&claims), ..Facts::new("GET", "/") };
    for (name, value) in [
        ("sub", "alice"),
        ("n", "42"),
        ("f", "42"),
        ("e", "42"),
        ("half", "0.5"),
        ("minus", "-7"),
        ("yes", "true"),
        ("org.id", "acme"),
        ("org.deep.er", "1"),
        ("https://example.com/plan", "pro"),
        ("a.b.c.d", "x"),
    ] {
        assert_eq!(found(&claim(name), &facts).as_deref(), Some(value), "{name}");
    }
    for name in ["empty", "none", "list", "org", "org.none", "sub.x", "absent", "a", "a.b", ""] {
        assert_eq!(found(&claim(name), &facts), None, "{name}");
    }
}

#[test]
fn a_claim_that_nobody_verified_is_missing_unless_the_rule_trusts_upstream() {
    let claims = json!({"sub": "alice"});
    let facts = Facts { claims: Claims::Unverified(&claims), ..Facts::new("GET", "/") };
    let mut room = RequestRoom::default();
    let request = Request::new(&facts, &mut room);
    let source = claim("sub");
    assert_eq!(find(&source, &request, false, &mut Scratch::default()), Lookup::Missing);
    assert!(matches!(find(&source, &request, true, &mut Scratch::default()), Lookup::One(_)));
}

#[test]
fn the_path_is_the_routes_template_where_there_is_one() {
    let facts = Facts { route: Some("/users/{id}"), ..Facts::new("GET", "/users/42") };
    assert_eq!(found(&KeySource::Path, &facts).as_deref(), Some("/users/{id}"));
    assert_eq!(found(&KeySource::Path, &Facts::new("GET", "/Users//42/?x")).as_deref(), Some("/users/42"));
    let with_host = Facts::new("GET", "//Users/42/?x");
    assert_eq!(ambiguity(&KeySource::Path, &with_host), Some(Ambiguity::Path), "`users` may be a host");
}

#[test]
fn the_user_is_the_address_where_nobody_is_authenticated() {
    let address = "::ffff:10.0.0.1".parse().ok();
    let facts = Facts { address, ..Facts::new("GET", "/") };
    assert_eq!(found(&KeySource::User, &facts).as_deref(), Some("10.0.0.1"));
    assert_eq!(found(&KeySource::User, &Facts { user: Some(""), ..facts }).as_deref(), Some("10.0.0.1"));
    assert_eq!(found(&KeySource::User, &Facts { user: Some("bob"), ..facts }).as_deref(), Some("bob"));
    assert_eq!(found(&KeySource::User, &Facts::new("GET", "/")), None);
}

fn fingerprint_of(version: &str, names: &[&str]) -> [u8; 32] {
    let fields: Vec<(&str, &str)> = names.iter().map(|name| (*name, "x")).collect();
    let headers = header_fields(&fields);
    fingerprint::of(&Facts { headers: &headers, version, ..Facts::new("GET", "/") })
}

#[test]
fn a_fingerprint_is_the_set_of_names_and_the_version() {
    let one = fingerprint_of("HTTP/1.1", &["host", "accept", "cookie"]);
    assert_eq!(fingerprint_of("HTTP/1.1", &["Cookie", "Host", "Accept", "cookie"]), one);
    assert_ne!(fingerprint_of("HTTP/2.0", &["host", "accept", "cookie"]), one);
    assert_ne!(fingerprint_of("HTTP/1.1", &["host", "accept"]), one);
    assert_ne!(fingerprint_of("HTTP/1.1", &["hosta", "ccept", "cookie"]), one);
}

#[test]
fn whoever_sends_too_many_names_shares_one_fingerprint() {
    let names: Vec<String> = (0..1_000).map(|name| format!("x-{name}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let crowd = fingerprint_of("HTTP/1.1", &names);
    assert_eq!(fingerprint_of("HTTP/1.1", &names[..257]), crowd);
    assert_eq!(fingerprint_of("HTTP/2.0", &[&"x".repeat(10_000)]), crowd);
    assert_ne!(fingerprint_of("HTTP/1.1", &names[..256]), crowd);
}
