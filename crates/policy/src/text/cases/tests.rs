//! What a file of cases may say, and what it is told when it says something else.

use tollgate_core::Span;

use crate::{Case, ExpectedWait, Policy};

fn policy() -> Policy {
    Policy::parse("p.yaml", "[{name: user, scope: user, rate: 10/s, burst: 50}]").unwrap()
}

fn cases(text: &str) -> Vec<Case> {
    Case::parse_all("c.yaml", text, &policy()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// `line:column: what; cure`, of every mistake.
fn mistakes(text: &str) -> Vec<String> {
    let mistakes = Case::parse_all("c.yaml", text, &policy()).expect_err(text);
    let told = mistakes.iter();
    told.map(|mistake| format!("{}:{}: {}; {}", mistake.line, mistake.column, mistake.what, mistake.cure))
        .collect()
}

/// Of a single step, in a sound case.
fn in_step(step: &str) -> Vec<String> {
    mistakes(&format!("[{{name: a, steps: [\n{step}\n]}}]"))
}

#[test]
fn what_a_step_does_not_say_is_as_in_its_case() {
    let text = "
- name: a
  request: {method: post, path: /x, user: ann, headers: {A: 1, B: 2}}
  steps:
    - {expect: admit}
    - {at: 1.5s, request: {user: bob, headers: {b: [3, 4]}}, times: 7, expect: deny}";
    let [case] = &cases(text)[..] else { panic!() };
    let [first, second] = &case.steps[..] else { panic!() };
    assert_eq!((first.at, first.times, first.expected.admitted), (Span::ZERO, 1, Some(1)));
    assert_eq!((second.at, second.times, second.expected.admitted), (Span::from_millis(1_500), 7, Some(0)));
    assert_eq!((first.request.method.as_str(), first.request.user.as_deref()), ("POST", Some("ann")));
    assert_eq!((second.request.target.as_str(), second.request.user.as_deref()), ("/x", Some("bob")));
    let headers =
        [("A", "1"), ("b", "3"), ("b", "4")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(second.request.headers, headers, "a field of the step replaces that of the case");
}

#[test]
fn counts_may_be_those_that_are_denied() {
    let admitted = |expect: &str| {
        let text = format!("[{{name: a, steps: [{{times: 10, expect: {expect}}}]}}]");
        cases(&text)[0].steps[0].expected.admitted
    };
    assert_eq!(admitted("{denied: 3}"), Some(7));
    assert_eq!(admitted("{admitted: 7, denied: 3}"), Some(7));
    assert_eq!(admitted("{admitted: 0}"), Some(0));
}

#[test]
fn a_wait_knows_to_which_digit_it_was_written() {
    let wait = |text: &str| {
        let text = format!("[{{name: a, steps: [{{retry_after: {text}}}]}}]");
        let ExpectedWait { wait, precision } = cases(&text)[0].steps[0].expected.retry_after.unwrap();
        (wait.as_nanos(), precision.as_nanos())
    };
    assert_eq!(wait("333.334s"), (333_334_000_000, 1_000_000));
    assert_eq!(wait("334s"), (334_000_000_000, 1_000_000_000));
    assert_eq!(wait("100ms"), (100_000_000, 1_000_000));
    assert_eq!(wait("6m"), (360_000_000_000, 60_000_000_000));
}

#[test]
fn claims_are_what_json_would_have_them_be() {
    let text = r#"[{name: a, steps: [{request: {claims: {sub: "7", n: 7, on: true, org: {ids: [1, x]}}}, expect: admit}]}]"#;
    let request = &cases(text)[0].steps[0].request;
    let expected = serde_json::json!({"sub": "7", "n": 7, "on": true, "org": {"ids": [1, "x"]}});
    assert_eq!((request.claims.as_ref(), request.claims_are_verified), (Some(&expected), true));
    let text = text.replace("claims:", "unverified_claims:");
    assert!(!cases(&text)[0].steps[0].request.claims_are_verified);
}

#[test]
fn a_file_without_cases_is_shown_one() {
    for text in ["", "# nothing", "[]"] {
        let told = mistakes(text);
        assert!(
            told[0].starts_with("1:1: there is no case in the file; write a list of cases: `- {name:"),
            "{told:?}"
        );
    }
    assert!(
        mistakes("{a: 1}")[0].starts_with("1:2: the file is a mapping, not a list of cases; write a list")
    );
}

#[test]
fn a_case_that_cannot_fail_is_a_mistake() {
    let told =
        "1:3: the case expects nothing, so it cannot fail; say what must come of a step: `expect: admit`";
    assert_eq!(mistakes("[{name: a, steps: [{}]}]"), [told]);
}

#[test]
fn every_mistake_is_told_in_one_go_with_its_cure() {
    let text = "
- {name: a, stepps: []}
- {name: b, steps: []}
- {steps: [{expect: admit}]}";
    assert_eq!(
        mistakes(text),
        [
            "2:4: the case has no `steps`; add a list of steps: `steps: [{request: {path: /}, expect: admit}]`",
            "2:13: a case has no field `stepps`; did you mean `steps`?",
            "3:20: `steps` is an empty list; add a list of steps: `steps: [{request: {path: /}, expect: admit}]`",
            "4:4: the case has no `name`; say what it shows: `name: a burst of 10`",
        ]
    );
}

#[test]
fn time_does_not_run_back_within_a_case() {
    let told = in_step("{at: 2s, expect: admit},\n{at: 1s, expect: admit}");
    let expected = "3:6: this step is at 1s, before the one above it, which is at 2s; \
                    put the steps in the order of time; `at` counts from the case's beginning";
    assert_eq!(told, [expected]);
}

#[test]
fn steps_are_told_what_they_may_say() {
    let check = |step: &str, expected: &str| assert_eq!(in_step(step), [expected], "{step}");
    check("{exepct: admit, times: 2}", "2:2: a step has no field `exepct`; did you mean `expect`?");
    check(
        "5",
        "2:1: a step is `5`, not a mapping of fields; write `{at: 0s, request: {path: /}, expect: admit}`",
    );
    check(
        "{at: 5, expect: admit}",
        "2:6: `at` is `5`, not a length of time; say the unit: `5s` if it is seconds, `5ms` if it is milliseconds",
    );
    check(
        "{times: 0, expect: admit}",
        "2:9: `times` is `0`, not a whole number from 1 to 1000000; write a whole number from 1 to 1000000",
    );
    let counts = "write `admit`, `deny`, or how many: `{admitted: 10, denied: 1}`";
    check("{expect: allow}", &format!("2:10: `expect` is `allow`, not `admit`, `deny` or counts; {counts}"));
    check("{expect: {}}", &format!("2:10: `expect` says nothing; {counts}"));
    check(
        "{times: 3, expect: {admitted: 2, denied: 2}}",
        "2:21: 2 admitted and 2 denied do not make up the step's 3; correct one of them, or `times`",
    );
    check("{violated: [usr]}", "2:13: the policy has no rule `usr`; did you mean `user`?");
    check("{rules: [colour]}", "2:10: the policy has no rule `colour`; write one of `user`");
}

#[test]
fn damaged_files_never_panic() {
    let sound = "[{name: a, request: {ip: 192.0.2.7, headers: {A: [1, ü]}, claims: {x: [1]}}, steps: [{at: 1.5s, times: 3, \
                 expect: {admitted: 2}, rules: [user], violated: [], would_deny: [user], retry_after: 333.334s}]}]";
    assert_eq!(cases(sound).len(), 1);
    let policy = policy();
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..5_000 {
        let mut bytes = sound.as_bytes().to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            match random.u8(..3) {
                0 => {
                    bytes[at] = random.choice(b"{}[]:,-\"'#&*!|>%@ \n0.e/~a".iter().copied()).unwrap_or(b' ');
                }
                1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(4)),
            }
        }
        let _ = Case::parse_all("c.yaml", &String::from_utf8_lossy(&bytes), &policy);
    }
}

#[test]
fn requests_are_told_what_they_may_say() {
    let check = |request: &str, expected: &str| {
        let told = in_step(&format!("{{request: {request}, expect: admit}}"));
        assert_eq!(told, [expected], "{request}");
    };
    check("{pth: /}", "2:12: `request` has no field `pth`; did you mean `path`?");
    check(
        "{ip: 300.1.1.1}",
        "2:16: `ip` is `300.1.1.1`, not an address; write an IPv4 or IPv6 address, as in `ip: 192.0.2.7`",
    );
    check(
        "{headers: [a]}",
        "2:21: `headers` is a list, not a mapping; write names and values: `headers: {X-Api-Key: k}`",
    );
    check(
        "{claims: 3}",
        "2:20: `claims` is `3`, not a mapping of claims; write `claims: {sub: ann, plan: pro}`",
    );
}

#[test]
fn a_method_that_no_request_can_have_is_refused_with_its_value_and_the_cure() {
    let cure = "write the name of a method, of 1 to 64 letters, as in `GET` or `POST`";
    for (typed, described) in
        [("''", "empty"), ("'GE T'", "the text \"GE T\""), ("GE T", "`GE T`"), ("[GET]", "a list")]
    {
        let told = in_step(&format!("{{request: {{method: {typed}}}, expect: admit}}"));
        assert_eq!(told, [format!("2:20: `method` is {described}, not a method; {cure}")]);
    }
}
