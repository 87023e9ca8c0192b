//! What the playground does not play: bodies with mistakes, too much of anything, and hostile ones.

use serde_json::{Value, json};
use tollgate_records::Role;

use super::door::{Answer, TestDoor, local_peer};
use super::simulate::{PATH, simulation, token_bucket};
use crate::settings::Playground;

/// A body, the field that is wrong with it, and what is said of it.
type Case = (Value, &'static str, &'static str);

async fn refuse(cases: impl IntoIterator<Item = Case>) {
    let door = TestDoor::open().await;
    let token = door.token(Role::Viewer).await;
    for (body, field, said) in cases {
        let answer = door.post(PATH, &body).token(&token).expect(400).await;
        assert_eq!(answer.reason(), "bad_body", "{body}: {answer:?}");
        let json = answer.json();
        assert_eq!(json["field"], field, "{answer:?}");
        let detail = json["detail"].as_str().unwrap();
        assert!(detail.contains(said) && detail.contains(&format!("`{field}`")), "{field}: {detail}");
        assert!(answer.text.len() < 1_000);
    }
}

/// What can be played, but for this.
fn with(name: &str, value: Value) -> Value {
    let mut whole = simulation(&token_bucket(), &json!([]));
    whole[name] = value;
    whole
}

#[tokio::test]
async fn a_run_that_cannot_be_played_is_refused_with_the_field_the_value_and_the_cure() {
    let promise = |burst: Value| json!({ "rate": "10/s", "burst": burst });
    let nine: Vec<Value> = (0..9).map(|_| token_bucket()).collect();
    let empty = json!({ "pattern": "list", "at_ms": [] });
    refuse([
        (json!({}), "length_ms", "is missing; give milliseconds"),
        (with("length_ms", json!(0)), "length_ms", "is 0"),
        (with("length_ms", json!(-1)), "length_ms", "is -1; use a number of milliseconds from 0 to 86400000"),
        (with("length_ms", json!("1")), "length_ms", "is '1'"),
        (with("length_ms", json!(86_400_001)), "length_ms", "is 86400001"),
        (with("length_ms", json!(1e300)), "length_ms", "is 1e+300"),
        (
            with("speed", json!(1)),
            "speed",
            "is no field of it; there are: length_ms, arrivals, lanes, promise",
        ),
        (with("lanes", json!([])), "lanes", "has 0 entries; use 1 to 8"),
        (with("lanes", json!(nine)), "lanes", "has 9 entries; use 1 to 8"),
        (with("lanes", json!({})), "lanes", "is an object; send a list"),
        (with("lanes", json!([7])), "lanes[0]", "is 7; send an object"),
        (with("arrivals", json!(null)), "arrivals", "is missing"),
        (with("arrivals", json!(vec![empty; 33])), "arrivals", "has 33 entries"),
        (with("promise", promise(json!(null))), "promise.burst", "is missing"),
        (
            with("promise", promise(json!(0))),
            "promise.burst",
            "is 0, which denies everything; use 1 token or more",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_lane_that_cannot_be_is_refused_with_the_field_the_value_and_the_cure() {
    let lane = |algorithm: &str, fields: Value| {
        let mut lane = fields;
        lane["algorithm"] = json!(algorithm);
        simulation(&lane, &json!([]))
    };
    let bucket = |rate: Value, burst: Value| lane("token_bucket", json!({ "rate": rate, "burst": burst }));
    let window = |algorithm: &str, quota: Value, window: Value| {
        lane(algorithm, json!({ "quota": quota, "window": window }))
    };
    let credit = |more: Value| lane("token_bucket", more);
    refuse([
        (bucket(json!(10), json!(0)), "lanes[0].burst", "is 0"),
        (bucket(json!(10), json!(-5)), "lanes[0].burst", "is -5, which is below 0"),
        (bucket(json!(10), json!("5")), "lanes[0].burst", "is '5'; use a number"),
        (bucket(json!(10), json!(1e13)), "lanes[0].burst", "is 10000000000000"),
        (bucket(json!("10 per second"), json!(5)), "lanes[0].rate", "is '10 per second', no rate"),
        (bucket(json!(0), json!(5)), "lanes[0].rate", "is 0"),
        (bucket(json!("0/s"), json!(5)), "lanes[0].rate", "is '0/s', no rate above 0"),
        (bucket(json!(1e10), json!(5)), "lanes[0].rate", "use at most 1000000000"),
        (bucket(json!("1/999d"), json!(5)), "lanes[0].rate", "use at least 1 token per year"),
        (bucket(json!([1]), json!(5)), "lanes[0].rate", "is a list, no rate"),
        (credit(json!({ "rate": 1, "burst": 5, "credit": "5s" })), "lanes[0].credit", "beside `burst`"),
        (credit(json!({ "rate": "1/d", "credit": "1ms" })), "lanes[0].credit", "nothing is minted"),
        (credit(json!({ "rate": 1, "queue": 5 })), "lanes[0].queue", "is no field of it"),
        (lane("leaky_bucket", json!({ "rate": 1, "queue": 0 })), "lanes[0].queue", "is 0"),
        (window("sliding_log", json!(0), json!("5s")), "lanes[0].quota", "is 0"),
        (window("sliding_log", json!(5), json!("0s")), "lanes[0].window", "is 0"),
        (window("sliding_counter", json!(1e9), json!("5s")), "lanes[0].quota", "a sliding counter counts to"),
        (window("fixed_window", json!(5), json!(5)), "lanes[0].window", "is 5, no length of time"),
        (window("fixed_window", json!(5), json!("0s")), "lanes[0].window", "has no length"),
        (window("gcra", json!(5), json!("5s")), "lanes[0].algorithm", "is 'gcra'; use one of token_bucket"),
        (lane("tiers", json!({ "tiers": [] })), "lanes[0].tiers", "has 0 entries; use 1 to 4"),
        (lane("tiers", json!({ "tiers": [{ "rate": 1, "burst": 0 }] })), "lanes[0].tiers[0].burst", "is 0"),
        (lane("tiers", json!({ "name": "x".repeat(65), "tiers": [] })), "lanes[0].name", "64 characters"),
    ])
    .await;
}

#[tokio::test]
async fn requests_that_cannot_come_are_refused_with_the_field_the_value_and_the_cure() {
    let of = |pattern: Value| with("arrivals", json!([pattern]));
    let steady = |name: &str, value: Value| {
        let mut pattern = json!({ "pattern": "steady", "per_second": 1, "from_ms": 5 });
        pattern[name] = value;
        of(pattern)
    };
    let waves = json!({ "pattern": "waves", "per_second": 1, "on_ms": 0, "off_ms": 1 });
    refuse([
        (steady("per_second", json!(0)), "arrivals[0].per_second", "is 0"),
        (steady("per_second", json!(-1)), "arrivals[0].per_second", "is -1"),
        (steady("per_second", json!(501)), "arrivals[0]", "more than 5000 requests"),
        (steady("cost", json!(0)), "arrivals[0].cost", "is 0"),
        (steady("cost", json!(1_000_000_001)), "arrivals[0].cost", "use at most 1000000000"),
        (steady("cost", json!(0.000_000_1)), "arrivals[0].cost", "finer than one micro-token"),
        (steady("to_ms", json!(4)), "arrivals[0].to_ms", "is before `from_ms`"),
        (steady("to_ms", json!(10_001)), "arrivals[0].to_ms", "is 10001"),
        (steady("count", json!(1)), "arrivals[0].count", "is no field of it"),
        (steady("pattern", json!("chaos")), "arrivals[0].pattern", "is 'chaos'"),
        (of(waves), "arrivals[0].on_ms", "is 0"),
        (of(json!({ "pattern": "poisson", "per_second": 1, "seed": -1 })), "arrivals[0].seed", "is -1"),
        (of(json!({ "pattern": "burst", "at_ms": 0, "count": 5_001 })), "arrivals[0].count", "is 5001"),
        (of(json!({ "pattern": "list", "at_ms": [0, -1] })), "arrivals[0].at_ms[1]", "is -1"),
    ])
    .await;
}

#[tokio::test]
async fn too_many_buckets_for_so_many_requests_are_refused() {
    let door = TestDoor::open().await;
    let tiers = json!({ "algorithm": "tiers", "tiers": vec![json!({ "rate": 1, "burst": 5 }); 4] });
    let mut request = simulation(&tiers, &json!([{ "pattern": "burst", "at_ms": 0, "count": 5_000 }]));
    door.post(PATH, &request).expect(200).await;
    request["lanes"].as_array_mut().unwrap().push(token_bucket());
    let refused = door.post(PATH, &request).expect(400).await.json();
    let detail = refused["detail"].as_str().unwrap();
    assert!(
        detail.contains("5 buckets, and with 5000 requests that is 25000 checks; use at most 20000"),
        "{detail}"
    );
}

#[tokio::test]
async fn hostile_bodies_are_refused_in_few_words_and_nothing_breaks() {
    let door = TestDoor::open_with(Playground::Open).await;
    let deep = format!("{{\"lanes\": {}", "[".repeat(100_000));
    let deep_object = format!("{}1{}", "{\"lanes\":".repeat(100_000), "}".repeat(100_000));
    let long_name = format!("{{\"{}\": 1}}", "x".repeat(500_000));
    let long_list = format!("{{\"length_ms\": 1, \"arrivals\": [{}]}}", vec!["0"; 400_000].join(","));
    let long_moments = serde_json::to_string(&simulation(
        &token_bucket(),
        &json!([{ "pattern": "list", "at_ms": vec![0; 300_000] }]),
    ));
    let long_moments = long_moments.unwrap();
    for body in [
        "{",
        "{}",
        "{\"length_ms\": NaN}",
        "{\"length_ms\": Infinity}",
        "{\"length_ms\": 1e999}",
        "{\"length_ms\": -1e999}",
        "{\"length_ms\": 99999999999999999999999999999999}",
        "{\"length_ms\": 0x10}",
        "{\"length_ms\": \"\\ud800\"}",
        "{\"length_ms\": true}",
        "{\"length_ms\": null}",
        "{\"\": 1}",
        "[]",
        "null",
        "\"x\"",
        "\u{0}",
        "{\"length_ms\": 1, \"length_ms\": []}",
        &deep,
        &deep_object,
        &long_name,
        &long_list,
        &long_moments,
    ] {
        let asking = door.ask("POST", PATH).field("content-type", "application/json").body(body);
        let answer = asking.answer().await;
        let shown: String = body.chars().take(80).collect();
        assert_eq!((answer.status, answer.reason().as_str()), (400, "bad_body"), "{shown}: {answer:?}");
        assert!(answer.text.len() < 1_000, "{shown}");
    }
    // Whatever any field holds.
    let hostile = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1e308),
        json!(-1e308),
        json!(1e-308),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!("NaN"),
        json!("inf/s"),
        json!("1e999/s"),
        json!("99999999999999999999/ms"),
        json!("1/0s"),
        json!("\u{0}"),
        json!([]),
        json!([[[[]]]]),
        json!({}),
        json!({ "a": { "b": {} } }),
    ];
    let whole = json!({
        "length_ms": 1_000,
        "arrivals": [
            { "pattern": "steady", "per_second": 20, "from_ms": 0, "to_ms": 900, "cost": 1 },
            { "pattern": "waves", "per_second": 20, "on_ms": 10, "off_ms": 90, "from_ms": 0, "to_ms": 900, "cost": 1 },
            { "pattern": "poisson", "per_second": 20, "seed": 7 }, { "pattern": "burst", "at_ms": 5, "count": 5 },
            { "pattern": "list", "at_ms": [1, 2] },
        ],
        "lanes": [
            token_bucket(), { "algorithm": "token_bucket", "rate": 1, "credit": "5s" }, { "algorithm": "leaky_bucket", "rate": 1, "queue": 5 },
            { "algorithm": "sliding_log", "quota": 5, "window": "1s" }, { "algorithm": "sliding_counter", "quota": 5, "window": "1s" },
            { "algorithm": "fixed_window", "quota": 5, "window": "1s" },
            { "algorithm": "tiers", "tiers": [{ "name": "a", "rate": 1, "burst": 5 }] },
        ],
        "promise": { "rate": 1, "burst": 5 },
    });
    let mut places = Vec::new();
    places_of(&whole, String::new(), &mut places);
    assert!(places.len() > 50);
    for place in &places {
        for value in &hostile {
            let mut body = whole.clone();
            *body.pointer_mut(place).unwrap() = value.clone();
            // Each from an address of its own: all of them are more than the allowance of one.
            let answer = door.post(PATH, &body).from(Some(local_peer())).answer().await;
            judge(&answer, place, value);
        }
    }
}

/// Either it is played, or refused with the field.
#[track_caller]
fn judge(answer: &Answer, place: &str, value: &Value) {
    match answer.status {
        200 => assert!(answer.text.len() < 1_000_000, "{place} {value}"),
        400 => {
            assert_eq!(answer.reason(), "bad_body", "{place} {value}");
            let field = answer.json()["field"].as_str().unwrap_or_default().to_owned();
            assert!(!field.is_empty() && answer.text.len() < 1_000, "{place} {value}: {}", answer.text);
        }
        status => panic!("{place} {value}: {status} {}", answer.text),
    }
}

/// Every value within, by its JSON pointer.
fn places_of(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| places_of(value, format!("{place}/{name}"), places));
        }
        Value::Array(values) => {
            values
                .iter()
                .enumerate()
                .for_each(|(at, value)| places_of(value, format!("{place}/{at}"), places));
        }
        _ => {}
    }
    if !place.is_empty() {
        places.push(place);
    }
}

#[tokio::test]
async fn the_largest_answer_is_bounded() {
    let door = TestDoor::open().await;
    // Long numbers everywhere, each request at a moment of its own.
    let lane =
        |algorithm: &str| json!({ "algorithm": algorithm, "quota": 1_999_999.999_999, "window": "7m" });
    let lanes = json!([
        lane("sliding_log"), lane("sliding_counter"), lane("fixed_window"),
        { "algorithm": "token_bucket", "rate": 1_234.567_89, "burst": 987_654_321_012.123_4 },
    ]);
    let mut request = simulation(
        &Value::Null,
        &json!([{ "pattern": "steady", "per_second": 0.057_87, "cost": 123.456_789 }]),
    );
    request["length_ms"] = json!(86_400_000);
    request["lanes"] = lanes;
    let answer = door.post(PATH, &request).expect(200).await;
    assert_eq!(answer.json()["arrivals"], 5_000);
    assert!(answer.text.len() < 3_000_000, "{}", answer.text.len());
}
