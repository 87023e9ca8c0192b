//! What is promised of the pulse, with engines that check, and with a history that is given beats.

use serde_json::{Value, json};
use tollgate::policy::Facts;
use tollgate::{Clock, Limiter, Moment};

use super::beat::{Beat, Done, Latency, OfRule};
use super::history::{History, Past};
use super::store::OfStore;
use super::*;
use crate::door::Door;
use crate::policy_source::{PolicySource, PolicyText};

const POLICY: &str = "
rules:
  - {name: per-user, limit_keys: [user], rate: 1/h, burst: 3}
  - {name: watched, limit_keys: [user], rate: 1/h, burst: 1, mode: shadow}
  - {name: watched-too, limit_keys: [user], rate: 1/h, burst: 2, mode: shadow}
  - {name: idle, scope: global, path: /nowhere, rate: 1/h, burst: 1}
";

fn engine(clock: &Clock) -> Engine {
    let text = PolicyText { name: "policy.yaml".to_owned(), text: POLICY.to_owned() };
    let settings = Limiter::builder().keys_max(1_000).clock(clock.clone());
    Engine::of(PolicySource::Embedded, text, settings, None).unwrap()
}

/// Checks of a user, noted as a door notes them: each takes 3 microseconds.
fn check(engine: &Engine, clock: &Clock, user: &str, times: usize) {
    let facts = Facts { user: Some(user), ..Facts::new("GET", "/") };
    for _ in 0..times {
        let begun = clock.now();
        let decision = engine.limiter.check(&facts);
        clock.advance(tollgate::Span::from_nanos(3_000));
        engine.metrics.note_duration(Door::Http, begun, clock.now());
        engine.note_decision(Door::Http, &decision, clock.now());
    }
}

fn told(pulse: &Pulse) -> Value {
    serde_json::from_str(&pulse.told.borrow()).unwrap()
}

#[test]
fn a_beat_counts_each_check_once_and_what_every_rule_did() {
    let clock = Clock::manual(Moment::from_nanos(1));
    let (engine, pulse) = (engine(&clock), Pulse::default());
    check(&engine, &clock, "before", 1);
    let first = Tally::of(&engine);
    check(&engine, &clock, "ann", 5);
    clock.advance(tollgate::Span::from_secs(1));
    let second = pulse.once(&engine, &first);
    let beat = told(&pulse);
    // Three are admitted. Of these the one that holds one would have denied two, and the other one: two checks in all. Those that were denied
    // anyway, both would have denied, too.
    assert_eq!(beat["total"], json!({ "admitted": 3, "denied": 2, "shadow": 4, "refused": 0 }), "{beat}");
    assert_eq!(beat["rules"].as_array().unwrap().len(), 3, "{beat}");
    assert_eq!(
        beat["rules"][0],
        json!({ "name": "per-user", "admitted": 3, "denied": 2, "shadow": 0, "refused": 0 })
    );
    assert_eq!(beat["rules"][1]["shadow"], 4, "{beat}");
    assert_eq!(beat["rules"][2]["shadow"], 3, "{beat}");
    assert_eq!(beat["ms"], 1_000, "{beat}");
    let p50 = beat["latency_us"]["p50"].as_f64().unwrap();
    assert!((2.5..=5.0).contains(&p50), "{beat}");
    assert_eq!(beat["keys"], 2, "{beat}");
    assert_eq!(
        beat["store"],
        json!({ "kind": "memory", "state": "ok", "exact": 5, "leased": 0, "fallback": 0, "lease_hit_ratio": null,
                "denial_cache_ratio": null, "round_trips_per_check": null })
    );
    assert_eq!((&beat["left_out"], &beat["evicted"]), (&json!(0), &json!(0)));
    pulse.once(&engine, &second);
    let beat = told(&pulse);
    assert_eq!((&beat["latency_us"], &beat["rules"]), (&Value::Null, &json!([])), "{beat}");
    assert_eq!(beat["total"], json!({ "admitted": 0, "denied": 0, "shadow": 0, "refused": 0 }), "{beat}");
}

#[test]
fn checks_whose_limits_come_with_the_call_are_among_the_total() {
    let clock = Clock::manual(Moment::from_nanos(1));
    let (engine, pulse) = (engine(&clock), Pulse::default());
    let first = Tally::of(&engine);
    engine.metrics.checks.note_explicit(Door::Resp, crate::metrics::Became::Admitted, 7);
    engine.metrics.checks.note_explicit(Door::Http, crate::metrics::Became::Never, 2);
    pulse.once(&engine, &first);
    let beat = told(&pulse);
    assert_eq!(beat["total"], json!({ "admitted": 7, "denied": 2, "shadow": 0, "refused": 0 }), "{beat}");
    assert_eq!(beat["rules"], json!([]));
}

