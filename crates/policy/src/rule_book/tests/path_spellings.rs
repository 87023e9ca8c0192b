//! Spellings of one path that servers read differently: none gives a client a second bucket or a way past a rule.

use std::collections::{HashMap, HashSet};

use super::naive_values::without_dots;
use super::spellings::{ALLOWED, ANONYMOUS, BLOCKED, allow, block, rule_on};
use crate::built_by_hand::{path, policy, rule};
use crate::{Facts, KeySource, Missing, PathEncoded, Rule, RuleBook, Ruling};

/// The route regex of Starlette ends in `$`, which matches before a line feed; other servers strip white space.
#[test]
fn white_space_at_the_end_of_a_path_leads_past_no_rule() {
    for end in [
        "%0a",
        "%0A",
        "%0d",
        "%09",
        "%0b",
        "%0c",
        "%1f",
        "%7f",
        "%85",
        "%a0",
        "%c2%a0",
        "%C2%85",
        "%e2%80%83",
        "%e3%80%80",
        "%ef%bb%bf",
        "%0d%0a",
        "%20%0a",
        "%0a/",
        "%0a;x",
        "\u{a0}",
        "\t",
        "\n",
    ] {
        let encoded = format!("/secret/doo%72{end}");
        assert_eq!(
            rule_on(&[block(path("/secret/door"))], &Facts::new("GET", &encoded)).0,
            BLOCKED,
            "{encoded:?}"
        );
        let target = format!("/secret/door{end}");
        let facts = Facts::new("GET", &target);
        assert_eq!(rule_on(&[block(path("/secret/door"))], &facts).0, BLOCKED, "{target:?}");
        assert_eq!(rule_on(&[allow(path("/secret/door"))], &facts).0, Ruling::ByBuckets, "{target:?}");
        assert!(is_refused(&target), "{target:?}");
        assert_eq!(key_of_path(&target), key_of_path("/secret/door"), "{target:?}");
        let inner = format!("/secret{end}/door");
        assert_eq!(
            rule_on(&[block(path("/secret/door"))], &Facts::new("GET", &inner)).0,
            BLOCKED,
            "{inner:?}"
        );
    }
    for target in ["/voil%c3%a0", "/%c3%85", "/a%0ab", "/a%20%0a%a0b", "/a%a0b", "/voil\u{e0}"] {
        assert!(!is_refused(target), "{target}");
        let pattern = crate::normal_path(target, false, false);
        assert_eq!(rule_on(&[allow(path(&pattern))], &Facts::new("GET", target)).0, ALLOWED, "{target}");
    }
    assert_eq!(key_of_path("/x%2f..%0a/login"), ANONYMOUS);
}

fn is_refused(target: &str) -> bool {
    let mut strict = policy(vec![rule("any")]);
    strict.path_encoded = PathEncoded::Refuse;
    RuleBook::new(strict).rule_on(&Facts::new("GET", target), 1_000, |_| ()) == Ruling::PathRefused
}

/// `new URL(request.url, base)` of Node takes the first segment after two slashes for a host.
#[test]
fn a_path_that_begins_with_a_host_leads_past_no_rule() {
    for target in [
        "//x/secret/door",
        "/\\x/secret/door",
        "///x/secret/door",
        "/\\/x/secret/door",
        "//x\\secret\\door",
        "//u:p@x:80/secret/door?q",
        "//x/secret%2fdoor",
        "//x/y/../secret/door",
        "//x/secret/door%0a",
        "http://h.x//x/secret/door",
    ] {
        let facts = Facts::new("GET", target);
        assert_eq!(rule_on(&[block(path("/secret/door"))], &facts).0, BLOCKED, "{target}");
        assert_eq!(rule_on(&[allow(path("/secret/door"))], &facts).0, Ruling::ByBuckets, "{target}");
        assert!(is_refused(target), "{target}");
        assert_eq!(key_of_path(target), ANONYMOUS, "{target}");
    }
    let facts = Facts::new("GET", "//x/secret/door");
    assert_eq!(rule_on(&[block(path("/x/secret/door"))], &facts).0, BLOCKED);
    assert_eq!(rule_on(&[allow(path("/x/*"))], &facts).0, Ruling::ByBuckets);
    assert_eq!(rule_on(&[block(path("/"))], &Facts::new("GET", "//x")).0, BLOCKED);
    for target in ["/x//secret/door", "//", "/x/\u{e0}"] {
        assert_ne!(key_of_path(target), ANONYMOUS, "{target}");
    }
}

