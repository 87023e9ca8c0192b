//! Stores that are not as they should be: the log says what, and the cure, at the start; limits hold all the same (F1), and nothing panics.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fleet::{ClusterFleet, RedisServer, free_port, until};
use tollgate::policy::{Facts, Policy};
use tollgate::{Asking, Decision, Limiter, PolicyLimiter, StoreMode};
use tollgate_redis::{KeySpace, LedgerOptions, RedisLedger, RuleIdentity, StoreUrl};
use tracing_subscriber::fmt::MakeWriter;

const POLICY: &str =
    "{store: {deadline: 1s, instances_max: 1}, rules: [{name: client, scope: ip, rate: 1/h, burst: 5}]}";
const PATIENCE: Duration = Duration::from_secs(10);

/// A node, and what it says.
struct Node {
    limiter: PolicyLimiter,
    ledger: RedisLedger,
    said: Said,
    _listening: tracing::subscriber::DefaultGuard,
}

/// The lines of a log. It hears this thread alone, so tests run on one.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Node {
    fn start(url: &str) -> Node {
        let said = Said::default();
        let log = tracing_subscriber::fmt().with_writer(said.clone()).with_ansi(false).finish();
        let listening = tracing::subscriber::set_default(log);
        let url: StoreUrl = url.parse().unwrap();
        let ledger = RedisLedger::open(&url, &LedgerOptions::default()).unwrap();
        let policy = Policy::parse("p.yaml", POLICY).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let limiter = Limiter::builder().build_with_ledger(policy, Arc::new(ledger.clone())).unwrap();
        Node { limiter, ledger, said, _listening: listening }
    }

    async fn ask(&self, client: u8, asking: Asking<'_>) -> Decision {
        let facts = Facts { address: Some([192, 0, 2, client].into()), ..Facts::new("GET", "/") };
        self.limiter.policy().decide(&facts, asking).await
    }

    /// Waits until a line of the log has all these words.
    async fn says(&self, level: &str, words: &[&str]) {
        let is_said = || async {
            let said = self.said.text();
            said.lines().any(|line| line.contains(level) && words.iter().all(|word| line.contains(word)))
        };
        let looking = async {
            while !is_said().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, looking).await;
        assert!(in_time.is_ok(), "{level} {words:?} was never said, but\n{}", self.said.text());
    }

    async fn decides(&self, mode: StoreMode) {
        let decides = || async { self.ask(200, Asking::Peek).await.mode() == mode };
        until("it decides by the mode", PATIENCE, decides).await;
    }

    /// The limit holds, and the verdicts rest upon this.
    async fn keeps_the_limit(&self, client: u8, mode: StoreMode) {
        let mut admitted = 0;
        for _ in 0..12 {
            let decision = self.ask(client, Asking::Check).await;
            assert_eq!(decision.mode(), mode, "{}", self.said.text());
            admitted += u32::from(decision.is_admitted());
        }
        assert_eq!(admitted, 5, "{}", self.said.text());
    }
}

impl Said {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Said {
    type Writer = Said;

    fn make_writer(&self) -> Said {
        self.clone()
    }
}

#[tokio::test]
async fn a_sound_store_is_named_and_nothing_is_said_against_it() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let node = Node::start(&server.url());
    node.says(" INFO", &["the shared store was looked at", &format!("at 127.0.0.1:{}", server.port)]).await;
    node.decides(StoreMode::Exact).await;
    node.keeps_the_limit(1, StoreMode::Exact).await;
    let said = node.said.text();
    assert!(!said.contains("WARN") && !said.contains("ERROR"), "{said}");
}

#[tokio::test]
async fn a_wrong_url_is_told_with_the_cure() {
    let node = Node::start(&format!("redis://127.0.0.1:{}", free_port()));
    node.says(" WARN", &["is not reached", "see whether the server runs there, and the name"]).await;
    node.keeps_the_limit(1, StoreMode::Fallback).await;
}

#[tokio::test]
async fn a_wrong_password_is_told_with_the_cure_and_not_shown() {
    needs_redis!();
    let server = RedisServer::start_locked("--requirepass sesame", ":sesame@").await;
    let node = Node::start(&format!("redis://:mellon@127.0.0.1:{}", server.port));
    node.says(" WARN", &["the server does not let us in", "check user and password"]).await;
    node.keeps_the_limit(1, StoreMode::Fallback).await;
    assert!(!node.said.text().contains("mellon"));
}

#[tokio::test]
async fn a_store_that_evicts_is_warned_of_and_used() {
    needs_redis!();
    let server = RedisServer::start("--maxmemory 100mb --maxmemory-policy allkeys-lru").await;
    let node = Node::start(&server.url());
    node.says(" WARN", &["has `maxmemory-policy allkeys-lru`", "set it to noeviction"]).await;
    node.decides(StoreMode::Exact).await;
    node.keeps_the_limit(1, StoreMode::Exact).await;
    assert_eq!(node.said.text().matches("allkeys-lru").count(), 1, "it is said once");
}

#[tokio::test]
async fn a_release_that_is_too_old_is_refused_and_limits_hold_without_it() {
    needs_redis!("redis-5");
    let server = RedisServer::start_component("redis-5").await;
    let node = Node::start(&server.url());
    node.says("ERROR", &["is Redis 5.0.6; use Redis 6.2 or later, or Valkey", "`on_store_failure`"]).await;
    assert!(node.ledger.survey().unwrap().refusal().is_some());
    node.keeps_the_limit(1, StoreMode::Fallback).await;
}