#[test]
fn another_policy_begins_its_shadows_anew_and_nothing_is_counted_twice() {
    let clock = Clock::manual(Moment::from_nanos(1));
    let (engine, pulse) = (engine(&clock), Pulse::default());
    check(&engine, &clock, "ann", 3);
    let first = Tally::of(&engine);
    // The embedded policy, which has none of these rules.
    engine.reload(true).unwrap();
    let second = pulse.once(&engine, &first);
    assert_eq!(told(&pulse)["total"], json!({ "admitted": 0, "denied": 0, "shadow": 0, "refused": 0 }));
    check(&engine, &clock, "ann", 1);
    pulse.once(&engine, &second);
    assert_eq!(told(&pulse)["total"]["admitted"], 1);
}

/// A beat in which each of these rules admitted so many.
fn beat(rules: &[(&str, u64)]) -> Beat {
    let done = |admitted: u64| Done { admitted, denied: 1, shadow: 0, refused: 0 };
    Beat {
        at_ms: 5_000,
        ms: 1_000,
        total: done(rules.iter().map(|(_, admitted)| admitted).sum()),
        latency_us: Some(Latency { p50: 1.0, p99: 2.0 }),
        keys: 0,
        evicted: 0,
        store: OfStore::in_memory(&Done::default()),
        rules: rules
            .iter()
            .map(|(name, admitted)| OfRule { name: (*name).into(), done: done(*admitted) })
            .collect(),
        left_out: 0,
    }
}

fn at(millis: u64) -> Moment {
    Moment::from_nanos(millis * 1_000_000)
}

fn shown(past: &Past) -> Value {
    serde_json::to_value(past).unwrap()
}

#[test]
fn the_past_is_in_columns_with_nothing_where_the_program_did_not_run() {
    let mut history = History::default();
    history.begin(at(100));
    assert_eq!(shown(&history.past(2))["total"]["admitted"], json!([null, null]));
    history.note(&beat(&[("a", 3)]), at(1_090));
    history.note(&beat(&[("a", 4), ("b", 9)]), at(2_110));
    // It was stopped for two seconds, and the beat after that comes early.
    history.note(&beat(&[]), at(5_101));
    history.note(&beat(&[("b", 1)]), at(5_500));
    let past = shown(&history.past(7));
    assert_eq!(
        (&past["step_ms"], &past["end_ms"], &past["seconds"]),
        (&json!(1_000), &json!(5_000), &json!(7))
    );
    assert_eq!(past["total"]["admitted"], json!([null, null, 3, 13, null, null, 1]), "{past}");
    assert_eq!(past["total"]["denied"], json!([null, null, 1, 1, null, null, 2]), "{past}");
    assert_eq!(past["latency_us"]["p99"], json!([null, null, 2.0, 2.0, null, null, 2.0]), "{past}");
    // The busiest first.
    assert_eq!((&past["rules"][0]["name"], &past["rules"][1]["name"]), (&json!("b"), &json!("a")), "{past}");
    assert_eq!(past["rules"][1]["admitted"], json!([null, null, 3, 4, null, null, 0]), "{past}");
    assert_eq!(shown(&history.past(1))["rules"][0]["admitted"], json!([1]));
    assert_eq!(
        shown(&history.past(1))["rules"].as_array().unwrap().len(),
        1,
        "of rules that did anything then"
    );
}

#[test]
fn what_is_older_than_fifteen_minutes_is_forgotten() {
    let mut history = History::default();
    history.begin(at(0));
    for second in 1..=2_000 {
        let rule = if second == 1 { "old" } else { "new" };
        history.note(&beat(&[(rule, second)]), at(second * 1_000));
    }
    let past = shown(&history.past(SECONDS_MAX));
    let admitted = past["total"]["admitted"].as_array().unwrap();
    assert_eq!((admitted.len(), &admitted[0], &admitted[899]), (900, &json!(1_101), &json!(2_000)));
    assert_eq!(past["rules"].as_array().unwrap().len(), 1, "{}", past["rules"][1]["name"]);
    // A pause of hours leaves nothing of before.
    history.note(&beat(&[]), at(20_000_000));
    let past = shown(&history.past(SECONDS_MAX));
    assert!(past["total"]["admitted"].as_array().unwrap()[..899].iter().all(Value::is_null));
    assert_eq!(past["rules"], json!([]));
}

#[test]
fn there_are_so_many_rules_and_figures_and_the_others_are_counted() {
    let mut history = History::default();
    history.begin(at(0));
    let names: Vec<String> = (0..250).map(|number| format!("rule-{number:03}")).collect();
    let rules: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
    history.note(&beat(&rules), at(1_000));
    let past = shown(&history.past(10));
    assert_eq!((past["rules"].as_array().unwrap().len(), &past["left_out"]), (200, &json!(50)));
    let past = shown(&history.past(900));
    assert_eq!((past["rules"].as_array().unwrap().len(), &past["left_out"]), (66, &json!(134 + 50)));
    // Who has done nothing for long enough makes room.
    for second in 2..=920 {
        history.note(&beat(&[("another", 1)]), at(second * 1_000));
    }
    let past = shown(&history.past(10));
    assert_eq!((past["rules"].as_array().unwrap().len(), &past["left_out"]), (1, &json!(0)));
}
