//! Who the client is: `--peer` and `peer:` with forwarding headers, and what a token says of it, as behind the tower layer.

use serde_json::{Value, json};

use crate::tool::{Folder, complaint, printed};

const PROXIED: &str = "\
rules: [{name: api, scope: ip, rate: 1/s, burst: 5}]
client_address: {trusted_proxies: [10.0.0.0/8], header: x-forwarded-for}
";

const HOPS: &str = "\
rules: [{name: api, scope: ip, rate: 1/s, burst: 5}]
client_address: {hops: 2, header: forwarded}
";

const SINGLE: &str = "\
rules: [{name: api, scope: ip, rate: 1/s, burst: 5}]
client_address: {trusted_proxies: [10.0.0.0/8], header: cf-connecting-ip}
";

const DIRECT: &str = "[{name: api, scope: ip, rate: 1/s, burst: 5}]";

fn folder(name: &str) -> Folder {
    Folder::new(name)
        .with("policy.yaml", PROXIED)
        .with("hops.yaml", HOPS)
        .with("single.yaml", SINGLE)
        .with("direct.yaml", DIRECT)
}

/// The key of the one rule, what is said of the client's address, and the second line of the page, with all that follows it.
#[track_caller]
fn check(folder: &Folder, words: &[&str], client: &str, ending: &str, told_by: &Value, said: &str) {
    let document = folder.run_words(&[&["explain"], words, &["--json"]].concat(), "");
    let document: Value = serde_json::from_str(&printed(document)).unwrap();
    assert_eq!(document["rules"][0]["key"][0]["value"], json!(format!("{client}/32")));
    assert_eq!(document["request"]["ip"], json!(client));
    let found = &document["request"]["client_address"];
    assert_eq!((&found["ending"], &found["told_by"]), (&json!(ending), told_by));
    assert_eq!(found["reason"], json!(said));
    let page = printed(folder.run_words(&[&["explain"], words].concat(), ""));
    let (first, rest) = page.split_once('\n').unwrap();
    assert_eq!(first, format!("GET / from {client}"));
    let sentence = rest.split("\n\n").next().unwrap().replace('\n', " ");
    assert!(sentence.starts_with(said), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

#[test]
fn explain_finds_the_client_as_a_door_does_and_says_whose_word_it_took() {
    let folder = folder("client_found");
    let from = |peer: &'static str, header: &'static str| ["policy.yaml", "--peer", peer, "--header", header];
    check(
        &folder,
        &from("10.0.0.1", "X-Forwarded-For: 6.6.6.6, 192.0.2.9, 10.0.0.2"),
        "192.0.2.9",
        "client",
        &json!("10.0.0.2"),
        "the client is 192.0.2.9: so says 10.0.0.2, a trusted proxy, in `x-forwarded-for`, \
         and 192.0.2.9 is no proxy of ours; the peer is 10.0.0.1",
    );
    check(
        &folder,
        &from("203.0.113.5", "X-Forwarded-For: 6.6.6.6"),
        "203.0.113.5",
        "peer",
        &Value::Null,
        "the client is the peer, 203.0.113.5, which is no trusted proxy; its `x-forwarded-for` is ignored. \
         If it is a proxy of yours, write client_address: {trusted_proxies: [\"10.0.0.0/8\", \"203.0.113.5/32\"], \
         header: x-forwarded-for}",
    );
    check(
        &folder,
        &from("10.0.0.1", "X-Forwarded-For: 6.6.6.6, unknown, 10.0.0.2"),
        "10.0.0.2",
        "unreadable",
        &json!("10.0.0.1"),
        "the client is taken to be 10.0.0.2, a trusted proxy: whom it serves cannot be read from `x-forwarded-for`, \
         and nothing farther left is believed",
    );
    check(
        &folder,
        &["policy.yaml", "--peer", "10.0.0.1"],
        "10.0.0.1",
        "exhausted",
        &Value::Null,
        "the client is taken to be 10.0.0.1, a trusted proxy: `x-forwarded-for` does not say whom it serves",
    );
}

#[test]
fn hops_single_values_and_policies_without_proxies_are_explained_too() {
    let folder = folder("client_kinds");
    let forwarded = "Forwarded: for=6.6.6.6, for=192.0.2.9, for=198.51.100.1";
    check(
        &folder,
        &["hops.yaml", "--peer", "198.51.100.2", "--header", forwarded],
        "192.0.2.9",
        "client",
        &json!("198.51.100.1"),
        "the client is 192.0.2.9: so says 198.51.100.1 in `forwarded`, the last of the 2 hops that are trusted; \
         the peer is 198.51.100.2",
    );
    check(
        &folder,
        &["single.yaml", "--peer", "10.0.0.1", "--header", "CF-Connecting-IP: 192.0.2.9"],
        "192.0.2.9",
        "client",
        &json!("10.0.0.1"),
        "the client is 192.0.2.9: so says the peer, 10.0.0.1, a trusted proxy, in `cf-connecting-ip`",
    );
    check(
        &folder,
        &["direct.yaml", "--peer", "::ffff:203.0.113.5"],
        "203.0.113.5",
        "peer",
        &Value::Null,
        "the client is the peer, 203.0.113.5: the policy trusts no proxy",
    );
}

#[test]
fn an_address_and_a_peer_may_agree_but_not_contradict_each_other() {
    let folder = folder("client_both");
    let words = |ip: &'static str| {
        ["explain", "policy.yaml", "--ip", ip, "--peer", "10.0.0.1", "--header", "X-Forwarded-For: 192.0.2.9"]
    };
    let shown = printed(folder.run_words(&words("::ffff:192.0.2.9"), ""));
    assert!(shown.contains("192.0.2.9: so says the peer, 10.0.0.1"), "{shown}");
    assert_eq!(
        complaint(&folder.run_words(&words("192.0.2.8"), ""), 2),
        "error: --ip 192.0.2.8 and --peer 10.0.0.1 disagree: by the policy's `client_address`, who comes from that peer \
         with these headers is 192.0.2.9; drop one of them"
    );
}

#[test]
fn a_forwarding_header_without_a_peer_counts_for_nothing_and_that_is_said() {
    let words = ["explain", "policy.yaml", "--ip", "192.0.2.7", "--header", "X-Forwarded-For: 6.6.6.6"];
    let shown = printed(folder("client_without_peer").run_words(&words, ""));
    assert!(
        shown.starts_with(
            "GET / from 192.0.2.7\n`x-forwarded-for` is not looked at: say with --peer who sent it\n"
        ),
        "{shown}"
    );
}

#[test]
fn cases_may_name_the_peer_and_are_limited_by_whom_it_serves() {
    let cases = "
- name: whoever forges entries stays whom the proxy saw
  request: {peer: 10.0.0.1}
  steps:
    - {request: {headers: {X-Forwarded-For: 192.0.2.9}}, times: 5, expect: admit}
    - {request: {headers: {X-Forwarded-For: \"6.6.6.6, 192.0.2.9\"}}, expect: deny, violated: [api]}
    - {request: {ip: 192.0.2.9}, expect: deny}
    - {request: {peer: 192.0.2.9}, expect: deny}
    - {request: {peer: 192.0.2.8, headers: {X-Forwarded-For: 6.6.6.7}}, times: 6, expect: {admitted: 5}}
    - {request: {ip: 6.6.6.7}, expect: admit}
    - {request: {ip: 192.0.2.9, peer: 10.0.0.7, headers: {X-Forwarded-For: [6.6.6.6, 192.0.2.9]}}, expect: deny}
";
    let folder = folder("client_cases").with("cases.yaml", cases);
    printed(folder.run("test policy.yaml cases.yaml"));
    let contradiction = "
- name: of two minds
  request: {ip: 192.0.2.8, peer: 10.0.0.1}
  steps:
    - {request: {headers: {X-Forwarded-For: 192.0.2.9}}, expect: admit}
";
    let folder = folder.with("contradiction.yaml", contradiction);
    let ran = folder.run("test policy.yaml contradiction.yaml");
    assert_eq!(
        complaint(&ran, 1),
        "contradiction.yaml:5:18: `ip` 192.0.2.8 and `peer` 10.0.0.1 disagree: by the policy's `client_address`, who comes \
         from that peer with these headers is 192.0.2.9"
    );
    assert!(ran.stderr.ends_with("= cure: drop one of them\n"), "{}", ran.stderr);
    let ran = folder.with("bad.yaml", "[{name: a, steps: [{request: {peer: x}, expect: admit}]}]");
    assert_eq!(
        complaint(&ran.run("test policy.yaml bad.yaml"), 1),
        "bad.yaml:1:37: `peer` is `x`, not an address"
    );
}

/// The user and the plan that rules see, and the lines under the request's.
fn seen(folder: &Folder, words: &[&str]) -> (Value, Value, String) {
    let document = printed(folder.run_words(&[&["explain"], words, &["--json"]].concat(), ""));
    let document: Value = serde_json::from_str(&document).unwrap();
    let page = printed(folder.run_words(&[&["explain"], words].concat(), ""));
    let notes = page.split("\n\n").next().unwrap().lines().skip(1).collect::<Vec<_>>().join(" ");
    let told: Vec<&str> =
        document["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
    assert_eq!(told.join(" "), notes, "machines are told the same");
    (document["request"]["user"].clone(), document["request"]["plan"].clone(), notes)
}

const TOKENS: &str = "rules: [{name: trusting, limit_keys: [\"jwt:sub\"], jwt_trust: upstream_verified, rate: 1/s, burst: 5}]\n";

#[test]
fn a_token_names_user_and_plan_as_behind_the_layer_with_or_without_settings() {
    let settings = "jwt: {keys: [{algorithm: HS256, secret_env: S}], user_claim: org.id, plan_claim: \"https://a.example/plan\"}\n";
    let folder =
        folder("client_tokens").with("without.yaml", TOKENS).with("with.yaml", format!("{TOKENS}{settings}"));
    let token = ["--claim", "sub=ann", "--claim", "plan=pro", "--claim", "org.id=42"];
    let without = |more: &[&str]| seen(&folder, &[&["without.yaml"], &token[..], more].concat());
    let (user, plan, notes) = without(&[]);
    assert_eq!((user, plan), (json!("ann"), json!("pro")), "the usual claims");
    assert_eq!(
        notes,
        "the policy has no `jwt` settings: the token counts as verified only where the program verifies it by keys of its \
         own; elsewhere it is as with --unverified"
    );
    let (user, plan, notes) = without(&["--unverified"]);
    assert_eq!((user, plan), (Value::Null, Value::Null));
    assert_eq!(
        notes,
        "nobody has verified its token: only rules with `jwt_trust: upstream_verified` read it"
    );
    let with = |more: &[&str]| seen(&folder, &[&["with.yaml"], &token[..], more].concat());
    assert_eq!(
        with(&[]),
        (json!("42"), Value::Null, String::new()),
        "a number names somebody, nested with dots"
    );
    let (user, _, notes) = with(&["--unverified"]);
    assert_eq!(user, Value::Null);
    assert_eq!(notes, "its token does not verify by the policy's `jwt` keys, so it counts as none");
}

#[test]
fn a_token_that_does_not_verify_is_none_to_trusting_rules_too() {
    let settings = "jwt: {keys: [{algorithm: HS256, secret_env: S}]}\n";
    let folder = folder("client_refused").with("with.yaml", format!("{TOKENS}{settings}"));
    let words = ["explain", "with.yaml", "--claim", "sub=ann", "--unverified", "--json"];
    let document: Value = serde_json::from_str(&printed(folder.run_words(&words, ""))).unwrap();
    assert_eq!(document["rules"][0]["key"][0]["value"], Value::Null);
}

#[test]
fn whom_the_program_knows_has_no_plan_from_somebodys_token() {
    let folder = folder("client_principal").with("without.yaml", TOKENS);
    let words = ["without.yaml", "--claim", "sub=ann", "--claim", "plan=pro", "--user", "bob"];
    let (user, plan, notes) = seen(&folder, &words);
    assert_eq!((user, plan), (json!("bob"), Value::Null));
    assert!(
        notes.ends_with(
            "user and plan are those that the program knows; what the token says of them does not count"
        ),
        "{notes}"
    );
}
