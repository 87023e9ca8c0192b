//! Who talks most, at all instances together.

use std::time::Duration;

use serde_json::{Value, json};

use crate::databases::{Place, until};
use crate::instance::{Instance, POLICY};
use crate::mortal::mortal;

on_both!(who_talks_most_is_told_of_all_instances_by_each);

async fn who_talks_most_is_told_of_all_instances_by_each(place: Place) {
    let instances = Instance::two(&place, POLICY).await;
    let [one, other] = &instances;
    assert_eq!((one.admits_of(5, "42"), other.admits_of(6, "42"), other.admits_of(3, "7")), (2, 2, 2));
    let figures = |told: &Value, at: usize| {
        let client = &told["rules"][0]["clients"][at];
        let [admitted, denied] = ["admitted", "denied"].map(|by| client[by]["at_least"].clone());
        (client["key"].clone(), admitted, denied)
    };
    let is_whole = |instance: &Instance| {
        let told = instance.told("top?rule=api");
        figures(&told, 0) == (json!("user:42"), json!(4), json!(7))
            && figures(&told, 1) == (json!("user:7"), json!(2), json!(1))
            && told["instances"] == 2
    };
    until("each tells of both", || async {
        // The holder of a token may ask 50 times a second.
        tokio::time::sleep(Duration::from_millis(100)).await;
        instances.iter().all(is_whole)
    })
    .await;
    for (verb, said) in
        [(&["keys", "top"][..], "\nover 2 instances\n"), (&["top", "--once"], "\nclients over 2 instances\n")]
    {
        let mut command = mortal(env!("CARGO_BIN_EXE_tollgate"));
        command.args(verb).env("TOLLGATE_ADMIN_TOKEN", &one.token);
        command.env("TOLLGATE_ADMIN_URL", format!("http://{}", one.server.address("admin")));
        let printed = command.output().unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        assert!(printed.contains("user:42") && printed.ends_with(said), "{printed}");
    }
}
