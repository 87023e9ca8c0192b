//! How much room a bucket takes on the server, all told: key, value, time to live and their places in the tables.

use tollgate_core::{Burst, Cost, Limit, Rate};
use tollgate_redis::{Batch, Charge, Declared, KeySpace, LimitHistory, Reply, RuleIdentity};

use crate::support::{Connection, Engine};
use crate::timeline::ready;

const KEYS: u64 = 1_000_000;
/// Checks of one call.
const CALL: u64 = 500;
const BYTES_PER_KEY_MAX: u64 = 150;

/// Of a million keys like `user:123456` under a rule.
#[test]
fn a_bucket_takes_at_most_150_bytes() {
    // The others were built with another allocator.
    if !Engine::all().contains(&Engine::Redis) {
        return;
    }
    let (_server, mut connection) = ready(Engine::Redis);
    let (keys, rule) = (KeySpace::default(), RuleIdentity::new("default", "user"));
    let limit = Limit::new(Rate::per_day(10), Burst::tokens(50)).unwrap();
    let declared = Declared { algorithm: limit.into(), slowest: None };
    let limit = LimitHistory::new(&declared, 1_790_000_000_000_000).unwrap().limit().unwrap();
    let before = used_bytes(&mut connection);
    for begin in (100_000..100_000 + KEYS).step_by(usize::try_from(CALL).unwrap()) {
        let mut batch = Batch::new();
        for number in begin..begin + CALL {
            let key = keys.bucket(&rule, format!("user:{number}").as_str()).unwrap();
            batch.check(&[Charge::new(key, &limit, Cost::ONE)]).unwrap();
        }
        let reply = connection.ask(&batch.call().evalsha());
        assert_eq!(batch.read(&reply).unwrap().len() as u64, CALL);
    }
    let bytes = (used_bytes(&mut connection) - before) / KEYS;
    println!("{bytes} bytes for each of {KEYS} keys");
    assert!(bytes <= BYTES_PER_KEY_MAX, "{bytes}");
}

fn used_bytes(connection: &mut Connection) -> u64 {
    let Reply::Bytes(info) = connection.typed("INFO memory") else { panic!("no text") };
    let info = String::from_utf8(info).unwrap();
    info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap().trim().parse().unwrap()
}
