//! Every file under `policies/` loads, and means what it says.

use std::fs;
use std::path::Path;

use tollgate_core::{
    Algorithm, Burst, Concurrency, Cost, FixedWindow, LeakyBucket, Limit, Rate, SlidingCounter, SlidingLog,
    Span, Window,
};
use tollgate_policy::{
    Action, BodyProfile, Condition, Consistency, CostSource, ForwardingHeader, HeaderProfiles, HostPattern,
    JwtKey, KeySource, LocalStart, MethodSet, Missing, Mode, OnStoreFailure, PathPattern, Policy, Rule,
    Scope, StoreSettings, Trust, ValueTest,
};

fn policy(name: &str) -> Policy {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policies").join(name);
    Policy::parse(name, &fs::read_to_string(path).unwrap_or_default())
        .unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn rule<'p>(policy: &'p Policy, name: &str) -> &'p Rule {
    policy.rules.iter().find(|rule| &*rule.name == name).unwrap_or_else(|| panic!("no rule {name}"))
}

fn bucket(rate: Rate, burst: u64) -> Action {
    Action::Limit(Algorithm::TokenBucket(Limit::new(rate, Burst::tokens(burst)).expect("a limit")))
}

fn per_second(tokens: u64, burst: u64) -> Action {
    bucket(Rate::per_second(tokens), burst)
}

#[test]
fn the_rule_list_per_address_loads_as_it_stands() {
    let policy = policy("per_address.json");
    assert_eq!(policy.rules.len(), 1);
    let rule = rule(&policy, "per-ip");
    assert_eq!(rule.keys, [KeySource::Address]);
    assert_eq!(rule.scope, Scope::Ip);
    assert_eq!(rule.action, per_second(5, 10));
    assert_eq!((rule.mode, rule.missing, rule.rollout_percent), (Mode::Enforce, Missing::Anonymous, 100));
    assert_eq!(rule.line, 2);
    assert_eq!((rule.cost.default, rule.cost.max), (Cost::ONE, Cost::ONE));
}

#[test]
fn enterprise_before_free_loads_as_it_stands_and_free_is_the_default_tier() {
    let policy = policy("enterprise_and_free.json");
    let (enterprise, free) = (rule(&policy, "enterprise"), rule(&policy, "free"));
    assert_eq!(enterprise.keys, [KeySource::Header("x-api-key".into())]);
    assert_eq!(enterprise.keys, free.keys);
    assert_eq!((enterprise.action, free.action), (per_second(1_000, 2_000), per_second(10, 20)));
    let Condition::Value(KeySource::Claim(claim), ValueTest::OneOf(plans)) = &enterprise.condition else {
        panic!()
    };
    assert_eq!((&claim[..], &plans[..]), (&["plan".into()][..], &["enterprise".into()][..]));
    assert!(matches!(free.condition, Condition::Always));
    assert_eq!(policy.groups.len(), 1);
    assert!(policy.groups[0].is_implicit);
    assert_eq!(policy.groups[0].rules, [0, 1]);
    assert_eq!((enterprise.line, free.line), (2, 9));
}

#[test]
fn one_bare_rule_is_a_policy() {
    let policy = policy("one_bare_rule.json");
    assert_eq!((&*policy.name, policy.rules.len()), ("default", 1));
    let rule = rule(&policy, "llm");
    assert_eq!(rule.keys, [KeySource::Header("x-api-key".into()), KeySource::Path]);
    let limit = Limit::new(Rate::new(5, Span::from_secs(10)), Burst::micros(20_250_000)).unwrap();
    assert_eq!(rule.action, Action::Limit(Algorithm::TokenBucket(limit)));
    assert_eq!(rule.cost.source, CostSource::Header("x-cost".into()));
    let bounds = (rule.cost.default, rule.cost.min, rule.cost.max);
    assert_eq!(bounds, (Cost::tokens(2), Cost::tokens(2), Cost::tokens(10)), "the least is the default");
    let Condition::Path(test) = &rule.condition else { panic!() };
    assert!(matches!(&test.pattern, PathPattern::Prefix(path) if &**path == "/v1"));
}

