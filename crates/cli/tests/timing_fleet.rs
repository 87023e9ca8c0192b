//! The promised times of instances that share a database: what is changed is in force everywhere within a second, and no check waits for
//! a database that is killed. Run alone and optimised, by the gate's step `proofs`.
#![expect(clippy::disallowed_methods, reason = "these tests are about the wall clock")]
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[macro_use]
#[expect(dead_code, unused_imports, reason = "the tests of the records use the rest")]
#[path = "../../records/tests/databases/mod.rs"]
mod databases;
#[expect(dead_code, reason = "the tests of `serve` ask more of it")]
#[path = "serve/http_client.rs"]
mod http_client;
#[path = "timing_fleet/in_force.rs"]
mod in_force;
#[expect(dead_code, reason = "the other tests of a fleet use the rest")]
#[path = "fleet/instance.rs"]
mod instance;
#[path = "timing_fleet/killed.rs"]
mod killed;
#[path = "timing_fleet/load.rs"]
mod load;
#[path = "beside/mortal.rs"]
mod mortal;
#[path = "serve/scratch.rs"]
mod scratch;
#[expect(dead_code, reason = "the tests of `serve` ask more of it")]
#[path = "serve/server.rs"]
mod server;
#[path = "timing_fleet/stopwatch.rs"]
mod stopwatch;
