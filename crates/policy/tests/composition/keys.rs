//! What an operator types for a client is the key that a request of that client has, and is shown as it was typed.

use fastrand::Rng;
use serde_json::json;
use tollgate_policy::{Claims, Facts, Policy, Rule, RuleBook};

fn rule(limit_keys: &str) -> Rule {
    let text = format!("{{name: r, limit_keys: {limit_keys}, rate: 1, burst: 1}}");
    Policy::parse("p.yaml", &text).unwrap_or_else(|mistakes| panic!("{mistakes}")).rules.remove(0)
}

fn key_of_request(rule: &Rule, facts: &Facts<'_>) -> Vec<u8> {
    let policy = Policy::parse("p.yaml", "{name: r, scope: global, rate: 1, burst: 1}").unwrap();
    let mut key = Vec::new();
    let book = RuleBook::new(Policy { rules: vec![rule.clone()], ..policy });
    book.rule_on(facts, 0, |hit| key = hit.key.to_vec());
    key
}

#[test]
fn what_is_typed_is_the_key_that_a_door_builds() {
    let headers =
        vec![("X-Api-Key".to_owned(), " a,b=c%d ".to_owned()), ("Cookie".to_owned(), "c=d".to_owned())];
    let claims = json!({"sub": "42", "number": 42, "yes": true, "org": {"id": "x"}});
    let facts = Facts {
        address: Some([192, 0, 2, 7].into()),
        user: Some("ann"),
        plan: Some("pro"),
        headers: &headers,
        claims: Claims::Verified(&claims),
        host: "API.example.com:80",
        ..Facts::new("GET", "/Api//Search/?q=1")
    };
    for (keys, typed, text) in [
        ("[user]", "ann", "user:ann"),
        ("[user]", "user:ann", "user:ann"),
        ("[user]", "user=ann", "user:ann"),
        ("['ip:address']", "192.0.2.7", "ip:192.0.2.7"),
        ("['ip:address']", "ip:::ffff:192.0.2.7", "ip:192.0.2.7"),
        ("['ip:prefix']", "ip:192.0.2.7", "ip:192.0.2.7"),
        ("['ip:prefix/24']", "ip:192.0.2.99", "ip:192.0.2.0/24"),
        ("['ip:prefix/24']", "192.0.2.0/24", "ip:192.0.2.0/24"),
        ("['header:x-api-key']", "a,b=c%d", "header:x-api-key=a%2Cb=c%25d"),
        ("['header:x-api-key']", "header:x-api-key=a%2Cb=c%25d", "header:x-api-key=a%2Cb=c%25d"),
        ("['cookie:c']", "d", "cookie:c=d"),
        ("['query:q']", "1", "query:q=1"),
        ("['jwt:sub']", "\"42\"", "jwt:sub=\"42\""),
        ("['jwt:number']", "42", "jwt:number=42"),
        ("['jwt:number']", "4.2e1", "jwt:number=42"),
        ("['jwt:yes']", "true", "jwt:yes=true"),
        ("['jwt:org.id']", "x", "jwt:org.id=x"),
        ("[plan]", "pro", "plan=pro"),
        ("[path]", "/api/search", "path=/api/search"),
        ("[path]", "path=/API/search/", "path=/api/search"),
        ("[method]", "GET", "method=GET"),
        ("[host]", "Api.Example.Com", "host=api.example.com"),
        ("['constant:x']", "x", "constant:x=x"),
        ("[]", "all", "all"),
        ("[]", "", "all"),
        ("[user, path]", "user=ann,path=/api/search", "user=ann,path=/api/search"),
        (
            "['header:x-api-key', 'ip:prefix/24']",
            "header:x-api-key=a%2Cb=c%25d,ip:prefix/24%2C64=192.0.2.7",
            "header:x-api-key=a%2Cb=c%25d,ip:prefix/24%2C64=192.0.2.0/24",
        ),
        ("['header:x-absent']", "anonymous", "anonymous"),
    ] {
        let rule = rule(keys);
        let key = rule.key_of(typed).unwrap_or_else(|mistake| panic!("{keys} {typed}: {mistake}"));
        assert_eq!(key, key_of_request(&rule, &facts), "{keys} {typed}");
        assert_eq!(rule.keys_text(&key).unwrap(), text, "{keys} {typed}");
    }
}

#[test]
fn a_client_without_a_name_is_its_address_under_a_rule_by_user() {
    let by_user = rule("[user]");
    for (address, typed, text) in
        [("192.0.2.7", "ip:192.0.2.7", "ip:192.0.2.7"), ("2001:db8::7", "ip:2001:db8::8", "ip:2001:db8::/64")]
    {
        let facts = Facts { address: Some(address.parse().unwrap()), ..Facts::new("GET", "/") };
        let key = by_user.key_of(typed).unwrap();
        assert_eq!(key, key_of_request(&by_user, &facts));
        assert_eq!(by_user.keys_text(&key).unwrap(), text);
        assert_ne!(by_user.key_of(&format!("user:{address}")).unwrap(), key);
    }
}