#[test]
fn scopes_and_plans_are_four_short_rules() {
    let policy = policy("scopes_and_plans.yaml");
    let free = rule(&policy, "user:free");
    assert_eq!(
        (free.scope, &free.keys[..], free.action),
        (Scope::User, &[KeySource::User][..], per_second(10, 50))
    );
    assert!(
        matches!(&free.condition, Condition::Value(KeySource::Plan, ValueTest::OneOf(plans)) if **plans == ["free".into()])
    );
    assert_eq!(rule(&policy, "user:pro").action, per_second(100, 500));
    let search = rule(&policy, "endpoint:/api/search");
    assert_eq!(
        (search.scope, search.keys.len(), search.action),
        (Scope::Endpoint, 0, per_second(1_000, 2_000))
    );
    let global = rule(&policy, "global");
    assert_eq!(
        (global.scope, global.keys.len(), global.action),
        (Scope::Global, 0, per_second(50_000, 100_000))
    );
    assert!(policy.groups.is_empty(), "they all apply");
}

#[test]
fn every_field_of_a_token_bucket_is_read() {
    let policy = policy("token_bucket.yaml");
    assert_eq!(&*policy.name, "api");
    let exact = rule(&policy, "exact");
    assert_eq!(
        exact.keys,
        [KeySource::Claim(vec!["org".into(), "id".into()]), KeySource::Header("x-api-key".into())]
    );
    assert_eq!(exact.action, bucket(Rate::new(3, Span::from_secs(1_000)), 5), "0.003 is 3/1000");
    assert_eq!(
        (exact.cost.default, exact.mode, exact.rollout_percent),
        (Cost::micros(500_000), Mode::Shadow, 25)
    );
    assert_eq!((exact.missing, exact.trusts_upstream_claims), (Missing::Deny, true));
    assert_eq!(exact.refund_statuses, [404, 503]);
    assert_eq!(exact.settle_header.as_deref(), Some("x-cost"));
    assert_eq!(exact.reason.as_deref(), Some("reset_quota_exceeded"));
    assert_eq!(exact.message.as_deref(), Some("Please wait a while."));
    let Condition::All(tests) = &exact.condition else { panic!() };
    assert!(
        matches!(&tests[..], [Condition::Path(_), Condition::Method(methods), Condition::Host(HostPattern::Below(host))]
        if *methods == MethodSet::of("POST").with(MethodSet::of("PUT")) && &**host == ".example.com")
    );

    let by_method = &rule(&policy, "by-method").cost;
    let get = MethodSet::of("GET").with(MethodSet::of("HEAD"));
    let costs = vec![(get, Cost::micros(500_000)), (MethodSet::of("POST"), Cost::tokens(5))];
    assert_eq!(by_method.source, CostSource::PerMethod(costs));
    assert_eq!(
        (by_method.min, by_method.max),
        (Cost::micros(500_000), Cost::tokens(10)),
        "cheap methods stay cheap"
    );
    assert_eq!(rule(&policy, "by-method").action, bucket(Rate::per_minute(600), 10));
    assert_eq!(rule(&policy, "by-bytes").cost.source, CostSource::RequestBytes { per_token: 1_024 });
    assert_eq!(rule(&policy, "by-bytes").action, bucket(Rate::per_hour(5), 1_000));
}

#[test]
fn every_algorithm_can_be_named() {
    let action = |file: &str, name: &str| rule(&policy(file), name).action;
    let limit = |algorithm: Algorithm| Action::Limit(algorithm);
    let leaky =
        LeakyBucket::new(Rate::per_second(10), Burst::tokens(100)).unwrap().max_wait(Span::from_secs(2));
    assert_eq!(action("leaky_bucket.yaml", "shaped"), limit(leaky.into()));
    let log = SlidingLog::new(Burst::tokens(100), Span::from_secs(3_600)).unwrap();
    assert_eq!(action("sliding_window.yaml", "log"), limit(log.into()));
    let counter = SlidingCounter::new(Burst::tokens(1_000), Span::from_secs(60)).unwrap();
    assert_eq!(action("sliding_window.yaml", "counter"), limit(counter.into()));
    let month =
        FixedWindow::new(Burst::tokens(10_000), Window::MONTH.ahead_of_utc(Span::from_secs(3_600))).unwrap();
    assert_eq!(action("fixed_window.yaml", "monthly"), limit(month.into()));
    let quarter = FixedWindow::new(Burst::tokens(5), Window::months(3).unwrap()).unwrap();
    assert_eq!(action("fixed_window.yaml", "quarter"), limit(quarter.into()));
    let quarter_hour =
        FixedWindow::new(Burst::tokens(5), Window::every(Span::from_secs(900)).unwrap()).unwrap();
    assert_eq!(action("fixed_window.yaml", "quarter-hour"), limit(quarter_hour.into()));
    let at_work = Concurrency::new(10, Span::from_secs(60)).unwrap();
    assert_eq!(action("concurrency.yaml", "at-work"), limit(at_work.into()));
}

