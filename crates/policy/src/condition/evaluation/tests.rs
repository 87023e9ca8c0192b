use serde_json::json;

use super::*;
use crate::built_by_hand::{claim, header, header_fields, host, is, path};
use crate::path::PathForm;
use crate::request::RequestRoom;
use crate::{Claims, Facts, MethodSet, Regex};

const WIDE: View = View { trusts_upstream: false, reading: Reading::Wide, form: PathForm::SENT };

fn check(condition: &Condition, facts: &Facts<'_>) -> bool {
    holds(condition, &Request::new(facts, &mut RequestRoom::default()), WIDE)
}

fn get(target: &str) -> Facts<'_> {
    Facts::new("GET", target)
}

#[test]
fn all_any_and_not_mean_what_they_say() {
    let (yes, no) = (|| Condition::Always, || Condition::Any(Vec::new()));
    assert!(check(&Condition::All(vec![yes(), yes()]), &get("/")));
    assert!(!check(&Condition::All(vec![yes(), no()]), &get("/")));
    assert!(check(&Condition::Any(vec![no(), yes()]), &get("/")));
    assert!(!check(&no(), &get("/")));
    assert!(check(&Condition::All(Vec::new()), &get("/")));
    assert!(check(&Condition::Not(Box::new(no())), &get("/")));
}

#[test]
fn no_spelling_of_a_path_gets_past_a_rule() {
    let login = path("/login");
    for target in [
        "/login",
        "/LOGIN",
        "//login",
        "/login/",
        "/login?x",
        "/a/%2e%2e/login",
        "/login;x",
        "/%6cogin",
        "/./login",
    ] {
        assert!(check(&login, &get(target)), "{target}");
    }
    assert!(check(&path("/files/**/x*"), &get("/Files/a//b/xyz?q")));
    assert!(!check(&path("/files/**/x*"), &get("/files/a/y")));
}

#[test]
fn a_wildcard_host_is_every_host_below() {
    let on = |name: &'static str| Facts { host: name, ..get("/") };
    assert!(check(&host("*.example.com"), &on("API.example.com:443")));
    assert!(check(&host("*.example.com"), &on("a.b.example.com")));
    assert!(!check(&host("*.example.com"), &on("example.com")));
    assert!(!check(&host("*.example.com"), &on(".example.com")));
    assert!(!check(&host("*.example.com"), &on("evilexample.com")));
    assert!(check(&host("example.com"), &on("Example.com.")));
    assert!(!check(&host("example.com"), &on("")));
}

#[test]
fn methods_are_sets() {
    let writes = Condition::Method(MethodSet::of("POST").with(MethodSet::of("PUT")));
    assert!(check(&writes, &Facts::new("PUT", "/")));
    assert!(!check(&writes, &Facts::new("GET", "/")));
    assert!(check(&writes, &Facts::new("put", "/")), "some servers take `put` for `PUT`");
    assert!(!check(&writes, &Facts::new("putt", "/")));
}

#[test]
fn who_lacks_a_value_fails_its_test() {
    let tests = [
        ValueTest::Present,
        ValueTest::OneOf(vec!["".into()]),
        ValueTest::Matches(Regex::new("").unwrap()),
        ValueTest::Within(vec!["0.0.0.0/0".parse().unwrap()]),
    ];
    for test in tests {
        assert!(!check(&Condition::Value(header("x"), test), &get("/")));
    }
}

#[test]
fn addresses_are_compared_as_addresses() {
    let from = |address: &str| Facts { address: Some(address.parse().unwrap()), ..get("/") };
    let within = |networks: &[&str]| {
        let networks = networks.iter().map(|network| network.parse().unwrap()).collect();
        Condition::Value(KeySource::Address, ValueTest::Within(networks))
    };
    assert!(check(&within(&["192.168.0.0/16", "10.0.0.0/8"]), &from("::ffff:10.2.3.4")));
    assert!(!check(&within(&["10.0.0.0/8", "2001:db8::/32"]), &from("11.0.0.1")));
    assert!(check(&is(KeySource::Address, &["2001:DB8:0::1"]), &from("2001:db8::1")));
    assert!(check(&is(KeySource::User, &["10.0.0.1"]), &from("10.0.0.1")));
    let prefix = KeySource::Prefix { v4: 24, v6: 64 };
    assert!(check(&is(prefix, &["10.0.0.0/24"]), &from("10.0.0.9")));
    let text = Condition::Value(KeySource::Address, ValueTest::Matches(Regex::new(r"^10\.").unwrap()));
    assert!(check(&text, &from("10.0.0.1")));
}

#[test]
fn a_header_that_holds_an_address_can_be_held_against_networks() {
    let inside = Condition::Value(header("x-ip"), ValueTest::Within(vec!["10.0.0.0/8".parse().unwrap()]));
    for (value, expected) in
        [("10.1.1.1", true), ("::ffff:10.1.1.1", true), ("11.1.1.1", false), ("10.1.1.1, 8.8.8.8", false)]
    {
        let headers = header_fields(&[("x-ip", value)]);
        assert_eq!(check(&inside, &Facts { headers: &headers, ..get("/") }), expected, "{value}");
    }
}

#[test]
fn a_forged_plan_chooses_no_tier() {
    let claims = json!({"plan": "enterprise"});
    let enterprise = is(claim("plan"), &["enterprise"]);
    let forged = Facts { claims: Claims::Unverified(&claims), ..get("/") };
    assert!(!check(&enterprise, &forged));
    assert!(check(&enterprise, &Facts { claims: Claims::Verified(&claims), ..get("/") }));
    let request_room = &mut RequestRoom::default();
    let view = View { trusts_upstream: true, ..WIDE };
    assert!(holds(&enterprise, &Request::new(&forged, request_room), view));
}

#[test]
fn a_fingerprint_is_compared_in_hexadecimal() {
    let facts = get("/");
    let digest = crate::value::fingerprint::of(&facts);
    let hex = Found::Digest(digest).to_string();
    assert!(check(&is(KeySource::Fingerprint, &[&hex]), &facts));
    assert!(check(&is(KeySource::Fingerprint, &[&hex.to_uppercase()]), &facts));
    assert!(!check(&is(KeySource::Fingerprint, &[&hex[1..]]), &facts));
    assert!(!check(&is(KeySource::Fingerprint, &[&"0".repeat(64)]), &facts));
}
