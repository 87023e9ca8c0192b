//! The log: a line for each change, never one for a check. The only test of its program, since it listens to all of it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;
#[path = "local_mode/instance.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod instance;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fleet::{RedisServer, until};
use instance::{Instance, SOON};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }

    fn with(&self, words: &str) -> usize {
        self.text().lines().filter(|line| line.contains(words)).count()
    }
}

const OPEN: &str = "{store: {deadline: 50ms, instances_max: 1}, rules: [\
                    {name: client, scope: ip, path: /client, rate: 1/d, burst: 10, on_store_failure: open}]}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_a_thousand_checks_is_one_warning_and_its_end_one_line() {
    needs_redis!();
    let lines = Lines::default();
    let writer = lines.clone();
    let _ = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .try_init();
    let mut server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), OPEN, &["/client"]).await;
    assert_eq!(instance.admitted("/client", 3).await, 3);
    let is_told = || async { lines.with("was looked at") == 1 };
    until("the start is told of", SOON, is_told).await;
    let (warned, informed) = (lines.with(" WARN "), lines.with(" INFO "));
    assert_eq!((warned, lines.with("the shared store is connected")), (0, 1));
    server.kill();
    assert_eq!(instance.admitted("/client", 1_000).await, 1_000);
    until("the outage is told of", SOON, || async { lines.with(" WARN ") == 1 }).await;
    assert_eq!(lines.with("is no Redis server"), 0, "{}", lines.text());
    server.restart().await;
    instance.is_exact("/client").await;
    assert_eq!(instance.admitted("/client", 1).await, 1);
    until("its end is told of", SOON, || async { lines.with(" INFO ") == informed + 1 }).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!((lines.with(" WARN "), lines.with(" INFO ")), (1, informed + 1), "{}", lines.text());

    // Instances that cannot be counted are one line, too, whatever the server's reason is.
    server.tell("ACL SETUSER default -zadd").await;
    let is_told = || async { lines.with("the instances that share the store cannot be counted") == 1 };
    until("the failed count is told of", SOON, is_told).await;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(lines.with(" WARN "), 2, "{}", lines.text());
}
