//! The commands of operators against a running server with records in SQLite: what is on stdout, what on stderr, and the exit code.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "operations/audit.rs"]
mod audit;
#[path = "operations/compiling.rs"]
mod compiling;
#[path = "operations/desk.rs"]
mod desk;
#[path = "operations/door.rs"]
mod door;
#[path = "operations/hostile.rs"]
mod hostile;
#[expect(dead_code, reason = "the tests of `serve` ask more of it")]
#[path = "serve/http_client.rs"]
mod http_client;
#[path = "operations/keys.rs"]
mod keys;
#[path = "beside/mortal.rs"]
mod mortal;
#[path = "operations/rules.rs"]
mod rules;
#[path = "serve/scratch.rs"]
mod scratch;
#[expect(dead_code, reason = "the tests of `serve` ask more of it")]
#[path = "serve/server.rs"]
mod server;
#[path = "operations/start_token.rs"]
mod start_token;
#[path = "operations/tokens.rs"]
mod tokens;
#[path = "operations/top.rs"]
mod top;
#[path = "operations/violations.rs"]
mod violations;