#[tokio::test]
async fn a_node_of_a_cluster_is_no_store_by_itself_and_limits_hold_without_it() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let node = Node::start(&fleet.nodes[0].url());
    node.says("ERROR", &["is a node of a cluster; write redis+cluster://127.0.0.1:"]).await;
    node.keeps_the_limit(1, StoreMode::Fallback).await;
}

#[tokio::test]
async fn a_stranger_at_one_key_is_told_of_and_says_nothing_about_the_others() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let node = Node::start(&server.url());
    node.decides(StoreMode::Exact).await;
    // Part by part: an IPv4 address of a policy's rule, as docs/redis-script.md says.
    let rule = RuleIdentity::new("default", "client");
    let name = |client: u8| KeySpace::default().bucket(&rule, [1, 2, 0, 5, 192, 0, 2, client, 32]).unwrap();
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    for (client, (word, value)) in [(1, ("LPUSH", "stranger")), (2, ("SET", "stranger"))] {
        let told =
            redis::cmd(word).arg(name(client).as_bytes()).arg(value).query_async(&mut connection).await;
        let _: redis::Value = told.unwrap();
    }
    for client in [1, 2] {
        node.keeps_the_limit(client, StoreMode::Fallback).await;
    }
    node.says(
        " WARN",
        &[
            "holds another type of value",
            "delete that key, or give Tollgate a database of its own",
            "key=tg:",
        ],
    )
    .await;
    for client in [3, 4] {
        node.keeps_the_limit(client, StoreMode::Exact).await;
    }
    assert_eq!(node.said.text().matches("WARN").count(), 1, "it is said once: {}", node.said.text());
    let kept: String = redis::cmd("GET").arg(name(2).as_bytes()).query_async(&mut connection).await.unwrap();
    assert_eq!(kept, "stranger", "it is left alone");
}

#[tokio::test]
async fn limits_that_another_version_declared_are_told_of_with_the_cure() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let record = KeySpace::default().history(&RuleIdentity::new("default", "client"));
    server.tell(&format!("SET {} 2\nof-another-shape", String::from_utf8_lossy(record.as_bytes()))).await;
    let node = Node::start(&server.url());
    let words = [
        "holds the rule's limits in version 2 of the contract, and this release speaks 1",
        "give this one a database of its own",
    ];
    node.says(" WARN", &words).await;
    node.keeps_the_limit(1, StoreMode::Fallback).await;
    let kept: String =
        server.ask(&format!("GET {}", String::from_utf8_lossy(record.as_bytes()))).await.unwrap();
    assert_eq!(kept, "2\nof-another-shape", "it is left alone");
}

#[tokio::test]
async fn a_record_that_somebody_puts_under_a_running_node_is_told_of_once_with_its_key() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let node = Node::start(&server.url());
    node.decides(StoreMode::Exact).await;
    let record = KeySpace::default().history(&RuleIdentity::new("default", "client"));
    let record = String::from_utf8_lossy(record.as_bytes()).into_owned();
    for key in [record.as_str(), "tg:&"] {
        server.tell(&format!("DEL {key}")).await;
        server.tell(&format!("HSET {key} stranger 1")).await;
    }
    for key in [record.as_str(), "tg:&"] {
        let words =
            [&format!("key={key}") as &str, "delete that key, or give Tollgate a database of its own"];
        node.says(" WARN", &words).await;
    }
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    for key in [record.as_str(), "tg:&"] {
        let said = node.said.text().matches(&format!("key={key}")).count();
        assert_eq!(said, 1, "{}", node.said.text());
    }
}

#[tokio::test]
async fn every_wrong_url_is_told_with_what_to_write() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let at = format!("127.0.0.1:{}", server.port);
    for (url, cure) in [
        (format!("redis://{at}/99"), "use 0 to 15 in the URL"),
        (format!("redis+sentinel://{at}/main"), "use redis:// for a server itself"),
        (format!("rediss://{at}"), "write redis in place of rediss"),
    ] {
        let node = Node::start(&url);
        node.says(" WARN", &[cure]).await;
        let said = node.said.text();
        assert_eq!(said.matches(" WARN ").count(), 1, "one cause is one line: {said}");
    }
}

#[tokio::test]
async fn a_limit_that_another_node_has_declared_is_told_of_beside_the_own_one_and_counted() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let node = Node::start(&server.url());
    node.decides(StoreMode::Exact).await;
    assert_eq!(node.ledger.counts().limits_overruled, 0);
    let ledger = RedisLedger::open(&server.url().parse().unwrap(), &LedgerOptions::default()).unwrap();
    let policy = Policy::parse("p.yaml", &POLICY.replace("burst: 5", "burst: 7")).unwrap();
    let limiter = Limiter::builder().build_with_ledger(policy, Arc::new(ledger.clone())).unwrap();
    let words = ["rule=\"client\"", "own=\"1/h, burst 5\"", "in_force=\"1/h, burst 7\"", "one policy"];
    node.says(" WARN", &words).await;
    assert_eq!((node.ledger.counts().limits_overruled, ledger.counts().limits_overruled), (1, 0));
    limiter.swap(Policy::parse("p.yaml", POLICY).unwrap()).unwrap();
    node.says(" INFO", &["rule=\"client\"", "in_force=\"1/h, burst 5\"", "in force again"]).await;
    assert_eq!(node.ledger.counts().limits_overruled, 0);
}
