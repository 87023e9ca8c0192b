//! Spellings of one cookie, parameter, header or token that servers read differently: none gives a client a second
//! bucket or a way past a rule.

use std::fmt::Write as _;

use super::against_the_naive::RawHeaders;
use crate::built_by_hand::{claim, header, header_fields, is, path, policy, rule};
use crate::{
    Action, Client, Condition, Facts, JwtSettings, KeyShape, KeySource, Missing, Regex, Rule, RuleBook,
    Ruling, Source, ValueTest,
};

/// The ruling on a request, and the key of the first rule that it pays.
pub(super) fn rule_on(rules: &[Rule], facts: &Facts<'_>) -> (Ruling, Option<Vec<u8>>) {
    let book = RuleBook::new(policy(rules.to_vec()));
    let mut key = None;
    let ruling = book.rule_on(facts, 1_000, |hit| _ = key.get_or_insert(hit.key.to_vec()));
    assert_eq!(book.explain(facts, 1_000).ruling, ruling);
    (ruling, key)
}

/// Asks `rules` about a request with these `Cookie` lines.
fn with_cookies(rules: &[Rule], lines: &[&str]) -> (Ruling, Option<Vec<u8>>) {
    let fields: Vec<(&str, &str)> = lines.iter().map(|line| ("cookie", *line)).collect();
    let headers = header_fields(&fields);
    rule_on(rules, &Facts { headers: &headers, ..Facts::new("GET", "/") })
}

