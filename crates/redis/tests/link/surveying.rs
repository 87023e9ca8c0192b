//! What is found out about a store when the link has connected.

use tollgate_redis::{Finding, Role, ServerKind, Severity, Survey};

use crate::asking::{PATIENCE, open};
use crate::fleet::{ClusterFleet, RedisServer};

async fn survey(url: &str) -> Survey {
    open(url).survey(PATIENCE).await.unwrap_or_else(|error| panic!("{error}"))
}

fn text(survey: &Survey) -> String {
    survey.findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_sound_server_is_known_and_has_no_findings() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let survey = survey(&server.url()).await;
    assert_eq!(survey.findings, []);
    let [seen] = &survey.servers[..] else { panic!("{survey:?}") };
    assert_eq!((seen.kind, seen.role, seen.is_cluster), (ServerKind::Redis, Role::Master, false));
    assert!(seen.compatible_with >= (6, 2), "{}", seen.version);
}

#[tokio::test]
async fn settings_that_forget_and_servers_that_take_no_writes_are_warned_of() {
    needs_redis!();
    let master = RedisServer::start("--maxmemory 100mb --maxmemory-policy allkeys-lru").await;
    let found = survey(&master.url()).await;
    assert!(
        matches!(&found.findings[..], [Finding::Evicts { policy, .. }] if policy == "allkeys-lru"),
        "{found:?}"
    );
    assert_eq!(found.refusal(), None);
    let replica = RedisServer::start(&format!("--replicaof 127.0.0.1 {}", master.port)).await;
    let found = survey(&replica.url()).await;
    assert!(text(&found).contains("is a replica, which takes no writes"), "{}", text(&found));
}

#[tokio::test]
async fn a_user_that_may_not_run_the_script_is_told_of_before_the_first_check() {
    needs_redis!();
    let server = RedisServer::start("").await;
    server.tell("ACL SETUSER weak on >sesame ~tg:* +get").await;
    let found = survey(&format!("redis://weak:sesame@127.0.0.1:{}", server.port)).await;
    assert!(text(&found).contains("give a user that may run EVALSHA"), "{}", text(&found));
    assert!(text(&found).contains("let the user run INFO"), "{}", text(&found));
    assert_eq!(found.findings[0].severity(), Severity::Warning);
}

#[tokio::test]
async fn every_master_of_a_cluster_is_looked_at_and_one_of_them_is_no_store_by_itself() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let found = survey(&fleet.url()).await;
    assert_eq!((found.servers.len(), found.findings.len()), (3, 0), "{found:?}");
    let alone = survey(&fleet.nodes[0].url()).await;
    let refusal = alone.refusal().unwrap().to_string();
    assert!(refusal.contains("write redis+cluster://127.0.0.1:"), "{refusal}");
}

#[tokio::test]
async fn a_release_before_the_oldest_that_is_supported_is_unfit() {
    needs_redis!("redis-5");
    let server = RedisServer::start_component("redis-5").await;
    let found = survey(&server.url()).await;
    let refusal = found.refusal().unwrap().to_string();
    assert!(refusal.ends_with("is Redis 5.0.6; use Redis 6.2 or later, or Valkey"), "{refusal}");
}
