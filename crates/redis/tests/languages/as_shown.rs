//! The examples as their READMEs show them.

use crate::fleet::RedisServer;
use crate::language::{Copied, Language};
use crate::languages;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demonstrations_run() {
    needs_redis!();
    let server = RedisServer::start("").await;
    for language in languages() {
        server.tell("FLUSHALL").await;
        let copied = Copied::new(language, str::to_owned);
        let output = copied.command("demo", &[("REDIS_URL", &server.url())]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{language:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!((lines.len(), lines[0]), (12, "1: admitted; left: 9 and 999"), "{language:?}: {said}");
        assert!(lines[..10].iter().all(|line| line.contains(": admitted; left: ")), "{language:?}: {said}");
    }
}

#[test]
fn the_examples_pin_the_libraries_that_are_tested() {
    let clients = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/redis_clients/");
    let tested = |name: &str| std::fs::read_to_string(format!("{clients}{name}")).unwrap();
    let lock = tested("package-lock.json").replace("tollgate-redis-client-tests", "tollgate-redis-example");
    assert_eq!(Language::Node.file("package-lock.json"), lock);
    assert!(Language::Node.file("package.json").contains(r#""dependencies": { "ioredis": "6.0.0" }"#));
    assert!(tested("package.json").contains(r#""dependencies": { "ioredis": "6.0.0" }"#));
    assert_eq!(Language::Python.file("requirements.txt"), tested("requirements.txt"));
}

#[test]
fn every_command_of_a_readme_is_typed_once_and_every_file_is_there() {
    for language in Language::ALL {
        let readme = language.file("README.md");
        for script in ["decide", "declare"] {
            assert!(readme.contains(&format!("tollgate script {script} > {script}.lua")), "{language:?}");
        }
        for file in ["tollgate", "rule", "demo"] {
            let file = format!("{file}.{}", language.ending());
            assert!(!language.file(&file).is_empty() && readme.contains(&file), "{file}");
        }
    }
}
