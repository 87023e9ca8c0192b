//! Rules on record, at every instance.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::databases::{Place, until};
use crate::instance::{Instance, POLICY};
use crate::server::tollgate;

on_both!(
    rules_changed_at_one_instance_are_in_force_at_all,
    rules_broken_by_hand_are_told_once_and_what_was_good_stays_while_orders_go_on,
    of_two_changes_at_once_one_wins_and_the_other_is_told_who_and_when,
);

fn api(burst: u32) -> Value {
    json!({ "name": "api", "scope": "user", "rate": "1/h", "burst": burst })
}

/// Waits until the tightest limit of a user who has asked nothing yet is so, everywhere.
async fn limit_is(instances: &[Instance; 2], limit: u32) {
    let is_so = |instance: &Instance| instance.peek("nobody").json()["limit"] == limit;
    until(&format!("the limit is {limit}"), || async { instances.iter().all(is_so) }).await;
}

async fn rules_changed_at_one_instance_are_in_force_at_all(place: Place) {
    let instances = Instance::two(&place, POLICY).await;
    let [one, other] = &instances;
    limit_is(&instances, 2).await;
    assert_eq!(one.put_rule(&api(1)), 1);
    limit_is(&instances, 1).await;
    assert_eq!(other.admits_of(5, "42"), 1);

    other.done("POST", "rules/api/deactivate", &json!({ "base_version": 1, "comment": "off" }));
    limit_is(&instances, 1_000_000).await;
    assert!(one.admits("42") && other.admits("42"), "nothing stands in the way");

    let admin = format!("http://{}", one.server.address("admin"));
    let mut command = tollgate(&["rules", "rollback", "1", "--yes", "--comment", "back"]);
    command.env("TOLLGATE_ADMIN_URL", admin).env("TOLLGATE_ADMIN_TOKEN", &one.token);
    let rolled_back = command.stdin(Stdio::null()).output().unwrap();
    assert!(rolled_back.status.success(), "{rolled_back:?}");
    limit_is(&instances, 1).await;

    one.done("DELETE", "rules/api", &json!({ "base_version": 3 }));
    limit_is(&instances, 2).await;
    assert_eq!((one.rules_version(), other.rules_version()), (4, 4));
}

async fn rules_broken_by_hand_are_told_once_and_what_was_good_stays_while_orders_go_on(place: Place) {
    let mut instances = Instance::two(&place, POLICY).await;
    instances[0].put_rule(&api(5));
    limit_is(&instances, 5).await;
    let set = |text: &str| format!("UPDATE tollgate_entries SET text = '{text}' WHERE name = 'api'");
    place.sql(&set("{name: api, scope: user, rate: fast, burst: 6}")).await.unwrap();
    let is_outdated = |instance: &Instance| instance.readyz()["policy"]["outdated"] == true;
    until("it is told", || async { instances.iter().all(is_outdated) }).await;
    for instance in &instances {
        let status = instance.told("status");
        let refused = status["policy"]["refused"].as_str().unwrap();
        assert!(refused.contains("api") && refused.contains("rate"), "{refused}");
        assert_eq!(instance.readyz()["ready"], true);
        assert_eq!(instance.peek("nobody").json()["limit"], 5);
    }

    instances[1].order(&json!({ "kind": "block", "who": "user:eve", "reason": "scraper" }));
    until("eve is blocked", || async { instances.iter().all(|instance| !instance.would_admit("eve")) }).await;
    for instance in &mut instances {
        assert!(instance.would_admit("nobody") && is_outdated(instance));
        instance.server.wait_for("refused");
        instance.server.wait_for_silence(Duration::from_millis(700));
        assert_eq!(instance.server.times_said("refused"), 1, "{:#?}", instance.server.said);
    }

    place.sql(&set("{name: api, scope: user, rate: 1/h, burst: 6}")).await.unwrap();
    limit_is(&instances, 6).await;
    until("it is told", || async { !instances.iter().any(is_outdated) }).await;
    assert!(!instances[0].would_admit("eve"));
}

async fn of_two_changes_at_once_one_wins_and_the_other_is_told_who_and_when(place: Place) {
    let [one, other] = Instance::two(&place, POLICY).await;
    let callers = [(one.signed_in_as("ann"), "ann"), (other.signed_in_as("bob"), "bob")];
    for round in 0..5 {
        let base = callers[0].0.rules_version();
        let change = |name: &str, base: i64| {
            let rule = json!({ "name": format!("{name}-{round}"), "scope": "ip", "rate": "1/s", "burst": 9 });
            json!({ "rules": [{ "rule": rule }], "base_version": base })
        };
        let asking =
            |(instance, name): &(Instance, &str)| instance.asking("POST", "rules/apply", &change(name, base));
        let answers = callers.each_ref().map(asking).map(|mut asked| asked.answer());
        let winner = answers.iter().position(|answer| answer.status == 200).unwrap();
        let (lost, loser) = (&answers[1 - winner], &callers[1 - winner]);
        assert_eq!(lost.status, 409, "{lost:?}");
        let told = lost.json();
        assert_eq!(told["reason"], "version_conflict", "{told}");
        assert_eq!(told["current_version"], json!(base + 1));
        let (by, name) = (told["by"].as_str().unwrap(), callers[winner].1);
        assert!(by.starts_with(&format!("{name} (")) && by.ends_with(')'), "{told}");
        assert!(told["at"].as_str().unwrap().starts_with("20"), "{told}");
        loser.0.done("POST", "rules/apply", &change(loser.1, base + 1));
    }
    let exported = callers[0].0.ask("GET", "rules/export?format=json", &json!({})).body;
    for round in 0..5 {
        for (_, name) in &callers {
            assert!(exported.contains(&format!("{name}-{round}")), "{exported}");
        }
    }
    assert_eq!(callers[0].0.rules_version(), 10);
}
