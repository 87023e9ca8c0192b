//! Instances of the real program that share a database: what is changed at one is in force at all, and no database that fails harms a
//! check. On files of SQLite and on a real PostgreSQL; over a real Redis where buckets are shared.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "deployment/component.rs"]
mod component;
#[macro_use]
#[expect(dead_code, unused_imports, reason = "the tests of the records use the rest")]
#[path = "../../records/tests/databases/mod.rs"]
mod databases;
#[path = "fleet/ending.rs"]
mod ending;
#[expect(dead_code, reason = "the tests of `serve` ask more of it")]
#[path = "serve/http_client.rs"]
mod http_client;
#[path = "fleet/instance.rs"]
mod instance;
#[path = "beside/mortal.rs"]
mod mortal;
#[path = "fleet/operations.rs"]
mod operations;
#[path = "fleet/orders.rs"]
mod orders;
#[path = "fleet/outages.rs"]
mod outages;
#[expect(dead_code, reason = "the tests of the store use the rest")]
#[path = "beside/redis_server.rs"]
mod redis_server;
#[path = "fleet/rules.rs"]
mod rules;
#[path = "serve/scratch.rs"]
mod scratch;
#[expect(dead_code, reason = "the tests of `serve` ask more of it")]
#[path = "serve/server.rs"]
mod server;
#[path = "fleet/talkers.rs"]
mod talkers;