/// Asks `rules` about a request with these header lines, byte by byte.
fn with_lines(rules: &[Rule], lines: &[(&'static str, &[u8])]) -> (Ruling, Option<Vec<u8>>) {
    rule_on(rules, &Facts { headers: &RawHeaders(lines.to_vec()), ..Facts::new("GET", "/") })
}

fn sid() -> KeySource {
    KeySource::Cookie("sid".into())
}

pub(super) fn block(condition: Condition) -> Rule {
    Rule { condition, action: Action::Block, ..rule("block") }
}

pub(super) fn allow(condition: Condition) -> Rule {
    Rule { condition, action: Action::Allow, ..rule("allow") }
}

pub(super) const BLOCKED: Ruling = Ruling::Blocked { rule: 0 };
pub(super) const ALLOWED: Ruling = Ruling::Allowed { rule: 0 };
pub(super) const ANONYMOUS: [u8; 1] = [0];

/// Spellings of the cookie `sid` with the value `abc`, other than the plain one.
const ABC: [&str; 8] = [
    r#"sid="abc""#,
    r#"sid="a\142c""#,
    r#"sid="\141\142\143""#,
    r#"sid="a\bc""#,
    "sid=a%62c",
    "sid=%61%62%63",
    r#"sid="a%62c""#,
    r#"x=1;sid= "a%62\c" ; y=2"#,
];

#[test]
fn every_encoding_of_a_cookie_is_one_key() {
    let keyed = [Rule { keys: vec![sid()], ..rule("by-cookie") }];
    let (_, plain) = with_cookies(&keyed, &["sid=abc"]);
    for line in ABC {
        assert_eq!(with_cookies(&keyed, &[line]).1, plain, "{line}");
        assert_eq!(with_cookies(&keyed, &[line, "x=1"]).1, plain, "{line} of two lines");
    }
    let signed = with_cookies(&keyed, &["sid=s%3Aabc.sig%2Fx"]).1;
    assert_ne!(signed.as_deref(), Some(&ANONYMOUS[..]), "a signed cookie of Express stays a key");
    assert_eq!(signed, with_cookies(&keyed, &["sid=s:abc.sig/x"]).1);
    assert_eq!(signed, keyed[0].key_of("cookie:sid=s%3Aabc.sig%2Fx").ok(), "an operator may type it as sent");
    assert_ne!(signed, with_cookies(&keyed, &["sid=s%3Aabd.sig%2Fx"]).1);
}

#[test]
fn a_cookie_that_cannot_be_decoded_is_no_key() {
    let keyed = [Rule { keys: vec![sid()], missing: Missing::Skip, ..rule("by-cookie") }];
    for line in ["sid=abc%zz", "sid=%61bc%zz", "sid=100%", "sid=%ffabc", "sid=%FF%61bc", r#"sid="\377abc""#] {
        for lines in [&[line][..], &[line, "x=1"]] {
            assert_eq!(with_cookies(&keyed, lines).1.as_deref(), Some(&ANONYMOUS[..]), "{lines:?}");
        }
    }
    assert_eq!(with_cookies(&[block(is(sid(), &["abc%zz"]))], &["sid=%61bc%zz"]).0, BLOCKED);
    assert_eq!(with_cookies(&[allow(is(sid(), &["abc%zz"]))], &["sid=abc%zz"]).0, Ruling::ByBuckets);
}

/// Spells a cookie's value as some decoder undoes it: percent-encoded, or quoted with escapes, or both.
fn respell(value: &str, random: &mut fastrand::Rng) -> String {
    let (is_percent, is_quoted) = (random.bool(), random.bool());
    let mut spelled = String::new();
    for byte in value.bytes() {
        match byte {
            b'%' if is_percent => spelled.push_str("%25"),
            _ if is_percent && random.u8(..3) == 0 => write!(spelled, "%{byte:02X}").unwrap(),
            _ if is_percent && random.u8(..3) == 0 => write!(spelled, "%{byte:02x}").unwrap(),
            _ => spelled.push(char::from(byte)),
        }
    }
    if !is_quoted {
        return spelled;
    }
    let mut quoted = String::from('"');
    for sign in spelled.chars() {
        match random.u8(..4) {
            0 => write!(quoted, "\\{:03o}", u32::from(sign)).unwrap(),
            1 if !sign.is_ascii_digit() => quoted.extend(['\\', sign]),
            _ if matches!(sign, '"' | '\\') => quoted.extend(['\\', sign]),
            _ => quoted.push(sign),
        }
    }
    quoted + "\""
}

/// Every decoder that some server has maps these spellings to one value, so they are one key, and no rule tells them
/// apart.
#[test]
fn generated_spellings_of_a_cookie_are_one_client() {
    let keyed = [Rule { keys: vec![sid()], ..rule("by-cookie") }];
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..5_000 {
        let signs = ["a", "B", "0", "7", "-", ".", ":", "/", "+", "=", "_", "~"];
        let value: String = (0..random.usize(1..9)).map(|_| signs[random.usize(..signs.len())]).collect();
        let spelled = format!("sid={}", respell(&value, &mut random));
        let plain = format!("sid={value}");
        assert_eq!(
            with_cookies(&keyed, &[&spelled]).1,
            with_cookies(&keyed, &[&plain]).1,
            "{spelled} {plain}"
        );
        assert_eq!(with_cookies(&[block(is(sid(), &[&value]))], &[&spelled]).0, BLOCKED, "{spelled} {plain}");
        let expected = if spelled == plain { ALLOWED } else { Ruling::ByBuckets };
        assert_eq!(
            with_cookies(&[allow(is(sid(), &[&value]))], &[&spelled]).0,
            expected,
            "{spelled} {plain}"
        );
    }
}

#[test]
fn an_encoded_cookie_evades_no_rule_and_gains_none() {
    let regex = || Condition::Value(sid(), ValueTest::Matches(Regex::new("^abc$").unwrap()));
    let key = Rule { keys: vec![sid()], ..rule("") }.key_of("abc").unwrap();
    let shape = KeyShape { keys: vec![sid()], trusts_upstream_claims: false };
    let order = |action| Rule {
        condition: Condition::Client(Client::Key { shape: shape.clone().into(), key: key.clone().into() }),
        action,
        source: Source::Order(1),
        ..rule("order")
    };
    for line in ABC {
        for restricting in [block(is(sid(), &["abc"])), block(regex()), order(Action::Block)] {
            assert_eq!(with_cookies(&[restricting], &[line]).0, BLOCKED, "{line}");
        }
        for favoring in [allow(is(sid(), &["abc"])), allow(regex()), order(Action::Allow)] {
            assert_eq!(with_cookies(&[favoring], &[line]).0, Ruling::ByBuckets, "{line}");
        }
    }
    for rule in [order(Action::Allow), allow(is(sid(), &["abc"]))] {
        assert_eq!(with_cookies(&[rule], &["sid=abc"]).0, ALLOWED);
    }
    // As sent, without quotes and decoded: an operator may have written any of them.
    for wanted in [r#""s%3Aabc""#, "s%3Aabc", "s:abc"] {
        assert_eq!(
            with_cookies(&[block(is(sid(), &[wanted]))], &[r#"sid="s%3Aabc""#]).0,
            BLOCKED,
            "{wanted}"
        );
    }
    for line in ["sid=s:abc", "sid=%73%3aabc", "sid=s%3Aabc"] {
        assert_eq!(with_cookies(&[block(is(sid(), &["s%3Aabc"]))], &[line]).0, BLOCKED, "{line}");
    }
}

#[test]
fn a_regex_reads_every_reading_of_a_long_cookie() {
    let line = format!("sid=%61{}", "a".repeat(1_000));
    let regex = |text: &str| Condition::Value(sid(), ValueTest::Matches(Regex::new(text).unwrap()));
    assert_eq!(with_cookies(&[block(regex("b"))], &[&line]).0, Ruling::ByBuckets);
    assert_eq!(with_cookies(&[block(regex("^a+$"))], &[&line]).0, BLOCKED);
}

/// Some servers end a cookie at a space or a comma, and some take a quotation mark without its partner for a pair.
#[test]
fn cookies_that_servers_separate_differently_are_ambiguous() {
    let keyed = [Rule { keys: vec![sid()], missing: Missing::Skip, ..rule("by-cookie") }];
    for line in [
        "sid=real x1=1",
        "sid=real,x1=1",
        "sid=real x1",
        "x=1 sid=real",
        "x=1, sid=real",
        "x=1,sid=real",
        "x=1\tsid = real",
        "x=1 sid=real; y=2",
        "sid=\"realx",
        "sid=real\"",
    ] {
        assert_eq!(with_cookies(&keyed, &[line]).1.as_deref(), Some(&ANONYMOUS[..]), "{line}");
        assert_eq!(with_cookies(&[allow(is(sid(), &["real"]))], &[line]).0, Ruling::ByBuckets, "{line}");
        if line != "sid=real\"" {
            assert_eq!(with_cookies(&[block(is(sid(), &["real"]))], &[line]).0, BLOCKED, "{line}");
        }
    }
    for line in ["xsid=1", "x=sid=1", "x-sid=1", "x=1; sidx=2", "sid"] {
        assert_eq!(with_cookies(&keyed, &[line]).1, None, "{line}");
    }
}

/// White space and control characters that some server strips: of Latin-1 (`str.strip` of Python after it has decoded
/// a header), of Unicode and of ASCII.
const BLANKS: [&[u8]; 9] = [
    b"\xa0",
    b"\x85",
    b"\xc2\xa0",
    b"\xc2\x85",
    b"\xe2\x80\x83",
    b"\xe3\x80\x80",
    b"\xef\xbb\xbf",
    b"\t\xa0 \xa0",
    b" \xc2\xa0\x85",
];

#[test]
fn white_space_around_a_cookie_hides_nothing() {
    let keyed = [Rule { keys: vec![sid()], missing: Missing::Skip, ..rule("by-cookie") }];
    for blank in BLANKS {
        for (before, between, after) in
            [(&b""[..], blank, &b""[..]), (blank, b"", b""), (b"", b"", blank), (blank, blank, blank)]
        {
            let spelled = [before, b"sid", between, b"=real", after].concat();
            let beside = [b"sid=fake; ", &spelled[..]].concat();
            let last = [b"x=1; ", &spelled[..], b"; y=2"].concat();
            for line in [&spelled, &beside, &last] {
                let lines = [("cookie", &line[..])];
                let shown = line.escape_ascii();
                assert_eq!(with_lines(&keyed, &lines).1.as_deref(), Some(&ANONYMOUS[..]), "{shown}");
                assert_eq!(with_lines(&[block(is(sid(), &["real"]))], &lines).0, BLOCKED, "{shown}");
                assert_eq!(
                    with_lines(&[allow(is(sid(), &["real"]))], &lines).0,
                    Ruling::ByBuckets,
                    "{shown}"
                );
            }
        }
        let quoted = [b"sid=\"re%61l\"", blank].concat();
        assert_eq!(with_lines(&[block(is(sid(), &["real"]))], &[("cookie", &quoted)]).0, BLOCKED);
        let second = [b"x=1", blank, b"sid=real"].concat();
        assert_eq!(with_lines(&[block(is(sid(), &["real"]))], &[("cookie", &second)]).0, BLOCKED);
    }
    // The last byte of a letter is no white space.
    let key = with_lines(&keyed, &[("cookie", "sid=voil\u{e0}".as_bytes())]).1;
    assert_eq!(key, keyed[0].key_of("voil\u{e0}").ok());
    assert_eq!(with_lines(&keyed, &[("cookie", "\u{e0}sid=1".as_bytes())]).1, None, "another name");
}

/// PHP and ASP.NET take these names for `sid`.
#[test]
fn other_spellings_of_a_cookies_name_are_ambiguous() {
    let keyed = [Rule { keys: vec![sid()], missing: Missing::Skip, ..rule("by-cookie") }];
    for name in ["Sid", "SID", "sid[]", "sid[0]", "sid [x]", "s%69d", "sid%00x"] {
        for line in [format!("{name}=real"), format!("sid=fake; {name}=real"), format!("x=[1] {name}=real")] {
            assert_eq!(with_cookies(&keyed, &[&line]).1.as_deref(), Some(&ANONYMOUS[..]), "{line}");
            assert_eq!(with_cookies(&[block(is(sid(), &["real"]))], &[&line]).0, BLOCKED, "{line}");
            assert_eq!(with_cookies(&[allow(is(sid(), &["real"]))], &[&line]).0, Ruling::ByBuckets, "{line}");
        }
    }
    let my_sid = KeySource::Cookie("my_sid".into());
    for line in ["my.sid=real", "my[sid=real"] {
        assert_eq!(with_cookies(&[block(is(my_sid.clone(), &["real"]))], &[line]).0, BLOCKED, "{line}");
    }
    for line in ["sidx=1", "xsid=1", "x[sid]=1", "si=1", "sid.x=1"] {
        assert_eq!(with_cookies(&keyed, &[line]).1, None, "{line}");
    }
}

/// PHP, ASP.NET, Rack and qs take these names for `k`.
#[test]
fn other_spellings_of_a_parameters_name_are_ambiguous() {
    let source = || KeySource::Query("k".into());
    let keyed = [Rule { keys: vec![source()], missing: Missing::Skip, ..rule("by-query") }];
    for name in [
        "%20k", "+k", "k+", "k%20", "k%00", "k%00x", "k[]", "k[0]", "k%5b%5d", "%a0k", "k%c2%a0", "%09K%0a[",
        "[k]", "k]", "%5Bk%5D", "[[k]]", "][k", "[+k]", "[k][x]", "%u006b", "%U004B", "%u0020k", "k%u0000",
        "%u005bk", "?k", "??k",
    ] {
        for target in
            [format!("/?{name}=real"), format!("/?k=fake&{name}=real"), format!("/?{name}=real&k=fake")]
        {
            let facts = Facts::new("GET", &target);
            assert_eq!(rule_on(&keyed, &facts).1.as_deref(), Some(&ANONYMOUS[..]), "{target}");
            assert_eq!(rule_on(&[block(is(source(), &["real"]))], &facts).0, BLOCKED, "{target}");
            assert_eq!(rule_on(&[allow(is(source(), &["real"]))], &facts).0, Ruling::ByBuckets, "{target}");
        }
    }
    let api_key = KeySource::Query("api_key".into());
    for target in
        ["/?api.key=real", "/?api+key=real", "/?api%20key=real", "/?api[key=real", "/?API_key[]=real"]
    {
        let ruling = rule_on(&[block(is(api_key.clone(), &["real"]))], &Facts::new("GET", target)).0;
        assert_eq!(ruling, BLOCKED, "{target}");
    }
    for target in [
        "/?kx=1",
        "/?xk=1",
        "/?k.x=1",
        "/?x[k]=1",
        "/?[x]k=1",
        "/?k%u00=1",
        "/?%u016b=1",
        "/?%2bk=1",
        "/?k%2b=1",
        "/?+=1",
        "/?=1",
    ] {
        assert_eq!(rule_on(&keyed, &Facts::new("GET", target)).1, None, "{target}");
    }
}

/// CGI and WSGI hand over `X_Api_Key` and `X-Api-Key` as one variable.
#[test]
fn a_field_name_with_underscores_is_the_same_field() {
    let source = || header("x-api-key");
    let keyed = [Rule { keys: vec![source()], missing: Missing::Skip, ..rule("by-header") }];
    for name in ["x_api_key", "X_Api-Key", "x-api_key"] {
        for lines in [&[(name, &b"leaked"[..])][..], &[("x-api-key", b"fake"), (name, b"leaked")]] {
            assert_eq!(with_lines(&keyed, lines).1.as_deref(), Some(&ANONYMOUS[..]), "{lines:?}");
            assert_eq!(with_lines(&[block(is(source(), &["leaked"]))], lines).0, BLOCKED, "{lines:?}");
            assert_eq!(
                with_lines(&[allow(is(source(), &["leaked"]))], lines).0,
                Ruling::ByBuckets,
                "{lines:?}"
            );
        }
    }
    assert_eq!(with_lines(&keyed, &[("x-api-keys", b"1"), ("xapi_key", b"2")]).1, None);
    let own = [Rule { keys: vec![header("x_user")], missing: Missing::Skip, ..rule("by-header") }];
    assert_eq!(with_lines(&own, &[("x_user", b"ann")]).1, own[0].key_of("ann").ok());
    assert_eq!(with_lines(&own, &[("x-user", b"ann")]).1.as_deref(), Some(&ANONYMOUS[..]));
}

#[test]
fn white_space_around_a_header_hides_nothing() {
    let source = || header("x-api-key");
    let keyed = [Rule { keys: vec![source()], missing: Missing::Skip, ..rule("by-header") }];
    for blank in BLANKS {
        for value in [[b"leaked", blank].concat(), [blank, b"leaked"].concat()] {
            let lines = [("x-api-key", &value[..])];
            let shown = value.escape_ascii();
            assert_eq!(with_lines(&keyed, &lines).1.as_deref(), Some(&ANONYMOUS[..]), "{shown}");
            assert_eq!(with_lines(&[block(is(source(), &["leaked"]))], &lines).0, BLOCKED, "{shown}");
            assert_eq!(
                with_lines(&[allow(is(source(), &["leaked"]))], &lines).0,
                Ruling::ByBuckets,
                "{shown}"
            );
        }
    }
    let key = with_lines(&keyed, &[("x-api-key", " voil\u{e0}\t".as_bytes())]).1;
    assert_eq!(key, keyed[0].key_of("voil\u{e0}").ok());
}

/// A request with two `Authorization` lines, of which the service may read the one that the gate does not.
fn with_two_tokens(rules: &[Rule]) -> (Ruling, Option<Vec<u8>>) {
    let headers = header_fields(&[("authorization", "Bearer a"), ("Authorization", "Bearer b")]);
    let address = Some([192, 0, 2, 7].into());
    rule_on(rules, &Facts { headers: &headers, address, ..Facts::new("GET", "/") })
}

#[test]
fn a_second_token_evades_no_rule_and_gains_none() {
    let key = Rule { keys: vec![claim("sub")], ..rule("") }.key_of("bob").unwrap();
    let shape = KeyShape { keys: vec![claim("sub")], trusts_upstream_claims: false };
    let of_key = Condition::Client(Client::Key { shape: shape.into(), key: key.into() });
    let of_user = Condition::Client(Client::User("bob".into()));
    let tests = [
        ValueTest::Present,
        ValueTest::OneOf(vec!["bob".into()]),
        ValueTest::Matches(Regex::new("^bob$").unwrap()),
        ValueTest::Within(vec!["10.0.0.0/8".parse().unwrap()]),
    ];
    let sources = [claim("sub"), KeySource::User, KeySource::Plan];
    let tested = sources
        .iter()
        .flat_map(|source| tests.iter().map(|test| Condition::Value(source.clone(), test.clone())));
    for condition in tested.chain([of_key.clone(), of_user.clone()]) {
        let not = Condition::Not(Box::new(condition.clone()));
        for condition in [condition, not] {
            assert_eq!(with_two_tokens(&[block(condition.clone())]).0, BLOCKED, "{condition:?}");
            assert_eq!(with_two_tokens(&[allow(condition.clone())]).0, Ruling::ByBuckets, "{condition:?}");
        }
    }
    for condition in [of_key, of_user] {
        let order =
            |action| Rule { condition: condition.clone(), action, source: Source::Order(1), ..rule("") };
        assert_eq!(with_two_tokens(&[order(Action::Block)]).0, BLOCKED, "{condition:?}");
        assert_eq!(with_two_tokens(&[order(Action::Allow)]).0, Ruling::ByBuckets, "{condition:?}");
    }
}

/// The index by client finds every rule that may be about an ambiguous user, not the first alone.
#[test]
fn each_rule_about_a_user_counts_for_a_second_token() {
    let of_user = |user: &str| Condition::Client(Client::User(user.into()));
    let elsewhere = Condition::All(vec![of_user("ann"), path("/other")]);
    let second = Ruling::Blocked { rule: 1 };
    assert_eq!(with_two_tokens(&[block(elsewhere), block(of_user("bob"))]).0, second);
    let limit = |user| Rule { condition: of_user(user), ..rule(user) };
    assert_eq!(with_two_tokens(&[limit("ann"), block(of_user("bob"))]).0, second);
    let headers = header_fields(&[("authorization", "Bearer a"), ("authorization", "Bearer b")]);
    let (facts, mut charged) = (Facts { headers: &headers, ..Facts::new("GET", "/") }, Vec::new());
    let book = RuleBook::new(policy(vec![limit("ann"), limit("bob")]));
    book.rule_on(&facts, 1_000, |hit| charged.push(hit.rule));
    assert_eq!(charged, [0, 1]);
}

/// Some proxies join lines of one name by commas.
#[test]
fn tokens_that_are_joined_by_a_comma_are_two() {
    let ruling = |value: &str| {
        let headers = header_fields(&[("authorization", value)]);
        let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
        rule_on(&[block(is(claim("sub"), &["bob"]))], &facts).0
    };
    for value in ["Bearer a.b.c, Bearer d.e.f", "Basic eDp5,bearer a.b.c", "Bearer a.b.c,", ", Bearer a.b.c"]
    {
        assert_eq!(ruling(value), BLOCKED, "{value}");
    }
    for value in ["Bearer a.b.c", "Basic eDp5", "Digest username=\"bearer x\", realm=\"y\"", "Bearer"] {
        assert_eq!(ruling(value), Ruling::ByBuckets, "{value}");
    }
}

/// Servers that split the field at any white space read these tokens; the gate reads none.
#[test]
fn a_token_after_other_white_space_than_a_space_is_ambiguous() {
    let ruling = |value: &str| {
        let headers = header_fields(&[("authorization", value)]);
        let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
        rule_on(&[block(is(claim("sub"), &["bob"]))], &facts).0
    };
    for value in
        ["Bearer\ta.b.c", "bearer \t a.b.c", "Bearer a.b.c\tx", "Bearer a.b.c x", "Bearer\u{a0}a.b.c"]
    {
        assert_eq!(ruling(value), BLOCKED, "{value:?}");
    }
    for value in ["Bearer  a.b.c ", "Bearer\t", "Bearers a\tb", "Basic\ta.b.c", "Bearera.b.c"] {
        assert_eq!(ruling(value), Ruling::ByBuckets, "{value:?}");
    }
}

/// CGI and WSGI hand over `X_Token` as `X-Token`.
#[test]
fn a_token_in_a_field_of_another_spelling_is_ambiguous() {
    let mut policy = policy(vec![block(is(claim("sub"), &["bob"]))]);
    policy.jwt = Some(JwtSettings { header: "x-token".into(), ..JwtSettings::default() });
    let book = RuleBook::new(policy);
    for (names, expected) in [
        (&["X_Token"][..], BLOCKED),
        (&["X-Token", "x_token"], BLOCKED),
        (&["X-Token"], Ruling::ByBuckets),
        (&["X-Tokens"], Ruling::ByBuckets),
    ] {
        let fields: Vec<_> = names.iter().map(|name| (*name, "a.b.c")).collect();
        let headers = header_fields(&fields);
        let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
        assert_eq!(book.rule_on(&facts, 1_000, |_| ()), expected, "{names:?}");
    }
}

/// Otherwise every address of a client would have a bucket of its own.
#[test]
fn a_second_token_gives_its_user_no_other_key() {
    for source in [KeySource::User, KeySource::Plan, claim("sub")] {
        let keyed = [Rule { keys: vec![source], missing: Missing::Skip, ..rule("keyed") }];
        assert_eq!(with_two_tokens(&keyed).1.as_deref(), Some(&ANONYMOUS[..]), "{keyed:?}");
    }
    let headers = header_fields(&[("authorization", "Bearer a"), ("authorization", "Bearer b")]);
    let known = Facts { headers: &headers, user: Some("ann"), plan: Some("pro"), ..Facts::new("GET", "/") };
    for (source, value) in [(KeySource::User, "ann"), (KeySource::Plan, "pro")] {
        let keyed = Rule { keys: vec![source.clone()], ..rule("keyed") };
        let key = rule_on(std::slice::from_ref(&keyed), &known).1;
        assert_eq!(key, keyed.key_of(value).ok(), "the program knows the client without its token");
        let other = block(is(source, &["bob"]));
        assert_eq!(rule_on(&[other], &known).0, Ruling::ByBuckets);
    }
}