#[test]
fn a_template_and_a_path_are_two_keys() {
    let by_path = rule("[path]");
    let facts = Facts { route: Some("/users/{id}"), ..Facts::new("GET", "/users/7") };
    let key = by_path.key_of("/users/{id}").unwrap();
    assert_eq!(key, key_of_request(&by_path, &facts));
    assert_eq!(by_path.keys_text(&key).unwrap(), "route=/users/{id}");
    assert_eq!(by_path.key_of("route=/users/{id}").unwrap(), key);
}

/// Whatever a client is called: its key is shown on one line, and what is shown names its bucket.
#[test]
fn what_is_shown_of_any_key_names_it() {
    let pieces = [
        "a",
        "=",
        ",",
        "%",
        "%2C",
        "user:",
        "ip:",
        "sha256:",
        "42",
        "\"",
        "\u{1b}[2J",
        "\n",
        "\u{e9}",
        " x",
        "true",
        "anonymous",
    ];
    let long = "x".repeat(300);
    for seed in 0..3_000 {
        let mut rng = Rng::with_seed(seed);
        let word = |rng: &mut Rng| {
            let mut word: String = (0..=rng.usize(..5)).map(|_| pieces[rng.usize(..pieces.len())]).collect();
            if rng.u8(..8) == 0 {
                word.push_str(&long);
            }
            word
        };
        let [user, value, claim] = std::array::from_fn(|_| word(&mut rng));
        let headers = vec![("k".to_owned(), value)];
        let claims = json!({"c": claim});
        let facts = Facts {
            user: Some(&user),
            headers: &headers,
            claims: Claims::Verified(&claims),
            ..Facts::new("GET", "/a,b=c%2C")
        };
        for keys in ["[user]", "['header:k']", "['jwt:c']", "[path]", "[user, 'header:k', 'jwt:c', path]"] {
            let rule = rule(keys);
            let key = key_of_request(&rule, &facts);
            let text = rule.keys_text(&key).unwrap();
            assert!(!text.chars().any(char::is_control), "{text:?}");
            assert_eq!(rule.key_of(&text), Ok(key), "{keys} {text}");
        }
    }
}

#[test]
fn what_is_no_key_of_the_rule_is_refused_with_the_cure() {
    for (keys, typed, expected) in [
        (
            "[user]",
            "",
            "`user` is empty, which no request's is; write its value, or `anonymous` for the bucket of all who lack it",
        ),
        ("['ip:address']", "ann", "`ann` is no address; write one, as in `ip:192.0.2.7`"),
        (
            "['ip:prefix/24']",
            "10.0.0.0/8",
            "`10.0.0.0/8` holds many buckets: there is one for each 24 bits; write one network of 24 bits, or one address",
        ),
        (
            "[user, path]",
            "ann",
            "`ann` has 1 parts, and a key of this rule 2; write `user=…,path=…`, with `%2C` for a comma in a value",
        ),
        (
            "[user, path]",
            "ann,/a",
            "`ann` is not `user=…`; write `user=…,path=…`, with `%2C` for a comma in a value",
        ),
        (
            "[user, path]",
            "user=%,path=/a",
            "`%` has a percent sign that stands for nothing; write `%25` for a percent sign and `%2C` for a comma",
        ),
        (
            "[path]",
            "api",
            "`path` is `api`, which does not begin with a slash; write the path, as in `/api/search`",
        ),
        ("[host]", "", "`` is no host; write its name, as in `api.example.com`"),
        ("[fingerprint]", "ab", "`ab` is no fingerprint; write its 64 hexadecimal digits"),
        ("['constant:x']", "y", "this part of the key is always `x`, and not `y`; write `x`"),
        ("[]", "ann", "`ann` is no key: the rule has one bucket for all; write `all`"),
    ] {
        let told = rule(keys).key_of(typed).expect_err(typed).to_string();
        assert_eq!(told, expected, "{keys} {typed}");
    }
}

#[test]
fn bytes_that_are_no_key_of_the_rule_are_not_shown() {
    let by_user = rule("[user]");
    for key in [
        &[][..],
        &[0, 0],
        &[1],
        &[1, 14, 0],
        &[1, 14, 0, 2, 65],
        &[1, 14, 0, 1, 65, 0],
        &[2, 1],
        &[9],
        &[1, 14, 0, 1, 255],
    ] {
        assert_eq!(by_user.keys_text(key), None, "{key:?}");
    }
}