fn key_of_path(target: &str) -> Vec<u8> {
    let keyed = [Rule { keys: vec![KeySource::Path], missing: Missing::Skip, ..rule("by-path") }];
    rule_on(&keyed, &Facts::new("GET", target)).1.unwrap()
}

/// Some servers strip parameters before they decode a path, some afterwards.
#[test]
fn parameters_of_a_path_give_no_second_key() {
    for target in [
        "/login;%2f1",
        "/login;%2f2",
        "/login;a%5cb",
        "/login;\\x",
        "/login;%00",
        "/login;x=%20",
        "/login%20;%2f",
    ] {
        assert_eq!(key_of_path(target), key_of_path("/login"), "{target}");
    }
    assert_eq!(key_of_path("/a;x%2fy/b"), key_of_path("/a/b"));
}

/// Servers that remove `..` before or after they decode arrive at different paths, of which a client could vary one.
#[test]
fn a_path_with_dots_beside_an_encoded_slash_is_no_key() {
    for target in
        ["/x1%2f/../login", "/x1;%2f..%2flogin", "/x1\\y/%2e%2e/login", "/x%5c..%20/login", "/a%2f.%2e;x/b"]
    {
        assert_eq!(key_of_path(target), ANONYMOUS, "{target}");
    }
    for target in ["/x/../login", "/a%2f./b", "/a..b%2fc", "/a%2f.../b"] {
        assert_ne!(key_of_path(target), ANONYMOUS, "{target}");
    }
}

#[test]
fn a_rule_that_restricts_meets_every_reading_of_a_path() {
    for (pattern, target) in [
        ("/login", "/login;%2f1"),
        ("/login/1", "/login;%2f1"),
        // Flask: `%2F` is a slash, a backslash is a letter, and dots stay.
        ("/api/*", "/api%2fsearch%5c..%5c.."),
        ("/api/{x}", "/api%2fsearch%5c..%5c.."),
        ("/api/*", "/api%2fsearch%2f..%2f.."),
        ("/api/{x}", "/api%2f.."),
        // Go, nginx: dots go, a backslash is a letter.
        ("/api/login", "/api%2fy%5cz%2f..%2flogin"),
        ("/api/login", "/x%00%2f..%2fapi%2flogin"),
        ("/x/*", "/x%2f..%20%2fapi"),
        // Browsers' URLs: a backslash is a slash, `%2F` is a letter.
        ("/api/login", "/api\\x%2fy\\..\\login"),
        ("/", "/api%2fsearch%5c..%5c.."),
        ("/api/login", "/api;%2flogin"),
        ("/login", "/x;%2f..%2flogin"),
        // `new URL` of Node: a raw backslash is a slash, `%5C` is a letter.
        ("/api/login", "/api/x%5cy\\..\\login"),
        ("/admin", "/public/a%5cb\\..\\..\\admin"),
        ("/login", "//x/a%5cb\\..\\login"),
        // Apache with `AllowEncodedSlashes On`: dots go, then `%2F` is decoded, and dots go again.
        ("/api/login", "/x%2fy/../api%2flogin"),
        ("/admin", "/public/a%2fb/../x%2f..%2f..%2fadmin"),
        ("/api/login", "/x%2fy/../api%5clogin%20"),
        // `decodeURIComponent(new URL(url).pathname)` of Node.
        ("/api/login", "/x%2fy\\..\\api%2flogin"),
        ("/api/x%5cy", "/x%2fy\\..\\api%2fx%5cy"),
        ("/login", "//x/y%2fz/../a%2f..%2flogin"),
        // A proxy that removes dots, and a service that keeps those which it decodes.
        ("/api/{x}", "/x%2fy/../api%2f.."),
        ("/api/{x}", "/x%2fy\\..\\api%2f.."),
        // `..` removes an empty segment in `new URL` of Node, and one that is only parameters there, in nginx and in Go.
        ("/api/login", "/api//../login"),
        ("/api/login", "/api/;/../login"),
        ("/api/login", "/api/;x=1/%2e%2e/login"),
        ("/api/login", "/api/.;a/../login"),
        ("/a/login", "/a/b//;/../../login"),
        ("/a/login", "/a/.;x/..//../login"),
        ("/api/login", "/api%2f;/../login"),
        ("/api/login", "/api\\;\\..\\login"),
        ("/api/login", "//x/api//../login"),
        ("/admin/users", "/admin/;/../users"),
        ("/api/login", "/x/;/..//../api%2flogin"),
    ] {
        let facts = Facts::new("GET", target);
        assert_eq!(rule_on(&[block(path(pattern))], &facts).0, BLOCKED, "{pattern} {target}");
        assert_eq!(rule_on(&[allow(path(pattern))], &facts).0, Ruling::ByBuckets, "{pattern} {target}");
    }
    for target in ["/free/a%2fb", "/free/a;%2fb", "/free/a%5cb%20"] {
        assert_eq!(rule_on(&[allow(path("/free/*"))], &Facts::new("GET", target)).0, ALLOWED, "{target}");
    }
}

