//! `tollgate explain`.

use serde_json::{Value, json};

use crate::tool::{Folder, POLICY, complaint, printed};

const TIERS: &str = "
rules:
  - group: tiers
    combine: first
    rules:
      - {name: enterprise, limit_keys: [\"header:x-api-key\"], match: {\"jwt:plan\": enterprise}, rate: 1000/s, burst: 2000}
      - {name: free, limit_keys: [\"header:x-api-key\"], rate: 10/s, burst: 20}
  - {name: watched, scope: ip, rate: 1/s, burst: 1, mode: shadow}
  - {name: off, scope: ip, rate: 1/s, burst: 1, mode: off}
  - {name: admin, action: block, path: /admin}
";

fn folder(name: &str) -> Folder {
    Folder::new(name).with("policy.yaml", POLICY).with("tiers.yaml", TIERS)
}

fn document(folder: &Folder, words: &[&str]) -> Value {
    let words = [&["explain"], words, &["--json"]].concat();
    serde_json::from_str(&printed(folder.run_words(&words, ""))).unwrap()
}

#[test]
fn an_admitted_request_shows_rules_keys_costs_balances_and_headers() {
    let shown = printed(folder("explain_admit").run("explain policy.yaml --user ann --path /a"));
    let expected = "\
GET /a, user ann

Rules of policy.yaml
  ✓ user      10/s, burst 50 · user=ann · cost 1 · 50 → 49 tokens
              it governs every request
  ✓ everyone  1000/s, burst 2000 · one bucket for all · cost 1 ·
              2000 → 1999 tokens
              it governs every request

Verdict
  admitted: the tightest bucket has 49 left

Answer
  200, or whatever the service answers
  RateLimit-Policy: \"user\";q=50;w=5
  RateLimit: \"user\";r=49;t=1
";
    assert_eq!(shown, expected);
}

#[test]
fn how_a_rule_is_kept_in_a_shared_store_is_shown_where_it_is_not_as_usual() {
    const FLEET: &str = "
- {name: user, scope: user, rate: 10/s, burst: 50, on_store_failure: closed}
- {name: everyone, scope: global, rate: 1000/s, burst: 2000, consistency: leased}
- {name: usual, scope: global, path: /, rate: 1000/s, burst: 2000}
";
    let folder = Folder::new("explain_store").with("fleet.yaml", FLEET);
    let shown = printed(folder.run("explain fleet.yaml --user ann"));
    assert!(
        shown.contains("\n              it governs every request; while the store is down, it refuses\n"),
        "{shown}"
    );
    assert!(
        shown.contains("\n              it governs every request; instances lease its tokens\n"),
        "{shown}"
    );
    let rules = &document(&folder, &["fleet.yaml", "--user", "ann"])["rules"];
    let told =
        |at: usize| (rules[at].get("consistency").cloned(), rules[at].get("on_store_failure").cloned());
    assert_eq!(told(0), (None, Some(json!("closed"))));
    assert_eq!(told(1), (Some(json!("leased")), None));
    assert_eq!(told(2), (None, None));
}

#[test]
fn after_a_burst_it_shows_who_denies_and_that_nobody_else_is_charged() {
    let document = document(&folder("explain_deny"), &["policy.yaml", "--user", "ann", "--after", "1000"]);
    assert_eq!((&document["admitted"], &document["retry_after_ns"]), (&json!(false), &json!(100_000_000)));
    assert_eq!(document["verdict"], json!("rule `user` would admit it in 100ms"));
    let rules = document["rules"].as_array().unwrap();
    let told =
        |rule: &Value| (rule["denied"].clone(), rule["tokens_before"].clone(), rule["tokens_after"].clone());
    assert_eq!(told(&rules[0]), (json!(true), json!(0), json!(0)));
    assert_eq!(
        told(&rules[1]),
        (json!(false), json!(1950), json!(1950)),
        "950 denied requests cost it nothing"
    );
    let answer = &document["answer"];
    assert_eq!((&answer["status"], &answer["jitter_percent"]), (&json!(429), &json!(50)));
    assert_eq!(answer["headers"][0], json!({"name": "Retry-After", "value": "1"}));
    assert_eq!(answer["body"]["violated-policies"], json!(["user"]));
}

#[test]
fn it_explains_a_denial_and_does_not_judge_it() {
    let folder = folder("explain_exit");
    let ran = folder.run("explain policy.yaml --user ann --after 50");
    assert!(ran.stdout.contains("Verdict\n  denied: "), "{}", ran.stdout);
    assert_eq!(ran.code, 0);
    let help = printed(folder.run("explain --help"));
    assert!(help.contains("The exit code is 0 whether the request is admitted or denied"), "{help}");
}

#[test]
fn long_waits_are_told_in_the_units_of_a_clock_and_exactly_to_machines() {
    let policy = "
rules:
- {name: daily, scope: user, rate: 1/d, burst: 1}
- {name: report, scope: user, path: /report, algorithm: sliding_window, quota: 9, window: 125m}
kill_switches:
  - {name: over, reason: moved, until: 2000-01-01T00:00:00Z}
";
    let folder = Folder::new("explain_long").with("policy.yaml", policy);
    let shown = printed(folder.run("explain policy.yaml --user ann --path /report --after 1"));
    assert!(shown.contains("  denied: rule `daily` would admit it in 1 d\n"), "{shown}");
    assert!(shown.contains("9 in any 2 h 5 min"), "{shown}");
    let expired = shown.lines().find(|line| line.contains("it expired")).unwrap();
    assert!(expired.contains(" d ") && expired.ends_with(" ago"), "{expired}");
    let document = document(&folder, &["policy.yaml", "--user", "ann", "--after", "1"]);
    assert_eq!(document["retry_after_ns"], json!(86_400_000_000_000_u64));
}

#[test]
fn a_tier_is_chosen_by_verified_claims_alone() {
    let folder = folder("explain_tiers");
    let outcomes = |words: &[&str]| {
        let document = document(&folder, &[&["tiers.yaml", "--header", "X-Api-Key: k"], words].concat());
        let rules = document["rules"].as_array().unwrap().clone();
        rules.iter().take(2).map(|rule| rule["outcome"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(outcomes(&["--claim", "plan=enterprise"]), ["charges", "displaced"]);
    assert_eq!(outcomes(&["--claim", "plan=enterprise", "--unverified"]), ["does_not_match", "charges"]);
    assert_eq!(outcomes(&[]), ["does_not_match", "charges"]);
}

#[test]
fn a_rule_that_watches_says_what_it_would_have_done() {
    let shown = printed(folder("explain_shadow").run("explain tiers.yaml --ip 192.0.2.7 --after 1"));
    assert!(shown.contains("  ~ watched     1/s, burst 1 · ip:prefix=192.0.2.7/32 · cost 1\n"), "{shown}");
    assert!(shown.contains("it only watches") && shown.contains("it would have denied"), "{shown}");
    assert!(shown.contains("  · off         it is off\n"), "{shown}");
    assert!(shown.contains("admitted: "), "{shown}");
}

#[test]
fn a_rule_that_watches_places_says_what_it_would_have_done() {
    let policy = "[{name: c, scope: global, algorithm: concurrency, places: 1, timeout: 60s, mode: shadow}, \
         {name: open, scope: global, rate: 10/s, burst: 50}]";
    let folder = Folder::new("explain_shadow_places").with("policy.yaml", policy);
    let shown = printed(folder.run("explain policy.yaml --after 3"));
    assert!(shown.contains("it would have denied"), "{shown}");
    assert!(shown.contains("admitted: "), "{shown}");
    let shown = printed(folder.run("explain policy.yaml"));
    assert!(!shown.contains("it would have denied"), "{shown}");
}

#[test]
fn a_blocked_request_is_403_and_names_its_rule() {
    let shown = printed(folder("explain_block").run("explain tiers.yaml --path /x/../ADMIN/"));
    assert!(shown.starts_with("GET /x/../ADMIN/\nrules see the path as /admin\n"), "{shown}");
    assert!(
        shown.contains("Verdict\n  denied: rule `admin` blocks it\n\nAnswer\n  403 Forbidden\n"),
        "{shown}"
    );
}

#[test]
fn a_cost_is_named_wherever_the_policy_looks_for_it() {
    let policy =
        "[{name: llm, scope: user, rate: 10/s, burst: 100, cost_source: \"header:x-cost\", max_cost: 40}]";
    let folder = Folder::new("explain_cost").with("policy.yaml", policy).with("fixed.yaml", POLICY);
    let cost = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        let document = document(&folder, &[&["policy.yaml", "--user", "ann"], &words[..]].concat());
        document["rules"][0]["cost"].clone()
    };
    assert_eq!([cost("--cost 7"), cost("--cost 1000"), cost("")], [json!(7), json!(40), json!(1)]);
    for forged in ["NaN", "inf", "-5", "0", "1e-9"] {
        assert_eq!(cost(&format!("--cost {forged}")), json!(1), "{forged}");
    }
    assert_eq!(
        complaint(&folder.run("explain fixed.yaml --cost 5"), 2),
        "error: --cost 5 would change nothing: no rule of the policy has a `cost_source` in the request; drop it"
    );
}

#[test]
fn every_flag_of_a_request_reaches_the_rules() {
    let keys = "[\"host\", \"method\", \"plan\", \"path\", \"jwt:org.id\", \"query:q\", \"cookie:c\"]";
    let policy = format!(
        "[{{name: all, limit_keys: {keys}, rate: 1/s, burst: 5, cost_source: request_bytes, max_cost: 5}}]"
    );
    let folder = Folder::new("explain_flags").with("policy.yaml", policy);
    let words = [
        "policy.yaml",
        "--host",
        "Example.COM:80",
        "--method",
        "put",
        "--plan",
        "pro",
        "--path",
        "/a/7?q=x",
        "--route",
        "/a/{id}",
        "--claim",
        "org.id=o1",
        "--header",
        "Cookie: c=v",
        "--bytes",
        "3",
    ];
    let rule = document(&folder, &words)["rules"][0].clone();
    let values: Vec<&str> =
        rule["key"].as_array().unwrap().iter().map(|part| part["value"].as_str().unwrap()).collect();
    assert_eq!(values, ["example.com", "PUT", "pro", "/a/{id}", "o1", "x", "v"]);
    assert_eq!(rule["cost"], json!(3));
}

#[test]
fn refused_path_is_not_said_to_meet_rules() {
    const REFUSE: &str = "{path_encoded: refuse, rules: [{name: user, scope: user, rate: 1/s, burst: 5}]}";
    let folder = Folder::new("explain_refused").with("policy.yaml", REFUSE);
    let shown = printed(folder.run("explain policy.yaml --user ann --path /a%2fb"));
    let expected = "\
GET /a%2fb, user ann
its decoded form is /a/b: `path_encoded: refuse` refuses the request

Rules of policy.yaml
  · user  its condition holds, but something stronger or earlier decides

Verdict
  denied: its path has an encoded slash, a backslash, white space at the end of a segment, a NUL byte, or `//` at the beginning

Answer
  400 Bad Request
  Cache-Control: no-store
  Tollgate-Reason: path_encoded
";
    assert_eq!(shown, expected);
}

#[test]
fn of_very_many_rules_those_that_apply_are_all_shown() {
    let rules =
        (0..1_000).map(|n| format!("- {{name: r{n}, scope: ip, path: /p/{n}, rate: 5/s, burst: 10}}\n"));
    let folder = Folder::new("explain_many").with("policy.yaml", rules.collect::<String>());
    let shown = printed(folder.run("explain policy.yaml --ip 192.0.2.7 --path /p/777"));
    assert!(shown.contains("  ✓ r777  5/s, burst 10 · "), "{shown}");
    assert!(shown.contains("\n  … and 949 more that do not apply; --json lists them all\n"), "{shown}");
    let words = ["policy.yaml", "--path", "/p/777"];
    assert_eq!(document(&folder, &words)["rules"].as_array().unwrap().len(), 1_000);
}

#[test]
fn wrong_usage_and_bad_policies_are_told_apart() {
    let folder = folder("explain_usage").with("bad.yaml", "rules: 5\n");
    let usage = |typed: &[&str], expected: &str| {
        let words = [&["explain"], typed].concat();
        assert_eq!(complaint(&folder.run_words(&words, ""), 2), expected);
    };
    usage(
        &[],
        "error: the following required arguments were not provided: <POLICY>; see 'tollgate explain --help'",
    );
    usage(
        &["policy.yaml", "--header", "X-Api-Key k"],
        "error: invalid value 'X-Api-Key k' for '--header <NAME: VALUE>': write a name, a colon and a value, as in 'X-Api-Key: k1'",
    );
    usage(
        &["policy.yaml", "--claim", "plan"],
        "error: invalid value 'plan' for '--claim <NAME=VALUE>': write a name, an equals sign and a value, as in plan=enterprise",
    );
    usage(&["policy.yaml", "--claim", "a=1", "--claim", "a=2"], "error: --claim a is given twice; drop one");
    usage(
        &["policy.yaml", "--ip", "300.1.1.1"],
        "error: invalid value '300.1.1.1' for '--ip <ADDRESS>': invalid IP address syntax",
    );
    usage(
        &["policy.yaml", "--after", "1000001"],
        "error: invalid value '1000001' for '--after <REQUESTS>': 1000001 is not in 0..=1000000",
    );
    assert!(complaint(&folder.run("explain bad.yaml"), 1).starts_with("bad.yaml:1:8: "));
    assert!(
        complaint(&folder.run("explain nothing.yaml"), 1)
            .starts_with("error: cannot read 'nothing.yaml': there is no such file")
    );
}

#[test]
fn a_method_that_no_request_can_have_is_refused_with_flag_value_and_cure() {
    for method in ["", "GE T"] {
        let ran = folder("explain_method").run_words(&["explain", "policy.yaml", "--method", method], "");
        let told = format!(
            "error: invalid value '{method}' for '--method <METHOD>': write the name of a method, of 1 to 64 letters, as \
             in `GET` or `POST`"
        );
        assert_eq!(complaint(&ran, 2), told);
    }
}
