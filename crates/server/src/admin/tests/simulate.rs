//! The playground: known figures over a real connection, limits on what may be asked, and hostile bodies.

use serde_json::{Value, json};
use tollgate_records::Role;

use super::door::{Answer, TestDoor, local_peer, other_peer};
use crate::settings::Playground;

const PATH: &str = "/admin/v1/simulate";

async fn played(door: &TestDoor, request: &Value) -> Value {
    door.post(PATH, request).expect(200).await.json()
}

/// One lane of what is played, with these arrivals, and what would have to be changed of it.
fn simulation(lane: &Value, arrivals: &Value) -> Value {
    json!({
        "length_ms": 10_000, "arrivals": arrivals, "lanes": [lane],
        "promise": { "rate": "10/s", "burst": 50 },
    })
}

fn token_bucket() -> Value {
    json!({ "name": "token bucket", "algorithm": "token_bucket", "rate": "10/s", "burst": 50 })
}

fn outcomes(lane: &Value) -> Vec<u64> {
    lane["events"].as_array().unwrap().iter().map(|event| event[2].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn the_worked_example_comes_out_with_its_known_figures() {
    let door = TestDoor::open().await;
    let request = simulation(&token_bucket(), &json!([{ "pattern": "steady", "per_second": 60 }]));
    let answer = played(&door, &request).await;
    assert_eq!((&answer["arrivals"], &answer["length_ms"]), (&json!(600), &json!(10_000)));
    assert_eq!(answer["promise"], json!({ "text": "50 + 10/s · d", "rate_per_s": 10.0, "burst": 50 }));
    let lane = &answer["lanes"][0];
    let outcomes = outcomes(lane);
    assert_eq!(outcomes[..60].iter().filter(|outcome| **outcome == 1).count(), 59);
    assert_eq!(outcomes.iter().position(|outcome| *outcome == 0), Some(59));
    assert_eq!(lane["events"][59], json!([983.333, 1, 0, 0.833_333, 16.667, null]));
    for second in 2..10 {
        let admitted = outcomes[second * 60..][..60].iter().filter(|outcome| **outcome == 1).count();
        assert_eq!(admitted, 10, "one in six, in second {second}");
    }
    let told = ["name", "algorithm", "limit", "capacity", "over_promise", "longest_delay_ms"]
        .map(|name| &lane[name]);
    let expected = [
        json!("token bucket"),
        json!("token_bucket"),
        json!("10/s, burst 50"),
        json!(50),
        json!(0),
        json!(0),
    ];
    assert_eq!(told, expected.each_ref());
    assert_eq!(lane["admitted"].as_u64().unwrap() + lane["denied"].as_u64().unwrap(), 600);
    let level = lane["level"].as_array().unwrap();
    assert_eq!((&level[0], level.last().unwrap()[0].as_f64()), (&json!([0, 50]), Some(10_000.0)));
    assert_eq!(played(&door, &request).await, answer, "the same request gives the same answer");
}

#[tokio::test]
async fn the_double_window_attack_gets_twice_the_quota_of_a_window_and_nothing_of_a_bucket() {
    let door = TestDoor::open().await;
    let request = json!({
        "length_ms": 10_000,
        "arrivals": [{ "pattern": "burst", "at_ms": 4_999, "count": 50 }, { "pattern": "burst", "at_ms": 5_000, "count": 50 }],
        "lanes": [
            { "name": "fixed", "algorithm": "fixed_window", "quota": 50, "window": "5s" },
            token_bucket(),
            { "algorithm": "token_bucket", "rate": 10, "credit": "5s" },
            { "algorithm": "sliding_log", "quota": 50, "window": "5s" },
            { "algorithm": "sliding_counter", "quota": 50, "window": "5s" },
            { "algorithm": "leaky_bucket", "rate": "600/m", "queue": 50 },
        ],
        "promise": { "rate": "10/s", "burst": 50 },
    });
    let answer = played(&door, &request).await;
    let figures: Vec<_> = answer["lanes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lane| (lane["admitted"].as_u64().unwrap(), lane["over_promise"].as_f64().unwrap()))
        .collect();
    assert_eq!(figures[0], (100, 49.989_999));
    for (index, (admitted, over)) in figures.iter().enumerate().skip(1) {
        assert_eq!((*admitted, *over), (50, 0.0), "{}", answer["lanes"][index]["name"]);
    }
    let most = |lane: usize| answer["lanes"][lane]["most_in_window"].clone();
    assert_eq!(most(0), json!({ "window_ms": 5_000, "tokens": 100 }));
    assert_eq!(most(1), json!({ "window_ms": 5_000, "tokens": 50 }));
    // The queue lets them out one every 100 ms, and each is told when.
    let leaky = &answer["lanes"][5];
    assert_eq!(
        (&leaky["events"][1], &leaky["longest_delay_ms"]),
        (&json!([4_999, 1, 2, 48, 100, null]), &json!(4_900))
    );
}

#[tokio::test]
async fn tiers_say_which_of_them_denied_and_how_each_stands() {
    let door = TestDoor::open().await;
    let lane = json!({ "name": "tiers", "algorithm": "tiers", "tiers": [
        { "name": "user", "rate": "2/s", "burst": 5 }, { "name": "org", "rate": "5/s", "burst": 20 },
    ] });
    let answer =
        played(&door, &simulation(&lane, &json!([{ "pattern": "burst", "at_ms": 0, "count": 6 }]))).await;
    let lane = &answer["lanes"][0];
    assert_eq!(lane["limit"], "user 2/s, burst 5; org 5/s, burst 20");
    assert_eq!(lane["events"][5], json!([0, 1, 0, 0, 500, 0]));
    assert_eq!((&lane["capacity"], &lane["tiers"][1]["capacity"]), (&json!(5), &json!(20)));
    assert_eq!(lane["levels"].as_array().unwrap().len(), 2);
    assert_eq!(lane["levels"][1].as_array().unwrap().last(), Some(&json!([10_000, 20])));
    assert!(lane["level"].is_null());
}

#[tokio::test]
async fn a_cost_above_what_there_ever_is_is_played_and_never_admitted() {
    let door = TestDoor::open().await;
    let arrivals = json!([{ "pattern": "list", "at_ms": [20, 0, 1.5], "cost": 51 }]);
    let answer = played(&door, &simulation(&token_bucket(), &arrivals)).await;
    let event = |at: &Value| json!([at, 51, 3, 50, 0, null]);
    let expected = [json!(0), json!(1.5), json!(20)].map(|at| event(&at));
    assert_eq!(answer["lanes"][0]["events"], json!(expected));
}

#[tokio::test]
async fn every_pattern_is_played_and_none_is_fine_too() {
    let door = TestDoor::open().await;
    let count = async |arrivals: Value| {
        played(&door, &simulation(&token_bucket(), &arrivals)).await["arrivals"].clone()
    };
    assert_eq!(count(json!([])).await, 0);
    assert_eq!(
        count(json!([{ "pattern": "steady", "per_second": "120/m", "from_ms": 1_000, "to_ms": 3_000 }]))
            .await,
        4
    );
    assert_eq!(count(json!([{ "pattern": "burst", "at_ms": 10_000, "count": 3 }])).await, 3);
    let waves = json!({ "pattern": "waves", "per_second": 200, "on_ms": 1_000, "off_ms": 4_000 });
    assert_eq!(count(json!([waves])).await, 400);
    let poisson = |seed: u64| json!([{ "pattern": "poisson", "per_second": 20, "seed": seed }]);
    assert_eq!(count(poisson(7)).await, count(poisson(7)).await);
    assert!((100..300).contains(&count(poisson(7)).await.as_u64().unwrap()));
}

#[tokio::test]
async fn what_cannot_be_played_is_refused_with_the_field_the_value_and_the_cure() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Viewer).await;
    let steady = |more: Value| {
        let mut pattern = json!({ "pattern": "steady", "per_second": 1 });
        pattern.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        simulation(&token_bucket(), &json!([pattern]))
    };
    let lane = |lane: Value| simulation(&lane, &json!([]));
    let with = |name: &str, value: Value| {
        let mut whole = simulation(&token_bucket(), &json!([]));
        whole[name] = value;
        whole
    };
    let many: Vec<Value> = (0..9).map(|_| token_bucket()).collect();
    let cases = [
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
        (with("lanes", json!(many)), "lanes", "has 9 entries; use 1 to 8"),
        (with("lanes", json!({})), "lanes", "is an object; send a list"),
        (with("lanes", json!([7])), "lanes[0]", "is 7; send an object"),
        (with("arrivals", json!(null)), "arrivals", "is missing"),
        (with("promise", json!({ "rate": "10/s" })), "promise.burst", "is missing"),
        (
            with("promise", json!({ "rate": "10/s", "burst": 0 })),
            "promise.burst",
            "is 0, which denies everything; use 1 token or more",
        ),
        (lane(json!({ "algorithm": "token_bucket", "rate": "10/s", "burst": 0 })), "lanes[0].burst", "is 0"),
        (
            lane(json!({ "algorithm": "token_bucket", "rate": "10/s", "burst": -5 })),
            "lanes[0].burst",
            "is -5, which is below 0",
        ),
        (
            lane(json!({ "algorithm": "token_bucket", "rate": "10/s", "burst": "5" })),
            "lanes[0].burst",
            "is '5'; use a number",
        ),
        (
            lane(json!({ "algorithm": "token_bucket", "rate": "10/s", "burst": 1e13 })),
            "lanes[0].burst",
            "is 10000000000000",
        ),
        (
            lane(json!({ "algorithm": "token_bucket", "rate": "10 per second", "burst": 5 })),
            "lanes[0].rate",
            "is '10 per second', no rate",
        ),
        (lane(json!({ "algorithm": "token_bucket", "rate": 0, "burst": 5 })), "lanes[0].rate", "is 0"),
        (
            lane(json!({ "algorithm": "token_bucket", "rate": "0/s", "burst": 5 })),
            "lanes[0].rate",
            "is '0/s', no rate above 0",
        ),
        (
            lane(json!({ "algorithm": "token_bucket", "rate": 1e10, "burst": 5 })),
            "lanes[0].rate",
            "use at most 1000000000",
        ),
        (
            lane(json!({ "algorithm": "token_bucket", "rate": "1/999d", "burst": 5 })),
            "lanes[0].rate",
            "use at least 1 token per year",
        ),
        (
            lane(json!({ "algorithm": "token_bucket", "rate": [1], "burst": 5 })),
            "lanes[0].rate",
            "is a list, no rate",
        ),
        (
            lane(json!({ "algorithm": "token_bucket", "rate": 1, "burst": 5, "credit": "5s" })),
            "lanes[0].credit",
            "beside `burst`",
        ),
        (
            lane(json!({ "algorithm": "token_bucket", "rate": "1/d", "credit": "1ms" })),
            "lanes[0].credit",
            "nothing is minted",
        ),
        (
            lane(json!({ "algorithm": "token_bucket", "rate": 1, "queue": 5 })),
            "lanes[0].queue",
            "is no field of it",
        ),
        (lane(json!({ "algorithm": "leaky_bucket", "rate": 1, "queue": 0 })), "lanes[0].queue", "is 0"),
        (lane(json!({ "algorithm": "sliding_log", "quota": 0, "window": "5s" })), "lanes[0].quota", "is 0"),
        (lane(json!({ "algorithm": "sliding_log", "quota": 5, "window": "0s" })), "lanes[0].window", "is 0"),
        (
            lane(json!({ "algorithm": "sliding_counter", "quota": 1e9, "window": "5s" })),
            "lanes[0].quota",
            "a sliding counter counts to",
        ),
        (
            lane(json!({ "algorithm": "fixed_window", "quota": 5, "window": 5 })),
            "lanes[0].window",
            "is 5, no length of time",
        ),
        (
            lane(json!({ "algorithm": "fixed_window", "quota": 5, "window": "0s" })),
            "lanes[0].window",
            "has no length",
        ),
        (
            lane(json!({ "algorithm": "gcra", "rate": 1, "burst": 5 })),
            "lanes[0].algorithm",
            "is 'gcra'; use one of token_bucket",
        ),
        (lane(json!({ "algorithm": "tiers", "tiers": [] })), "lanes[0].tiers", "has 0 entries; use 1 to 4"),
        (
            lane(json!({ "algorithm": "tiers", "tiers": [{ "rate": 1, "burst": 0 }] })),
            "lanes[0].tiers[0].burst",
            "is 0",
        ),
        (
            lane(json!({ "name": "x".repeat(65), "algorithm": "token_bucket", "rate": 1, "burst": 5 })),
            "lanes[0].name",
            "64 characters",
        ),
        (steady(json!({ "per_second": 0 })), "arrivals[0].per_second", "is 0"),
        (steady(json!({ "per_second": -1 })), "arrivals[0].per_second", "is -1"),
        (steady(json!({ "per_second": 501 })), "arrivals[0]", "more than 5000 requests"),
        (steady(json!({ "cost": 0 })), "arrivals[0].cost", "is 0"),
        (steady(json!({ "cost": 1_000_000_001 })), "arrivals[0].cost", "use at most 1000000000"),
        (steady(json!({ "cost": 0.000_000_1 })), "arrivals[0].cost", "finer than one micro-token"),
        (steady(json!({ "from_ms": 5, "to_ms": 4 })), "arrivals[0].to_ms", "is before `from_ms`"),
        (steady(json!({ "to_ms": 10_001 })), "arrivals[0].to_ms", "is 10001"),
        (steady(json!({ "count": 1 })), "arrivals[0].count", "is no field of it"),
        (steady(json!({ "pattern": "chaos" })), "arrivals[0].pattern", "is 'chaos'"),
        (steady(json!({ "pattern": "waves", "on_ms": 0, "off_ms": 1 })), "arrivals[0].on_ms", "is 0"),
        (steady(json!({ "pattern": "poisson", "seed": -1 })), "arrivals[0].seed", "is -1"),
        (
            simulation(&token_bucket(), &json!([{ "pattern": "burst", "at_ms": 0, "count": 5_001 }])),
            "arrivals[0].count",
            "is 5001",
        ),
        (
            simulation(&token_bucket(), &json!([{ "pattern": "list", "at_ms": [0, -1] }])),
            "arrivals[0].at_ms[1]",
            "is -1",
        ),
        (
            with("arrivals", json!(vec![json!({ "pattern": "list", "at_ms": [] }); 33])),
            "arrivals",
            "has 33 entries",
        ),
    ];
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
    let door = TestDoor::open().await;
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
            let answer = door.post(PATH, &body).answer().await;
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
            fields.iter().for_each(|(name, value)| places_of(value, format!("{place}/{name}"), places))
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

#[tokio::test]
async fn an_open_playground_is_still_guarded() {
    let door = TestDoor::open_with(Playground::Open).await;
    door.token(Role::Viewer).await;
    let request = simulation(&token_bucket(), &json!([]));
    let ask = || door.post(PATH, &request).from(Some(other_peer()));
    assert_eq!(
        door.get("/admin/v1/playground").from(Some(other_peer())).expect(200).await.json(),
        json!({ "open": true })
    );
    ask().expect(200).await;
    assert_eq!(ask().field("host", "evil.example").expect(403).await.reason(), "host_not_allowed");
    assert_eq!(ask().field("origin", "http://evil.example").expect(403).await.reason(), "foreign_origin");
    assert_eq!(ask().field("sec-fetch-site", "cross-site").expect(403).await.reason(), "foreign_origin");
    let asking = door.ask("POST", PATH).from(Some(other_peer())).field("content-type", "text/plain");
    assert_eq!(asking.body(&request.to_string()).expect(415).await.reason(), "json_only");
    // And paths that there are not are nobody's to know.
    door.get("/admin/v1/nothing").expect(401).await;
    let (peer, mut is_denied) = (Some(other_peer()), false);
    let allowance = &door.gatehouse.operations.allowance;
    for _ in 0..20 {
        while allowance.ask(peer).is_none() {}
        is_denied |= door.post(PATH, &request).from(peer).answer().await.status == 429;
    }
    assert!(is_denied, "within the allowance of strangers");
    let closed = TestDoor::open().await;
    assert_eq!(
        closed.get("/admin/v1/playground").from(Some(other_peer())).expect(200).await.json(),
        json!({ "open": false })
    );
}

#[tokio::test]
async fn strangers_who_play_keep_nobody_else_from_it() {
    let door = TestDoor::open_with(Playground::Open).await;
    let token = door.token(Role::Viewer).await;
    let request = simulation(&token_bucket(), &json!([]));
    let room = &door.gatehouse.operations.strangers_playroom;
    let mut unread = Vec::new();
    while let Ok(reply) = room.answer(|| Ok("{}".to_owned())).await {
        unread.push(reply);
        assert!(unread.len() < 100, "there is no end to it");
    }
    let refused = door.post(PATH, &request).from(Some(local_peer())).expect(503).await;
    assert_eq!((refused.reason().as_str(), &refused.headers["retry-after"]), ("busy", &"1".parse().unwrap()));
    door.post(PATH, &request).token(&token).expect(200).await;
    drop(unread);
    door.post(PATH, &request).expect(200).await;
}