#[test]
fn what_stands_beside_a_preset_takes_its_place() {
    let policy = policy("presets.yaml");
    assert_eq!((rule(&policy, "read").action, rule(&policy, "read").scope), (per_second(1, 60), Scope::Ip));
    let reset = rule(&policy, "reset");
    assert_eq!(
        (reset.action, &reset.keys[..]),
        (bucket(Rate::new(3, Span::from_secs(1_000)), 5), &[KeySource::User][..])
    );
    assert_eq!(rule(&policy, "bigger").action, per_second(10, 200));
    assert_eq!(rule(&policy, "clumps").action, per_second(10, 50));
    let tools = rule(&policy, "tools");
    assert_eq!(tools.action, per_second(1_000, 1_000));
    assert_eq!(
        (&tools.cost.source, tools.cost.max),
        (&CostSource::Header("x-token-cost".into()), Cost::tokens(1_000))
    );
    let credit = rule(&policy, "credit");
    assert_eq!(
        (credit.action, &credit.keys[..]),
        (per_second(2, 600), &[KeySource::Prefix { v4: 32, v6: 64 }][..])
    );
}

#[test]
fn groups_actions_and_settings_are_read() {
    let policy = policy("groups_and_actions.yaml");
    assert_eq!(
        (rule(&policy, "health").action, rule(&policy, "banned").action),
        (Action::Allow, Action::Block)
    );
    assert_eq!(policy.groups.len(), 1, "`combine: all` is no group of tiers");
    assert_eq!((&*policy.groups[0].name, policy.groups[0].is_implicit), ("tiers", false));
    let names: Vec<&str> = policy.groups[0].rules.iter().map(|at| &*policy.rules[*at].name).collect();
    assert_eq!(names, ["enterprise", "pro", "free"]);
    assert_eq!(rule(&policy, "posts").group, None);
    let Condition::Any(paths) = &rule(&policy, "files").condition else { panic!() };
    let patterns: Vec<&PathPattern> = paths
        .iter()
        .map(|test| match test {
            Condition::Path(test) => {
                assert!(test.is_case_sensitive);
                &test.pattern
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(
        matches!(patterns[..], [PathPattern::Glob { literal, .. }, PathPattern::Template(_), PathPattern::Prefix(prefix)]
        if literal[..] == ["files".into()] && &**prefix == "/Static")
    );

    assert_eq!(policy.kill_switches[0].until_unix_s, Some(1_798_135_200));
    assert_eq!((&*policy.kill_switches[1].name, &*policy.kill_switches[1].reason), ("stop-bots", "flood"));
    let answers = &policy.answers;
    assert_eq!(answers.headers, HeaderProfiles { draft: true, legacy: false, x: true });
    assert_eq!(
        (answers.body, answers.jitter_percent, &*answers.reason_header),
        (BodyProfile::Simple, 20, "X-Reason")
    );
    let trusted = vec!["10.0.0.0/8".parse().unwrap(), "192.0.2.1/32".parse().unwrap()];
    assert_eq!(policy.client_address.trust, Trust::Networks(trusted));
    assert_eq!(policy.client_address.header, ForwardingHeader::Single("cf-connecting-ip".into()));
    let jwt = policy.jwt.unwrap();
    assert_eq!((jwt.keys.len(), &*jwt.user_claim, &*jwt.plan_claim, jwt.leeway_s), (4, "uid", "plan", 30));
    assert_eq!(
        jwt.keys[0],
        JwtKey::SecretFromEnv { algorithm: "HS256".into(), variable: "JWT_SECRET".into() }
    );
}

#[test]
fn what_a_shared_store_needs_is_read() {
    let policy = policy("shared_store.yaml");
    let store = StoreSettings {
        deadline: Span::from_millis(20),
        away_after: Span::from_millis(500),
        instances_max: Some(8),
        local_start: LocalStart::Empty,
        lease: Span::from_millis(1_500),
        hash_tag: Some("shop:eu-1".into()),
    };
    assert_eq!((policy.store.as_ref(), policy.store_line), (Some(&store), 7));
    for (name, consistency, on_store_failure) in [
        ("everyone", Consistency::Leased, OnStoreFailure::Open),
        ("logins", Consistency::Exact, OnStoreFailure::Closed),
        ("clients", Consistency::Exact, OnStoreFailure::Local),
        ("usual", Consistency::Exact, OnStoreFailure::Local),
    ] {
        let rule = rule(&policy, name);
        assert_eq!((rule.consistency, rule.on_store_failure), (consistency, on_store_failure), "{name}");
    }
}

#[test]
fn a_store_of_which_nothing_is_said_is_as_usual() {
    let usual = StoreSettings {
        deadline: Span::from_millis(15),
        away_after: Span::from_millis(250),
        instances_max: None,
        local_start: LocalStart::Full,
        lease: Span::from_millis(400),
        hash_tag: None,
    };
    assert_eq!(StoreSettings::default(), usual);
    let rules = "rules: [{scope: ip, rate: 1, burst: 1}]";
    let store =
        |text: &str| Policy::parse("a.yaml", text).unwrap_or_else(|mistakes| panic!("{mistakes}")).store;
    assert_eq!(store(&format!("{{store: {{}}, {rules}}}")), Some(usual));
    let away_after = |text: &str| store(&format!("{{store: {text}, {rules}}}")).map(|store| store.away_after);
    assert_eq!(away_after("{deadline: 1s}"), Some(Span::from_secs(1)), "no shorter than the deadline");
    assert_eq!(away_after("{deadline: 200ms}"), Some(Span::from_millis(250)));
    assert_eq!(store(rules), None);
    assert_eq!(store("{scope: ip, rate: 1, burst: 1, consistency: leased}"), None);
}

#[test]
fn the_store_takes_its_least_and_its_most_and_nothing_beyond() {
    let read = |field: &str| {
        let text = format!("{{store: {{{field}}}, rules: [{{scope: ip, rate: 1, burst: 1}}]}}");
        Policy::parse("a.yaml", &text)
    };
    let tag = |bytes: usize| format!("hash_tag: {}", "x".repeat(bytes));
    for fine in [
        "deadline: 1ms",
        "deadline: 1s",
        "deadline: 1000ms",
        "lease: 100ms",
        "lease: 10s",
        "instances_max: 1",
        "instances_max: 10000",
        &tag(64),
    ] {
        assert!(read(fine).is_ok(), "{fine}");
    }
    for beyond in [
        "deadline: 0.999999ms",
        "deadline: 1001ms",
        "deadline: 0s",
        "lease: 99ms",
        "lease: 10.001s",
        "instances_max: 0",
        "instances_max: 10001",
        "instances_max: 1.5",
        "instances_max: -1",
        "hash_tag: ''",
        &tag(65),
    ] {
        let mistakes = read(beyond).expect_err(beyond);
        assert_eq!(mistakes.count(), 1, "{mistakes}");
    }
}

#[test]
fn every_word_about_the_store_is_spelt_as_it_is_named() {
    use OnStoreFailure::{Closed, Local, Open};
    let read =
        |fields: String| Policy::parse("a", &format!("{{scope: ip, rate: 1, burst: 1, {fields}}}")).unwrap();
    for word in [Open, Closed, Local] {
        assert_eq!(read(format!("on_store_failure: {}", word.name())).rules[0].on_store_failure, word);
    }
    for word in [Consistency::Exact, Consistency::Leased] {
        assert_eq!(read(format!("consistency: {}", word.name())).rules[0].consistency, word);
    }
    assert_eq!([LocalStart::Full, LocalStart::Empty].map(LocalStart::name), ["full", "empty"]);
}

#[test]
fn yaml_and_json_are_one_model() {
    let yaml = Policy::parse("a.yaml", "- name: a\n  scope: ip\n  rate: 0.1\n  burst: 5\n").unwrap();
    let json =
        Policy::parse("a.json", "[{\"name\": \"a\",\t\"scope\": \"ip\",\n\t\"rate\": 0.1, \"burst\": 5}]")
            .unwrap();
    assert_eq!(format!("{:?}", yaml.rules), format!("{:?}", json.rules));
}

#[test]
fn ten_thousand_rules_are_read() {
    let wild = |at: usize| if at.is_multiple_of(50) { "*/x" } else { "*" };
    let one = |at: usize| {
        format!("- {{name: r{at}, scope: user, path: \"/p{at}/{}\", rate: 10/s, burst: 50}}\n", wild(at))
    };
    let text: String = (0..10_000).map(one).collect();
    assert_eq!(Policy::parse("many.yaml", &text).unwrap().rules.len(), 10_000);
}

#[test]
fn json_is_read_as_json_writes_it() {
    let text = "{\"name\": \"a\\/b\", \"scope\": \"ip\", \"rate\": 1E+1, \"burst\": 5.0,\r\n \"message\": \"\\u00e9\\ud83d\\ude00\\n\"}\r\n";
    let policy = Policy::parse("a.json", text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let rule = rule(&policy, "a/b");
    assert_eq!(rule.action, per_second(10, 5));
    assert_eq!(rule.message.as_deref(), Some("é😀\n"));
}
