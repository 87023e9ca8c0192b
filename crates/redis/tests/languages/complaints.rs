//! What other languages say when something is in the way: field, value and cure.

use serde_json::json;
use tollgate_redis::{KeySpace, RuleIdentity};

use crate::fleet::RedisServer;
use crate::languages;
use crate::program::Program;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_the_way_is_named_with_the_cure() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let charge = |key: &str| json!({"key": key, "tokens": 1, "seconds": 1, "burst": 5, "cost": 1});
    server.tell("LPUSH tg:*:list stranger").await;
    server.tell("SET tg:*:text stranger").await;
    // Limits that a version after this one has declared.
    let rule = KeySpace::default().history(&RuleIdentity::new("shop", "newer"));
    server.tell(&format!("SET {} 2\nof-another-shape", String::from_utf8_lossy(rule.as_bytes()))).await;
    for language in languages() {
        let mut program = Program::start(language, &server.url());
        for (charges, words) in [
            (vec![charge("list")], "another type of value; use another `prefix`, or delete that key"),
            (vec![charge("text")], "a state that this version did not write; use another `prefix`"),
            (vec![charge("a"), charge("a")], "a bucket stands twice in one check; add up the costs"),
            (vec![charge("")], "a key has 0 bytes; use 1 to 512"),
            (vec![charge(&"x".repeat(513))], "a key has 513 bytes; use 1 to 512"),
            (
                vec![json!({"rule": ["shop", "nobody"], "cost": 1})],
                "is not declared; start a node that has it",
            ),
            (vec![json!({"rule": ["shop", "newer"], "cost": 1})], "use one release everywhere"),
            (
                vec![json!({"key": "a", "tokens": 0.5, "seconds": 1, "burst": 5, "cost": 1})],
                "`tokens` is 0.5; use a whole number from 1",
            ),
        ] {
            let said = program.complaint(&charges);
            assert!(said.contains(words), "{language:?}: {said}");
        }
        assert_eq!(program.check(&[charge("b")]).admitted, 1, "and it goes on");
        server.tell("DEL tg:*:b").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_of_another_version_is_named_with_the_cure() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let charge = json!({"key": "a", "tokens": 1, "seconds": 1, "burst": 5, "cost": 1});
    for language in languages() {
        let url = server.url();
        let of_another = |text: &str| text.replace("argv[1] ~= '1'", "argv[1] ~= '2'");
        let mut program = Program::start_with(language, &[("REDIS_URL", url.as_str())], of_another);
        for (charge, script) in
            [(charge.clone(), "decide"), (json!({"rule": ["shop", "user"], "cost": 1}), "declare")]
        {
            let said = program.complaint(&[charge]);
            let cure = format!(
                "{script}.lua is of another version than this program, which speaks 1; take both from one release"
            );
            assert!(said.contains(&cure), "{language:?}: {said}");
        }
        let keys: i64 = server.ask("DBSIZE").await.unwrap();
        assert_eq!(keys, 0, "nothing was done");
    }
}