/// The segments of a path as a server reads it: independent choices of what is decoded, and when.
fn served(target: &str, random: &mut fastrand::Rng) -> String {
    let stripped = |path: &str| {
        let segments: Vec<&str> = path.split('/').map(|segment| segment.split(';').next().unwrap()).collect();
        segments.join("/")
    };
    let (slashes, backslashes) =
        [(false, false), (true, true), (true, false), (false, true)][random.usize(..4)];
    let decoded = |path: &str| {
        let path = if slashes { path.replace("%2f", "/") } else { path.to_owned() };
        if backslashes { path.replace("%5c", "/").replace('\\', "/") } else { path }
    };
    // A server that decodes backslashes alone does so first.
    let may_decode_last = slashes || !backslashes;
    // Some servers remove dot segments before they decode, and some of these take a raw backslash for a slash.
    let path = match random.u8(..7) {
        0 if may_decode_last => decoded(&crate::normal_path(target, false, true)),
        1 if may_decode_last => {
            decoded(&crate::normal_path(&stripped(target).replace('\\', "/"), false, true))
        }
        2 if may_decode_last && (target.starts_with("//") || target.starts_with("/\\")) => {
            let host = target.trim_start_matches(['/', '\\']);
            let path = &host[host.find(['/', '\\']).unwrap_or(host.len())..];
            decoded(&crate::normal_path(&stripped(path).replace('\\', "/"), false, true))
        }
        // Some servers remove empty segments, or segments of parameters, by `..`.
        4 if may_decode_last && random.bool() => without_dots(&decoded(&stripped(target)), true),
        4 if may_decode_last => without_dots(&decoded(target), random.bool()),
        5 if may_decode_last => decoded(&crate::normal_path(&without_dots(target, false), false, true)),
        6 if may_decode_last => {
            let parsed = without_dots(&target.replace('\\', "/"), true);
            decoded(&crate::normal_path(&parsed, false, true))
        }
        // A server that decodes only one of the two strips parameters first.
        _ if slashes == backslashes && random.bool() => stripped(&decoded(target)),
        _ => decoded(&stripped(target)),
    };
    crate::normal_path(&path, false, false)
}

/// Whatever a server makes of a path, a rule for that path meets it, and the key does not vary while the server's
/// path stays.
#[test]
fn generated_spellings_of_a_path_meet_the_rule_of_the_served_path() {
    let mut random = fastrand::Rng::with_seed(6);
    let mut keys: HashMap<String, HashSet<Vec<u8>>> = HashMap::new();
    for _ in 0..20_000 {
        let pieces = ["/", "/", "%2f", "%5c", "\\", ";", ";x", "a", "b", "..", "%2e%2e", ".", "login"];
        let odd: String = (0..random.usize(1..9)).map(|_| pieces[random.usize(..pieces.len())]).collect();
        let target = format!("/{odd}");
        let read = served(&target, &mut random);
        let exact = block(path(&read));
        assert_eq!(rule_on(&[exact], &Facts::new("GET", &target)).0, BLOCKED, "{target} is read as {read}");
        keys.entry(read).or_default().insert(key_of_path(&target));
    }
    // Each reading of a login has few keys: of the forms of the path, and the one that all ambiguous requests share.
    let most = keys.iter().max_by_key(|(_, keys)| keys.len()).unwrap();
    assert!(most.1.len() <= 8, "{} has {} keys", most.0, most.1.len());
}
