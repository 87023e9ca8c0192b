//! Where a store is: a link that leads to it, and a way to look after its keys.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use redis::FromRedisValue;
use redis::aio::MultiplexedConnection;
use tokio::runtime::Runtime;
use tollgate_redis::{Call, KeySpace, Link, LinkOptions, Reply, StoreUrl, slot_of};

use crate::fleet::ClusterFleet;

/// Longest that a call may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A store, as the subjects of one run of the suite share it.
pub(crate) struct Place<'r> {
    runtime: &'r Runtime,
    link: Link,
    /// To each master.
    masters: RefCell<Vec<MultiplexedConnection>>,
    subjects: Cell<u32>,
}

impl<'r> Place<'r> {
    pub(crate) fn open(runtime: &'r Runtime, url: &str, ports: &[u16]) -> Place<'r> {
        let _entered = runtime.enter();
        let url: StoreUrl = url.parse().unwrap();
        let link = Link::open(&url, &LinkOptions::default()).unwrap();
        let masters = ports.iter().map(|port| {
            let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
            runtime.block_on(client.get_multiplexed_async_connection()).unwrap()
        });
        Place { runtime, link, masters: RefCell::new(masters.collect()), subjects: Cell::new(0) }
    }

    /// Names that nobody has used before; in Cluster all in one slot, another for each subject.
    pub(crate) fn new_keys(&self) -> KeySpace {
        let number = self.subjects.get();
        self.subjects.set(number + 1);
        let prefix = format!("c{number}");
        let keys = KeySpace::new(&prefix).unwrap();
        if self.link.is_cluster() { keys.tagged(&prefix).unwrap() } else { keys }
    }

    /// Calls a script at a moment of the suite's choosing.
    pub(crate) fn call(&self, call: Call, now_micros: u64) -> Reply {
        self.runtime.block_on(self.link.call(call.at_micros(now_micros), PATIENCE)).unwrap()
    }

    /// Asks the server that has this key.
    pub(crate) fn ask<T: FromRedisValue>(&self, key: &[u8], words: &[&[u8]]) -> T {
        let mut masters = self.masters.borrow_mut();
        let owner = if masters.len() > 1 { ClusterFleet::owner(slot_of(key)) } else { 0 };
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        self.runtime.block_on(command.query_async(&mut masters[owner])).unwrap()
    }
}
