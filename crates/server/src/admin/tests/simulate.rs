//! The playground: known figures over a real connection, and who may play.

use serde_json::{Value, json};
use tollgate_records::Role;

use super::door::{TestDoor, local_peer, other_peer};
use crate::settings::Playground;

pub(super) const PATH: &str = "/admin/v1/simulate";

async fn played(door: &TestDoor, request: &Value) -> Value {
    door.post(PATH, request).expect(200).await.json()
}

/// One lane of what is played, with these arrivals, and what would have to be changed of it.
pub(super) fn simulation(lane: &Value, arrivals: &Value) -> Value {
    json!({
        "length_ms": 10_000, "arrivals": arrivals, "lanes": [lane],
        "promise": { "rate": "10/s", "burst": 50 },
    })
}

pub(super) fn token_bucket() -> Value {
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
